"""How precise a mean over n questions can be: the width of its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDEST = 0.5
"""An interval wider than this hardly tells a good pipeline from a bad one."""


def interval_width(n: int) -> float:
    """Return the width of Blaker's 95 % interval over `n` questions half of which are right.

    It is about the largest one: 0.56 for 10 questions, 0.20 for 100.
    """
    from fathoms.stats.intervals import blaker

    low, high = blaker(0.5, n)
    return high - low


def macro_width(sizes: Sequence[int]) -> float:
    """Return the width of the interval of the mean of categories with `sizes` questions, every other of which
    is right."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    scores = np.arange(sum(sizes)) % 2.0
    strata = np.split(scores, np.cumsum(sizes)[:-1])
    found = stratified_interval(strata, np.full(len(sizes), 1 / len(sizes)))
    return found.high - found.low


def needed(width: float) -> int:
    """Return the smallest number of questions whose interval is at most `width` wide: 15 for 0.5."""
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    # Wilson's interval has a closed form and is narrower, so the search can begin there.
    n = max(math.ceil(normal_quantile(CONFIDENCE) ** 2 * (1 / width**2 - 1)), 1)
    while interval_width(n) > width:
        n += 1
    return n
