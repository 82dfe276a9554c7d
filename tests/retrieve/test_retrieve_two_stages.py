"""Two stages: a hand-worked case that the first gets wrong, and exactness with all pages as candidates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import ModelError
from fathoms.retrieve.approximation import recall
from fathoms.retrieve.max_sim import best_pages, max_sim
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.two_stages import mean_vectors, search_in_two_stages


def store(tmp_path: Path, pages: list[list[list[float]]]) -> MultiVectors:
    return MultiVectors.write(tmp_path / "store", [np.array(page, dtype=np.float32) for page in pages])


def test_a_page_of_which_little_answers_is_missed_by_the_first_stage(tmp_path: Path) -> None:
    # page 0 has the answer among other things, page 1 is all about something like it
    pages = store(tmp_path, [[[1, 0], [0, 1], [0, 1], [0, 1]], [[0.8, 0.6]], [[0, 1]]])
    means = mean_vectors(pages)
    np.testing.assert_allclose(means, [[10**-0.5, 3 * 10**-0.5], [0.8, 0.6], [0, 1]], rtol=1e-6)
    query = np.array([[1, 0]], dtype=np.float32)
    exact = best_pages(max_sim([query], pages), 2)
    assert exact == [[(0, 1), (1, pytest.approx(0.8))]]
    (one,) = search_in_two_stages([query], pages, means, candidates=1, k=2)
    assert one == [(1, pytest.approx(0.8))]
    assert recall([[page for page, _ in one]], [[page for page, _ in exact[0]]], 2) == 0.5
    assert search_in_two_stages([query], pages, means, candidates=2, k=2) == exact
    assert search_in_two_stages([], pages, means, candidates=2, k=2) == []


def test_two_stages_with_all_pages_are_exact(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    result = [generator.standard_normal((length, 16), dtype=np.float32) for length in range(1, 40)]
    pages = MultiVectors.write(tmp_path / "store", result, "float16")
    queries = [generator.standard_normal((5, 16), dtype=np.float32) for _ in range(3)]
    exact = best_pages(max_sim(queries, pages), 10)
    found = search_in_two_stages(queries, pages, mean_vectors(pages), candidates=1000, k=10)
    assert [[page for page, _ in row] for row in found] == [[page for page, _ in row] for row in exact]
    np.testing.assert_allclose(
        [[s for _, s in row] for row in found], [[s for _, s in row] for row in exact], rtol=1e-5
    )


def test_equal_pages_keep_their_order_and_bad_queries_are_refused(tmp_path: Path) -> None:
    pages = store(tmp_path, [[[1, 0]], [[0, 1]], [[1, 0]]])
    means = mean_vectors(pages)
    (found,) = search_in_two_stages([np.array([[2, 0]], dtype=np.float32)], pages, means, candidates=3, k=2)
    assert found == [(0, 2), (2, 2)]
    with pytest.raises(ModelError, match="vectors of 3 numbers"):
        search_in_two_stages([np.ones((1, 3), dtype=np.float32)], pages, means, candidates=3, k=2)
