"""Intervals of the ranks of several runs, because the order of their figures may be due to chance."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fathoms.stats.paired import difference_p, holm

Array = NDArray[np.float64]
LEVEL = 0.05
"""The accepted chance that any of the intervals leaves out the true rank."""


def rank_intervals(scores: Array, weights: Array, *, seed: int = 0) -> list[tuple[int, int]]:
    """Return the lowest and the highest rank of each run that the scores allow, 1 being the best.

    `scores` has a row per run and a column per question, higher is better; `weights` has one entry per
    question. Every pair of runs is compared by `difference_p` of the weighted means, and the p values are
    corrected for the number of pairs (Holm 1979). A run can be no better than next to the runs that are shown
    to be better, and no worse than next to those that are shown to be worse. With a probability of 95 %, the
    true ranks of all runs lie in their intervals (Mogstad, Romano, Shaikh & Wilhelm 2024, Inference for
    ranks). A run whose interval is 1 to 1 is shown to be the best.
    """
    pairs = list(combinations(range(len(scores)), 2))
    # so many draws that the smallest p value can pass the strictest of Holm's levels
    draws = max(9_999, math.ceil(4 * len(pairs) / LEVEL))
    differences = [scores[b] - scores[a] for a, b in pairs]
    found = holm([difference_p(each, weights, resamples=draws, seed=seed) for each in differences])
    better, worse = [0] * len(scores), [0] * len(scores)
    for (a, b), difference, p in zip(pairs, differences, found, strict=True):
        if p < LEVEL:
            first, second = (b, a) if difference @ weights > 0 else (a, b)
            worse[first] += 1
            better[second] += 1
    return [(1 + above, len(scores) - below) for above, below in zip(better, worse, strict=True)]
