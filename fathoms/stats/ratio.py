"""Differences of ratios of sums, such as F1 or a rate over answers that are added up over questions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def ratio_of(counts: ArrayLike) -> float | None:
    """Return the sum of numerators over the sum of denominators; `counts` has a row of both per question.
    `None` if the denominators add up to 0."""
    top, bottom = np.asarray(counts, dtype=float).reshape(-1, 2).sum(axis=0)
    return float(top / bottom) if bottom else None


def linearised(first: ArrayLike, second: ArrayLike) -> Array:
    """Return one value per question, whose mean is the difference of two ratios (second minus first).

    `first` and `second` have a row of numerator and denominator per question. With R the ratio of both
    together, a question with numerator t and denominator b adds (t - R b) / h to its side, where h is the
    harmonic mean of the mean denominators of the two sides. This is the linearisation of a ratio by Taylor's
    series (Woodruff 1971), so the values vary as the difference does, and the tests and intervals for means
    of paired differences apply to them. Woodruff divides each side by its own mean denominator. Then every
    question differs a little as soon as these means do, always in the same direction, which a test takes for
    evidence; with h a question that both sides answered alike has the value 0. Raises ZeroDivisionError if
    the denominators of a side add up to 0.
    """
    one, two = (np.asarray(side, dtype=float).reshape(-1, 2) for side in (first, second))
    top, bottom = (one + two).sum(axis=0)
    if not (one[:, 1].any() and two[:, 1].any()):
        raise ZeroDivisionError("a ratio has no denominator")
    moved = (two - one) @ np.array([1.0, -top / bottom])
    return np.asarray(moved * (1 / one[:, 1].mean() + 1 / two[:, 1].mean()) / 2)
