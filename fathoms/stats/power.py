"""How often a gate would pass, by simulation of its own test on question sets like the one at hand.

The simulated pipeline has not changed. Its chance of answering a question correctly follows a beta
distribution, with the mean of each category and with a spread fitted to how much answers to the same question
vary in the baseline (or, with one answer each, to how many questions the candidate gained: losses may be
real). One pseudo-question is added that varies half as much as a coin.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fathoms.stats.difference import Array, bounds, macro_weights, pair
from fathoms.stats.noninferiority import Answers

POWER = 0.8
MOST = 10_000
"""The most questions that are simulated."""
RIGHT, DIFFERENT, RUNS = 0.6, 0.1, 5
"""What is assumed before there is any run: the share of right answers, the share of questions in which two
runs of the same pipeline differ, and the number of baseline runs."""
_MANY = 5_000
"""More questions than this are not simulated for `smallest_margin`."""
_TIMES = 200
_PSEUDO = 0.125


def resolvable(answers: Answers, alpha: float) -> float:
    """Return the smallest margin with which an unchanged pipeline would pass with a probability of 80 %."""
    return float(-np.quantile(_lowest(answers, len(answers.compared()[0]), alpha), 1 - POWER))


@cache
def smallest_margin(sizes: tuple[int, ...], alpha: float) -> float:
    """Return the smallest margin with which an unchanged pipeline would pass with a probability of 80 %, for
    categories of these sizes, before there is any run.

    `RIGHT`, `DIFFERENT` and `RUNS` are assumed. In the beta distribution with mean p whose parameters add up
    to s, two answers to the same question differ with probability 2 p (1 - p) s / (1 + s), which gives s.
    Above `_MANY` questions the margin is taken to fall with the square root of their number. Raises
    ValueError if there is no question.
    """
    found = [size for size in sizes if size > 0]
    if not found:
        raise ValueError("there is no question")
    share = min(1.0, _MANY / sum(found))
    strata = np.repeat(np.arange(len(found)), [max(1, round(size * share)) for size in found])
    varying = DIFFERENT / (2 * RIGHT * (1 - RIGHT))
    means = np.full(strata.size, RIGHT)
    lowest = _simulated(strata, means, varying / (1 - varying), RUNS, 1, alpha)
    return float(-np.quantile(lowest, 1 - POWER) * math.sqrt(share))


def questions_needed(answers: Answers, margin: float, alpha: float) -> int | None:
    """Return how many questions, in the same proportions of categories, an unchanged pipeline needs to pass
    with a probability of 80 %, to within 3 %; `None` if `MOST` are not enough."""
    if margin <= 0:  # the interval of an unchanged pipeline reaches below 0, however many questions there are
        return None
    low = n = len(answers.compared()[0])
    while np.mean(_lowest(answers, n, alpha) > -margin) < POWER:
        if n >= MOST:
            return None
        low, n = n, min(2 * n, MOST)
    while n > low * 1.03 + 1:
        middle = (low + n) // 2
        if np.mean(_lowest(answers, middle, alpha) > -margin) < POWER:
            low = middle
        else:
            n = middle
    return n


def _lowest(answers: Answers, n: int, alpha: float) -> Array:
    """Return the lower bounds of the difference for simulated nights with `n` questions each."""
    ours, theirs, codes = answers.compared()
    sizes = np.bincount(codes)
    strata = np.sort(np.resize(np.repeat(np.arange(sizes.size), sizes), n))
    means = np.array([np.mean(scores) for scores in ours])
    smooth = (np.bincount(codes, means) + 0.5) / (sizes + 1)
    odds = _spread(ours, theirs) / float(np.mean(smooth * (1 - smooth)))
    size = min(odds, 0.99) / (1 - min(odds, 0.99))
    r, k = (round(sum(map(len, side)) / len(side)) for side in (ours, theirs))
    return _simulated(strata, smooth[strata], size, r, k, alpha)


def _simulated(strata: NDArray[np.int64], means: Array, size: float, r: int, k: int, alpha: float) -> Array:
    """Return the lower bounds for simulated nights with `k` runs against a baseline of `r` runs.

    `means` holds the mean chance of each question to be right, and `size` is the sum of the two parameters of
    its beta distribution.
    """
    rng = np.random.default_rng(0)
    chance = rng.beta(means * size, (1 - means) * size, (_TIMES, means.size))
    differences = rng.binomial(k, chance) / k - rng.binomial(r, chance) / r
    return bounds(pair(differences, macro_weights(strata)), float(ndtri(1 - alpha)))[0]


def _spread(ours: list[tuple[float, ...]], theirs: list[tuple[float, ...]]) -> float:
    """Return the mean variance of answers to the same question, with the pseudo-question."""
    if all(len(scores) > 1 for scores in ours):
        variances = [float(np.var(scores, ddof=1)) for scores in ours]
    else:
        pairs = zip(ours, theirs, strict=True)
        variances = [max(0.0, float(np.mean(now)) - before[0]) ** 2 for before, now in pairs]
    return (sum(variances) + _PSEUDO) / (len(variances) + 1)
