"""Measure how far two raters agree beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def kappa(table: ArrayLike, *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa, in [-1, 1], of a (k, k) table of counts.

    Rows are the labels of the first rater, columns those of the second. Kappa is 1 minus the observed
    disagreement divided by the disagreement expected by chance (Cohen 1960). With `quadratic`, a disagreement
    is weighted by the squared distance of the labels (Cohen 1968). The result is `None` if the expected
    disagreement is 0.
    """
    counts = np.asarray(table, dtype=float)
    rows, columns = np.indices(counts.shape)
    weights = (rows - columns) ** 2 if quadratic else rows != columns
    expected = float(np.sum(weights * np.outer(counts.sum(axis=1), counts.sum(axis=0))))
    return None if expected == 0 else 1 - float(np.sum(weights * counts)) * float(counts.sum()) / expected
