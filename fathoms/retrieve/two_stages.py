"""Search in two stages: candidates by one vector per page, and exact MaxSim of these alone.

The first stage compares the mean of a question's vectors with the mean of each page's vectors. That costs one
inner product per page instead of one for each pair of their vectors, and misses pages where only a small
part answers the question; `approximation.recall` says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.retrieve.max_sim import best_pages, check_query, max_sim_of_candidates
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.numpy_store import NumpyStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def mean_vectors(pages: MultiVectors) -> Floats:
    """Return one vector per page (pages, width): the mean of its vectors, with length one."""
    import numpy as np

    means = np.empty((len(pages), pages.width), dtype=np.float32)
    for number in range(len(pages)):
        pages.page(number).mean(axis=0, out=means[number])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    return means


def search_in_two_stages(
    queries: Sequence[Floats], pages: MultiVectors, means: Floats, candidates: int, k: int
) -> list[list[tuple[int, float]]]:
    """Return the `k` pages with the highest MaxSim of each query (vectors, width), best first, with it.

    Only the `candidates` whose `mean_vectors` are the most like the query are compared, and exactly. Pages
    with equal scores keep their order. With as many candidates as pages, the result is that of exact search.
    Raises ModelError for a query that cannot be compared.
    """
    import numpy as np

    if not queries:
        return []
    checked = [check_query(query, pages.width) for query in queries]
    questions = np.stack([query.mean(axis=0) for query in checked])
    first = NumpyStore().search(Path(), means, questions, min(candidates, len(pages)))
    found = []
    for query, row in zip(checked, first, strict=True):
        numbers = sorted(page for page, _ in row)
        scores = max_sim_of_candidates(query, pages, numbers)
        found.append([(numbers[at], score) for at, score in best_pages(scores[None], k)[0]])
    return found
