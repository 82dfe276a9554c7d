"""Exact nearest-neighbour search with NumPy: one matrix product per batch of questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.config import Component

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.retrieve.base import Vectors

    Scores = NDArray[np.float32]
    Rows = NDArray[np.int64]

_QUERIES = 1024
_ROWS = 16_384
"""Queries and rows that are compared at once. Their scores take 64 MiB at most, however many rows there are,
and the matrix product of such blocks is as fast as that of larger ones."""


class NumpyStore(Component):
    """`store: {kind: numpy}`: exact search that compares every chunk with every question."""

    kind: Literal["numpy"] = "numpy"

    def check(self) -> None:
        """Do nothing: this store has no requirements."""

    def search(
        self, folder: Path, vectors: Vectors, queries: Vectors, k: int
    ) -> list[list[tuple[int, float]]]:
        """Return the `k` rows of `vectors` (n, d) with the highest inner product for each row of `queries`
        (q, d).

        The result is a list of (row, score) per query, best first; rows with equal scores keep their order.
        Rows and queries are compared in blocks, so that the vectors can stay on the disk (memory-mapped), and
        only the best `k` rows of each query are kept from block to block. `folder` is not used.
        """
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(queries), _QUERIES):
            best = _Best(len(queries[start : start + _QUERIES]), k)
            for first in range(0, len(vectors), _ROWS):
                best.add(first, queries[start : start + _QUERIES] @ vectors[first : first + _ROWS].T)
            found += best.rows()
        return found


class _Best:
    """The `k` best rows of each of `count` queries among the blocks of rows that were added, in order."""

    def __init__(self, count: int, k: int) -> None:
        import numpy as np

        self._k = k
        self._lowest = np.full(count, -np.inf, dtype=np.float32)  # the k-th best score of each query so far
        self._scores: list[Scores] = [np.empty(0, dtype=np.float32)] * count
        self._rows: list[Rows] = [np.empty(0, dtype=np.int64)] * count

    def add(self, first: int, scores: Scores) -> None:
        """Add the scores (count, rows) of the rows that begin with the row `first`."""
        import numpy as np

        # a row that only equals the k-th best comes after it, so it is never needed
        queries = np.flatnonzero(scores.max(axis=1) > self._lowest)
        for query in queries:
            row = scores[query]
            better = np.flatnonzero(row > self._lowest[query])
            if len(better) > 4 * self._k:  # as in the first block: sorting all of them would take longer
                kth = np.partition(row[better], len(better) - self._k)[len(better) - self._k]
                better = better[row[better] >= kth]
            known = np.concatenate([self._scores[query], row[better]])
            rows = np.concatenate([self._rows[query], better + first])
            order = np.argsort(-known, kind="stable")[
                : self._k
            ]  # stable: equal scores keep the order of rows
            self._scores[query], self._rows[query] = known[order], rows[order]
            if len(order) == self._k:
                self._lowest[query] = known[order[-1]]

    def rows(self) -> list[list[tuple[int, float]]]:
        """Return the best rows with their scores by query."""
        return [
            list(zip(rows.tolist(), scores.tolist(), strict=True))
            for rows, scores in zip(self._rows, self._scores, strict=True)
        ]
