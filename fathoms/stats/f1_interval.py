"""The interval of an F1 whose precision and recall are pooled over questions, and of a mean of two ratios."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fathoms.stats.intervals import CONFIDENCE, PSEUDO, Array, Interval, blaker

Mean = Literal["harmonic", "arithmetic"]
"""How two ratios become one value: F1 is the harmonic mean of precision and recall."""


def f1_of_counts(counts: Array, how: Mean = "harmonic") -> float | None:
    """Return the mean of two pooled ratios, precision and recall; the harmonic mean is 0 if both are 0.

    The columns of `counts` are, by question, the hits and the items of the precision, and the hits and the
    items of the recall. `None` if precision or recall has no items.
    """
    hits, items, found, wanted = counts.sum(axis=0)
    if not items or not wanted:
        return None
    precision, recall = hits / items, found / wanted
    if how == "arithmetic":
        return float(precision + recall) / 2
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def f1_interval(counts: Array, how: Mean = "harmonic", *, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of `f1_of_counts`, which must have a value.

    The variance is that of a smooth function of four sums over questions (the delta method), with `PSEUDO`
    questions of mean size that have no hits and as many that have nothing but hits, because few questions do
    not show how rare others are. The bounds are Blaker's for the number of right-or-wrong questions whose
    rate would vary as much, as in `intervals.stratified_interval`.
    """
    counts = counts[counts[:, [1, 3]].any(axis=1)]
    value = f1_of_counts(counts, how)
    assert value is not None
    n, sizes = len(counts), counts[:, [1, 3]].mean(axis=0)
    none, all_hit = [0, sizes[0], 0, sizes[1]], [sizes[0], sizes[0], sizes[1], sizes[1]]
    smoothed = np.vstack([counts, np.repeat([none, all_hit], int(PSEUDO), axis=0)])
    hits, items, found, wanted = smoothed.T
    precision, recall = hits.sum() / items.sum(), found.sum() / wanted.sum()
    smooth = f1_of_counts(smoothed, how)
    assert smooth is not None
    # the derivative of F1 by precision is F1**2 / (2 * precision**2), that of the arithmetic mean is 1 / 2
    by_precision, by_recall = (
        smooth**2 / ratio**2 if how == "harmonic" else 1 for ratio in (precision, recall)
    )
    residuals = (
        by_precision * (hits - precision * items) / items.sum() / 2
        + by_recall * (found - recall * wanted) / wanted.sum() / 2
    )
    variance = float(residuals @ residuals) * len(smoothed) / n
    low, high = blaker(value, smooth * (1 - smooth) / variance, confidence)
    return Interval(low, high, "score")
