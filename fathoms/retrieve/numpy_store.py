"""Exact nearest-neighbour search with NumPy: one matrix product per batch of questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.config import Component

if TYPE_CHECKING:
    from fathoms.retrieve.base import Vectors

_BLOCK = 256


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
        The queries are processed in blocks of 256, so the scores take at most 256 x n floats of memory.
        `folder` is not used.
        """
        import numpy as np

        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(queries), _BLOCK):
            scores = queries[start : start + _BLOCK] @ vectors.T
            for row in scores:
                best = np.argpartition(-row, k - 1)[:k] if k < len(row) else np.arange(len(row))
                # argpartition keeps an arbitrary part of the rows that tie at the k-th place: include them
                # all
                best = np.flatnonzero(row >= row[best].min())
                order = best[np.lexsort((best, -row[best]))][:k]
                found.append([(int(index), float(row[index])) for index in order])
        return found
