"""A table of LanceDB without an index finds what exact MaxSim finds; with one, its recall is what it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import DataError, ModelError, StoreError
from fathoms.retrieve.approximation import recall
from fathoms.retrieve.lance_multi_vectors import LanceMultiVectors
from fathoms.retrieve.max_sim import best_pages, max_sim
from fathoms.retrieve.multi_vectors import MultiVectors

pytestmark = pytest.mark.slow  # importing LanceDB and Arrow


def rows(*lengths: int, width: int = 16, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    result = [generator.standard_normal((length, width), dtype=np.float32) for length in lengths]
    return [page / np.linalg.norm(page, axis=1, keepdims=True) for page in result]


def numbers(found: list[list[tuple[int, float]]]) -> list[list[int]]:
    return [[page for page, _ in row] for row in found]


def test_a_case_worked_by_hand(tmp_path: Path) -> None:
    pages = [np.array([[1, 0], [0, 1]], dtype=np.float32), np.array([[0.6, 0.8]], dtype=np.float32)]
    query = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    table = LanceMultiVectors.write(tmp_path / "table", iter(pages))
    assert (len(table), table.width) == (2, 2)
    # page 0: 1 + 0.8; page 1: 0.6 + 0.96
    assert table.search([query], 2) == [[(0, pytest.approx(1.8)), (1, pytest.approx(1.56))]]
    assert table.search([query[:1], query], 1) == [[(0, pytest.approx(1))], [(0, pytest.approx(1.8))]]


def test_without_an_index_its_search_is_exact(tmp_path: Path) -> None:
    pages, queries = rows(*range(1, 200)), rows(5, 1, 12, seed=1)
    exact = best_pages(max_sim(queries, MultiVectors.write(tmp_path / "exact", pages)), 10)
    LanceMultiVectors.write(tmp_path / "table", pages)
    found = LanceMultiVectors.open(tmp_path / "table").search(queries, 10)
    assert numbers(found) == numbers(exact)
    for ours, theirs in zip(found, exact, strict=True):
        np.testing.assert_allclose([s for _, s in ours], [s for _, s in theirs], atol=2e-6)


def test_with_an_index_scores_are_exact_and_recall_is_measured(tmp_path: Path) -> None:
    pages, queries = rows(*[20] * 300), rows(5, 5, 5, seed=1)
    exact = best_pages(max_sim(queries, MultiVectors.write(tmp_path / "exact", pages)), 300)
    table = LanceMultiVectors.write(tmp_path / "table", pages, index="ivf-flat")
    shares = []
    for refine in (1, 10):
        found = table.search(queries, 10, groups=1, refine=refine)
        shares.append(recall(numbers(found), numbers(exact), 10))
        for ours, theirs in zip(found, exact, strict=True):
            scores = dict(theirs)
            np.testing.assert_allclose([s for _, s in ours], [scores[page] for page, _ in ours], atol=2e-6)
    assert 0 < shares[0] < shares[1] <= 1


def test_what_cannot_be_stored_or_compared_is_refused(tmp_path: Path) -> None:
    pages = rows(3, 4)
    with pytest.raises(DataError, match="page 2 has vectors that do not have length one"):
        LanceMultiVectors.write(tmp_path / "table", [*pages, 2 * pages[0]])
    with pytest.raises(DataError, match="page 2 has vectors of 8 numbers"):
        LanceMultiVectors.write(tmp_path / "table", [*pages, *rows(3, width=8)])
    with pytest.raises(DataError, match="there are no vectors of pages to store"):
        LanceMultiVectors.write(tmp_path / "table", [])

    def breaking() -> Iterator[np.ndarray]:
        yield pages[0]
        raise ModelError("the server is gone")

    with pytest.raises(ModelError, match="the server is gone"):
        LanceMultiVectors.write(tmp_path / "table", breaking())
    assert not list(tmp_path.iterdir())
    with pytest.raises(StoreError, match="holds no table of page vectors"):
        LanceMultiVectors.open(tmp_path / "table")
    table = LanceMultiVectors.write(tmp_path / "table", pages)
    with pytest.raises(ModelError, match="vectors of 8 numbers"):
        table.search(rows(3, width=8), 1)
    with pytest.raises(ModelError, match="do not have length one"):
        table.search([2 * pages[0]], 1)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="LanceDB cannot write"):
        LanceMultiVectors.write(tmp_path / "file" / "table", pages)
