"""The interval of the mean of a finite set of which some are known, which holds whenever one stops.

Hedged capital without replacement: Waudby-Smith & Ramdas 2020 ("Confidence sequences for sampling without
replacement") and 2024 ("Estimating means of bounded random variables by betting").
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_STEPS = 1000
_PRIOR_VARIANCE = 0.25
"""The variance that is assumed before any score is known; scores in [0, 1] have no greater one."""


def mean_of_these(scores: Array, weights: Array, alpha: float = 0.05) -> tuple[float, float]:
    """Return the interval of the weighted mean of scores in [0, 1], of which the first `len(scores)` are
    known; after the last one its width is 0.

    `weights` sum to 1, and are those of all scores in an order in which the next one was always drawn with a
    probability in proportion to its weight among those left. It holds at all times together with probability
    1 - alpha: a mean is excluded once the average of the wealth of a bet that it is too low and of a bet that
    it is too high has grown to 1 / alpha. A NaN has no score: the mean is that of the others, and whether a
    later one has a score need not be known, as one without adds nothing to the deviations from the true mean,
    which sum to 0.
    """
    known = ~np.isnan(scores)
    seen, every = len(scores), bool(known.all())
    if seen == 0:
        return 0.0, 1.0
    if seen == len(weights):
        total = float(weights[known].sum())
        value = float(weights[known] @ scores[known]) / total if total else 0.0
        return (value, value) if total else (0.0, 1.0)
    low = float(weights[:seen] @ scores) if every else 0.0
    high = low + float(weights[seen:].sum()) if every else 1.0
    figures = np.linspace(0, 1, _STEPS + 1)
    up, down, deviation = (np.zeros_like(figures) for _ in range(3))
    possible = np.ones(figures.shape, dtype=bool)
    left, mean, variance, count = 1.0, 0.5, _PRIOR_VARIANCE, 0
    total = squares = 0.0
    for score, weight, has_score in zip(scores, weights, known, strict=False):
        expected = figures - deviation / left
        possible &= (expected >= -1e-9) & (expected <= 1 + 1e-9)
        expected = np.clip(expected, 0.0, 1.0)
        gain = (score if has_score else figures) - expected
        spread = variance * (count + 1) * math.log(2 + count)
        stake = math.sqrt(2 * math.log(2 / alpha) / spread)
        up += np.log1p(np.minimum(stake, 0.75 / np.maximum(expected, 1e-9)) * gain)
        down += np.log1p(-np.minimum(stake, 0.75 / np.maximum(1 - expected, 1e-9)) * gain)
        possible &= np.logaddexp(up, down) - math.log(2) < -math.log(alpha)
        left = max(left - float(weight), 1e-12)
        if not has_score:
            continue
        deviation += weight * (score - figures)
        count, total, squares = count + 1, total + float(score), squares + float(score) ** 2
        mean = (0.5 + total) / (count + 1)
        variance = (_PRIOR_VARIANCE + squares - 2 * mean * total + count * mean**2) / (count + 1)
    remaining = figures[possible]
    if not len(remaining):  # excluded by a step of the grid at most
        return low, high
    step = 1 / _STEPS
    return max(low, float(remaining[0]) - step), min(high, float(remaining[-1]) + step)
