"""How far two raters agree beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def kappa(table: ArrayLike, *, quadratic: bool = False) -> float | None:
    """Cohen's kappa in [-1, 1] of counts (k, k): rows are the first rater's labels, columns the second's.

    One minus the disagreement that is seen over that of the same ratings paired by chance (Cohen 1960);
    `quadratic` weighs a disagreement by its squared distance (Cohen 1968). `None` where chance has none.
    """
    counts = np.asarray(table, dtype=float)
    rows, columns = np.indices(counts.shape)
    weights = (rows - columns) ** 2 if quadratic else rows != columns
    expected = float(np.sum(weights * np.outer(counts.sum(axis=1), counts.sum(axis=0))))
    return None if expected == 0 else 1 - float(np.sum(weights * counts)) * float(counts.sum()) / expected
