"""How precise a mean over so many questions can be: the width of its interval before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDEST = 0.5
"""An interval that is wider than this hardly tells a good pipeline from a bad one."""


def interval_width(n: int) -> float:
    """The width of Wilson's 95 % interval of a rate of 0.5 over `n` questions, the widest it can be.

    In closed form it is z / sqrt(n + z²): 0.53 of 10 questions, 0.19 of 100.
    """
    from fathoms.stats.intervals import wilson

    low, high = wilson(0.5, n)
    return float(high - low)


def macro_width(sizes: Sequence[int]) -> float:
    """The same for the unweighted mean of categories with so many questions each (MOVER)."""
    import numpy as np

    from fathoms.stats.intervals import mover, wilson

    means, weights = np.full(len(sizes), 0.5), np.full(len(sizes), 1 / len(sizes))
    low, high = mover(means, *wilson(means, sizes), weights)
    return float(high - low)


def needed(width: float) -> int:
    """The fewest questions whose interval is never wider: 12 for 0.5."""
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    return math.ceil(normal_quantile(CONFIDENCE) ** 2 * (1 / width**2 - 1))
