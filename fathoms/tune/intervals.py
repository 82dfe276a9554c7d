"""Intervals that hold whenever a race ends: for these questions, and for new ones like them."""

from __future__ import annotations

import math

import numpy as np

from fathoms.stats.difference import bounds, macro_weights, pair
from fathoms.stats.intervals import special, stratified_interval
from fathoms.tune.order import Array, Codes, Order

_STEPS = 1000
_HORIZON = 10.0
"""The parameter rho of the normal mixture: an interval for new questions is narrowest, beside one for a fixed
number of questions, after about nine times as many."""
_PRIOR_VARIANCE = 0.25
"""The variance that is assumed before any score is known; scores in [0, 1] have no greater one."""


def on_these(scores: Array, order: Order, alpha: float = 0.05) -> tuple[float, float]:
    """The interval of the overall figure of a candidate on the questions of a race, of which it was asked the
    first `len(scores)`; after the last one its width is 0.

    It holds at all times together with probability 1 - alpha: a figure is excluded once the mean of a bet
    that it is too low and of a bet that it is too high has grown to 1 / alpha (hedged capital without
    replacement, Waudby-Smith and Ramdas 2020 and 2024).
    """
    asked = len(scores)
    weights = order.weights[:asked]
    low, high = float(weights @ scores), float(weights @ scores + order.weights[asked:].sum())
    if asked in (0, len(order)):
        return (0.0, 1.0) if asked == 0 else (low, low)
    figures = np.linspace(0, 1, _STEPS + 1)
    up, down = np.zeros_like(figures), np.zeros_like(figures)
    possible = np.ones(figures.shape, dtype=bool)
    known, left, mean, variance = 0.0, 1.0, 0.5, _PRIOR_VARIANCE
    for count, (score, weight) in enumerate(zip(scores, weights, strict=True), 1):
        expected = (figures - known) / left
        possible &= (expected >= -1e-9) & (expected <= 1 + 1e-9)
        expected = np.clip(expected, 0.0, 1.0)
        stake = math.sqrt(2 * math.log(2 / alpha) / (variance * count * math.log(1 + count)))
        stake_up = np.minimum(stake, 0.75 / np.maximum(expected, 1e-9))
        stake_down = np.minimum(stake, 0.75 / np.maximum(1 - expected, 1e-9))
        up += np.log1p(stake_up * (score - expected))
        down += np.log1p(-stake_down * (score - expected))
        possible &= np.logaddexp(up, down) - math.log(2) < -math.log(alpha)
        mean = (0.5 + float(scores[:count].sum())) / (count + 1)
        variance = (_PRIOR_VARIANCE + float(((scores[:count] - mean) ** 2).sum())) / (count + 1)
        known, left = known + float(weight * score), max(left - float(weight), 1e-12)
    kept = figures[possible]
    if not len(kept):  # excluded by a step of the grid at most
        return low, high
    step = 1 / _STEPS
    return max(low, float(kept[0]) - step), min(high, float(kept[-1]) + step)


def on_new(scores: Array, strata: Codes, categories: int, alpha: float = 0.05) -> tuple[float, float]:
    """The interval of the overall figure for new questions of the same categories, whenever one stops asking,
    from the scores of the questions asked. A category without any may have any mean."""
    present = [scores[strata == code] for code in np.unique(strata)]
    if not present:
        return 0.0, 1.0
    confidence = 1 - 2 * float(special().ndtr(-_quantile(len(scores), alpha)))
    found = stratified_interval(present, np.full(len(present), 1 / len(present)), confidence=confidence)
    seen = len(present) / categories
    return seen * found.low, seen * found.high + (1 - seen)


def difference_on_new(
    differences: Array, strata: Codes, categories: int, alpha: float = 0.05
) -> tuple[float, float]:
    """The interval of the difference between the overall figures of two candidates for new questions,
    whenever one stops asking, from the differences on the questions that both were asked."""
    if not len(differences):
        return -1.0, 1.0
    low, high = bounds(pair(differences, macro_weights(strata)), _quantile(len(differences), alpha))
    seen = len(np.unique(strata)) / categories
    return seen * float(low) - (1 - seen), seen * float(high) + (1 - seen)


def questions_to_settle(
    differences: Array, strata: Codes, alpha: float = 0.05, most: int = 100_000
) -> int | None:
    """About how many questions would tell the mean difference that was found from 0; `None` for more than
    `most`, or where there is no difference."""
    if not len(differences):
        return None
    found = pair(differences, macro_weights(strata))
    lead, spread = abs(float(found.mean)), float(found.error) * math.sqrt(len(differences))

    def is_enough(count: int) -> bool:
        return _quantile(count, alpha) * spread <= lead * math.sqrt(count)

    low, high = 1, most
    if not is_enough(most):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def _quantile(count: int, alpha: float) -> float:
    """Half the width of an interval after `count` questions, in standard errors, if it has to hold after any
    number of questions: the normal mixture (Robbins 1970; Waudby-Smith et al. 2021)."""
    ratio = (count + _HORIZON) / count
    return math.sqrt(ratio * math.log((count + _HORIZON) / (_HORIZON * alpha**2)))
