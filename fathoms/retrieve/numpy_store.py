"""Exact search: one matrix product for a batch of questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.config import Component

if TYPE_CHECKING:
    from fathoms.retrieve.base import Vectors

_BLOCK = 256


class NumpyStore(Component):
    """Every chunk is compared with every question: recall 1 by construction."""

    kind: Literal["numpy"] = "numpy"

    def check(self) -> None:
        """Nothing can be missing."""

    def search(
        self, folder: Path, vectors: Vectors, queries: Vectors, k: int
    ) -> list[list[tuple[int, float]]]:
        """The `k` rows of `vectors` (n, d) with the highest inner product for each of `queries` (q, d).

        Equal scores keep the order of the rows. One BLAS call for each block of 256 questions, so the
        memory for the scores is at most 256 x n floats.
        """
        import numpy as np

        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(queries), _BLOCK):
            scores = queries[start : start + _BLOCK] @ vectors.T
            for row in scores:
                best = np.argpartition(-row, k - 1)[:k] if k < len(row) else np.arange(len(row))
                # the partition cuts ties at the edge arbitrarily: take in all that tie with the worst
                best = np.flatnonzero(row >= row[best].min())
                order = best[np.lexsort((best, -row[best]))][:k]
                found.append([(int(index), float(row[index])) for index in order])
        return found
