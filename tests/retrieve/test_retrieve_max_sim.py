"""MaxSim equals the hand-worked case, whatever the blocks, in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import ModelError
from fathoms.retrieve import max_sim as module
from fathoms.retrieve.max_sim import best_pages, max_sim, max_sim_of_candidates
from fathoms.retrieve.multi_vectors import MultiVectors

Arrays = list[np.ndarray]


def rows(*lengths: int, width: int = 16, seed: int = 0) -> Arrays:
    generator = np.random.default_rng(seed)
    result = [generator.standard_normal((length, width), dtype=np.float32) for length in lengths]
    return [page / np.linalg.norm(page, axis=1, keepdims=True) for page in result]


def test_a_case_worked_by_hand(tmp_path: Path) -> None:
    pages = [np.array([[1, 0], [0, 1]], dtype=np.float32), np.array([[-1, 2]], dtype=np.float32)]
    query = np.array([[3, 4], [-1, 1]], dtype=np.float32)
    store = MultiVectors.write(tmp_path / "store", pages)
    # page 0: max(3, 4) + max(-1, 1) = 5; page 1: (-3 + 8) + (1 + 2) = 8
    assert max_sim([query, query[1:]], store).tolist() == [[5, 8], [1, 3]]
    assert max_sim_of_candidates(query, store, [1, 0, 1]).tolist() == [8, 5, 8]
    assert max_sim_of_candidates(query, store, []).shape == (0,)
    assert max_sim([], store).shape == (0, 2)


@pytest.mark.parametrize("lengths", [(1,), (5, 5), (1, 1, 1, 1), (9, 1, 2), (2, 30, 1, 3), (8, 8, 8)])
@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 5, 8, 100])
def test_blocks_may_cut_pages_anywhere(tmp_path: Path, lengths: tuple[int, ...], at_once: int) -> None:
    """Blocks of `at_once` vectors, so that pages begin, end and are cut at every place of a block."""
    pages, queries = rows(*lengths, width=4), rows(2, 3, width=4, seed=1)
    store = MultiVectors.write(tmp_path / "store", pages)
    scores = np.empty((2, len(pages)), dtype=np.float32)
    module.compare(queries, store, scores, products=5 * at_once)
    expected = [[(query @ page.T).max(axis=1).sum() for page in pages] for query in queries]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_many_queries_are_searched_in_groups(tmp_path: Path) -> None:
    queries, pages = rows(*[30] * 150, width=4), rows(5, 6, width=4, seed=1)  # 4,500 vectors of queries
    store = MultiVectors.write(tmp_path / "store", pages)
    one_by_one = np.concatenate([max_sim([query], store) for query in queries])
    np.testing.assert_allclose(max_sim(queries, store), one_by_one, rtol=1e-5)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (np.ones((2, 15), dtype=np.float32), "questions have vectors of 15 numbers, the stored pages of 16"),
        (np.ones((0, 16), dtype=np.float32), r"array of shape \(0, 16\)"),
        (np.ones(16, dtype=np.float32), r"array of shape \(16,\)"),
        (np.full((2, 16), np.nan, dtype=np.float32), "not finite"),
    ],
)
def test_a_query_that_cannot_be_compared_is_refused(tmp_path: Path, query: np.ndarray, says: str) -> None:
    store = MultiVectors.write(tmp_path / "store", rows(3))
    with pytest.raises(ModelError, match=says):
        max_sim([query], store)
    with pytest.raises(ModelError, match=says):
        max_sim_of_candidates(query, store, [0])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    page = rows(700, width=128)[0]
    queries = rows(*[20] * 5, width=128)
    peaks = []
    for count in (30, 200):
        store = MultiVectors.write(tmp_path / str(count), (page for _ in range(count)), "int8")
        tracemalloc.start()
        try:
            max_sim(queries, store)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 32 * 2**20  # the pages are 72 MB as float32


def test_the_best_pages_come_first_and_equal_ones_in_order() -> None:
    scores = np.array([[1, 3, 2, 3], [0, 0, 0, 0]], dtype=np.float32)
    assert best_pages(scores, 3) == [[(1, 3), (3, 3), (2, 2)], [(0, 0), (1, 0), (2, 0)]]
    assert [len(row) for row in best_pages(scores, 9)] == [4, 4]
