"""How precise a mean over n questions can be: the width of its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDEST = 0.5
"""An interval wider than this hardly tells a good pipeline from a bad one."""


def interval_width(n: int) -> float:
    """Return the largest possible width of Wilson's 95 % interval over `n` questions, which is that of a rate
    of 0.5.

    In closed form it is z / sqrt(n + z²): 0.53 for 10 questions, 0.19 for 100.
    """
    from fathoms.stats.intervals import wilson

    low, high = wilson(0.5, n)
    return float(high - low)


def macro_width(sizes: Sequence[int]) -> float:
    """Return the largest width (by MOVER) for the mean of categories with `sizes` questions."""
    import numpy as np

    from fathoms.stats.intervals import mover, wilson

    means, weights = np.full(len(sizes), 0.5), np.full(len(sizes), 1 / len(sizes))
    low, high = mover(means, *wilson(means, sizes), weights)
    return float(high - low)


def needed(width: float) -> int:
    """Return the smallest number of questions whose interval is at most `width` wide: 12 for 0.5."""
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    return math.ceil(normal_quantile(CONFIDENCE) ** 2 * (1 / width**2 - 1))
