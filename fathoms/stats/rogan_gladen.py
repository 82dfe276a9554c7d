"""The rate of something that an imperfect judge reports, corrected for the judge's errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.stats.intervals import CONFIDENCE, effective_count, normal_quantile

Array = NDArray[np.float64]
PSEUDO = 0.5
"""How many pseudo-items at 0 and at 1 smooth the judge's rate, and the variance of shares of an answer."""
LEAST = 0.9875
"""The confidence of `least_accuracy`: it is wrong in half of the 2.5 % in which a gate may PASS wrongly."""
PSEUDO_ERRORS = 0.95
"""How many right and how many wrong pseudo-items smooth the judge's errors; Lang & Reiczigel add 1."""


class Corrected(NamedTuple):
    """A corrected rate with the bounds of its interval, all in [0, 1]."""

    value: float
    low: float
    high: float


class Agreeing(NamedTuple):
    """Labelled items to which people say the same, yes or no, by answer: the `shares` of them of which the
    judge says the same, and how many there are (`sizes`)."""

    shares: Array
    sizes: Array

    @property
    def rate(self) -> float:
        """The share of all items on which the judge agrees; 0 without items."""
        return float(self.shares @ self.sizes / self.sizes.sum()) if self.sizes.size else 0.0

    @property
    def effective(self) -> float:
        """The number of independent items whose rate would vary as much, because those of one answer are
        alike.

        The variance is that of a ratio (Woodruff 1971), smoothed by `PSEUDO` answers at 0 and as many at 1.
        Each of these has the square root of the mean number of items: whole answers in which the judge is
        always wrong would be too many errors where it is nearly always right, and single items too few where
        it errs on all claims of an answer."""
        if not self.sizes.size:
            return 0.0
        items, one = float(self.sizes.sum()), math.sqrt(self.sizes.mean())
        added = PSEUDO * one
        rate = (float(self.shares @ self.sizes) + added) / (items + 2 * added)
        spread = float(self.sizes**2 @ (self.shares - rate) ** 2)
        spread += PSEUDO * one**2 * (rate**2 + (1 - rate) ** 2)
        return rate * (1 - rate) * items * (items + 2 * added) / spread


def least_accuracy(yes: Agreeing, no: Agreeing) -> float | None:
    """Return what the balanced accuracy of a judge is at least, with `LEAST` confidence; `None` without items
    of both kinds.

    It is the mean of the exact lower limits of sensitivity and specificity (Clopper & Pearson 1934) for the
    effective numbers of items. Each limit is wrong in half of the cases that are accepted (Bonferroni).
    """
    from scipy.stats import beta

    if not (yes.sizes.size and no.sizes.size):
        return None
    wrong, limits = (1 - LEAST) / 2, []
    for side in (yes, no):
        right = side.rate * side.effective
        limits.append(float(beta.ppf(wrong, right, side.effective - right + 1)) if right else 0.0)
    return sum(limits) / 2


def corrected_share(rates: Array, yes: Agreeing, no: Agreeing) -> Corrected | None:
    """Return the mean that people would give answers, each with the share of its items to which the judge
    says yes (`rates`), if the judge errs as among the labelled items; `None` as for `rogan_gladen`."""
    return rogan_gladen(
        float(rates.mean()),
        effective_count(rates, pseudo=PSEUDO),
        yes.rate,
        yes.effective,
        no.rate,
        no.effective,
        of_rate=PSEUDO,
        of_errors=PSEUDO_ERRORS,
    )


def rogan_gladen(
    rate: float,
    n: float,
    sensitivity: float,
    positives: float,
    specificity: float,
    negatives: float,
    *,
    of_rate: float | None = None,
    of_errors: float = 1.0,
    confidence: float = CONFIDENCE,
) -> Corrected | None:
    """Return the rate that people would find where a judge finds `rate` among `n` items.

        (rate + specificity - 1) / (sensitivity + specificity - 1)

    (Rogan & Gladen 1978.) `sensitivity` is the share of the `positives`, the items to which people say yes,
    to which the judge says yes; `specificity` is the share of the `negatives` to which both say no. The
    numbers may be effective ones. The interval is that of Lang & Reiczigel (2014, equations 6, 7, 16 and 17),
    which adds pseudo-items to all three samples: `of_rate` at 0 and as many at 1 (by default half the square
    of the normal quantile), and `of_errors` right and as many wrong ones of both kinds. It takes these as
    independent: with labelled items among the `n`, it holds the truth in 98 % of simulations instead of 95 %.
    Without a positive or a negative item, or if the judge is no better than chance (sensitivity + specificity
    at most 1), there is no correction: `None`.
    """
    if positives <= 0 or negatives <= 0 or sensitivity + specificity <= 1:
        return None
    z = normal_quantile(confidence)
    of_rate = z**2 / 2 if of_rate is None else of_rate
    found = (n * rate + of_rate) / (n + 2 * of_rate)
    all_yes, all_no = positives + 2 * of_errors, negatives + 2 * of_errors
    yes, no = (positives * sensitivity + of_errors) / all_yes, (negatives * specificity + of_errors) / all_no
    gain = yes + no - 1
    if gain <= 0:
        return None
    centre = (found + no - 1) / gain
    of_yes, of_no = yes * (1 - yes) / all_yes, no * (1 - no) / all_no
    shift = 2 * z**2 * (centre * of_yes - (1 - centre) * of_no)
    variance = found * (1 - found) / (n + 2 * of_rate) + centre**2 * of_yes + (1 - centre) ** 2 * of_no
    half = z * math.sqrt(variance) / gain
    value = _within((rate + specificity - 1) / (sensitivity + specificity - 1))
    low, high = _within(centre + shift - half), _within(centre + shift + half)
    return Corrected(value, min(low, value), max(high, value))


def _within(rate: float) -> float:
    return min(max(rate, 0.0), 1.0)
