"""Intervals for new questions like those of a race that hold whenever it ends; `stats.betting` has that for
its own questions."""

from __future__ import annotations

import math

import numpy as np

from fathoms.stats.difference import bounds, macro_weights, pair
from fathoms.stats.intervals import special, stratified_interval
from fathoms.tune.order import Array, Codes

_HORIZON = 10.0
"""The parameter rho of the normal mixture: an interval for new questions is narrowest, beside one for a fixed
number of questions, after about nine times as many."""


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
