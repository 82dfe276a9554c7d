"""Exact nearest-neighbour search with NumPy: one matrix product per block of questions and vectors.

The last digits of a matrix product depend on how it is divided, on the number of threads and on the library.
So the product in float32 only says which rows may be among the best, within a bound of its error. The scores
of these are computed in float64, each by itself, and rounded to float32. Results are therefore the same for
any blocks, any number of threads, any order of the vectors on the disk, and any other questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from fathoms.retrieve.retriever import VectorStore
from fathoms.retrieve.segments import SegmentedVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.retrieve.segments import Floats, Rows, Vectors

    Scores = NDArray[np.float64]

_QUERIES = 1024
_ROWS = 16_384
"""Queries and rows that are compared at once. Their scores take 64 MiB at most, however many rows there are,
and the matrix product of such blocks is as fast as that of larger ones."""
_UNIT = 2.0**-24
"""The largest relative error of one rounding to float32."""


class NumpyStore(VectorStore):
    """`store: {kind: numpy}`: exact search that compares every chunk with every question."""

    inert: ClassVar[bool] = True
    kind: Literal["numpy"] = "numpy"

    def search(
        self, folder: Path, vectors: Vectors, queries: Floats, k: int
    ) -> list[list[tuple[int, float]]]:
        """Return the `k` rows of `vectors` (n, d) with the highest inner product for each row of `queries`
        (q, d), see `exact_search`. `folder` is not used."""
        return exact_search(vectors, queries, k)


def exact_search(
    vectors: Vectors, queries: Floats, k: int, *, block: int = _ROWS
) -> list[list[tuple[int, float]]]:
    """Return the `k` rows of `vectors` (n, d) with the highest inner product for each row of `queries` (q,
    d).

    The result is a list of (row, score) per query, best first; rows with equal scores come in their order.
    Rows and queries are compared in blocks of at most `block` rows, so that the vectors can stay on the disk,
    and only the best `k` rows of each query are kept from block to block.
    """
    found: list[list[tuple[int, float]]] = []
    for start in range(0, len(queries), _QUERIES):
        best = Best(queries[start : start + _QUERIES], k)
        for rows, several in _blocks(vectors, block):
            best.compare(rows, several)
        found += best.rows()
    return found


def _blocks(vectors: Vectors, most: int) -> Iterator[tuple[Rows, Floats]]:
    """Yield at most so many vectors at a time, with their rows."""
    import numpy as np

    if isinstance(vectors, SegmentedVectors):
        yield from vectors.blocks(most)
        return
    for start in range(0, len(vectors), most):
        several = vectors[start : start + most]
        yield np.arange(start, start + len(several)), several


class Best:
    """The `k` best rows of each query (q, d) among those that were added so far, with their scores."""

    def __init__(self, queries: Floats, k: int) -> None:
        import numpy as np

        self._k = k
        self._queries = queries
        self._exact = queries.astype(np.float64)
        # |x.y computed - x.y| is at most d u / (1 - d u) |x| |y| (Higham 2002, section 3.1); the two more are
        # for the rounding of the score itself, and for that of the lengths
        self._errors = (queries.shape[1] + 2) * _UNIT * 1.01 * np.linalg.norm(self._exact, axis=1)
        self._lowest = np.full(len(queries), -np.inf)  # the k-th best score of each query so far
        self._scores: list[Scores] = [np.empty(0)] * len(queries)
        self._rows: list[Rows] = [np.empty(0, dtype=np.int64)] * len(queries)

    def compare(self, rows: Rows, vectors: Floats) -> None:
        """Compare all queries with vectors (n, d), which have these rows."""
        import numpy as np

        scores = self._queries @ vectors.T
        errors = self._errors * float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max()))
        floors = self._lowest - errors
        for query in np.flatnonzero(scores.max(axis=1) >= floors).tolist():
            row, error = scores[query], errors[query]
            may_be = np.flatnonzero(row >= floors[query])
            if len(may_be) > 4 * self._k:  # as in the first block: computing all of them would take longer
                kth = np.partition(row[may_be], len(may_be) - self._k)[len(may_be) - self._k]
                may_be = may_be[row[may_be] >= kth - 2 * error]
            self.add(query, rows[may_be], vectors[may_be])

    def add(self, query: int, rows: Rows, vectors: Floats) -> None:
        """Compute the scores of vectors (n, d) for one query, and keep those that are among the best."""
        import numpy as np

        exact = (vectors.astype(np.float64) * self._exact[query]).sum(axis=1)
        scores = np.concatenate([self._scores[query], exact.astype(np.float32).astype(np.float64)])
        known = np.concatenate([self._rows[query], rows])
        order = np.lexsort((known, -scores))[: self._k]  # equal scores come in the order of the rows
        self._scores[query], self._rows[query] = scores[order], known[order]
        if len(order) == self._k:
            self._lowest[query] = scores[order[-1]]

    def rows(self) -> list[list[tuple[int, float]]]:
        """Return the best rows with their scores by query."""
        return [
            list(zip(rows.tolist(), scores.tolist(), strict=True))
            for rows, scores in zip(self._rows, self._scores, strict=True)
        ]
