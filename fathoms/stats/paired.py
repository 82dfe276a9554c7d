"""Significance tests of paired differences: two pipelines on the same questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, gammaln

from fathoms.stats.difference import pair, score_p
from fathoms.stats.pooled import pooled_p

Array = NDArray[np.float64]
EXACT = 200_000
"""The most distinct outcomes for which the sign-flip test is exact."""
RESAMPLES = 99_999
"""The number of random draws of the sign-flip test otherwise."""
# Sums that differ by less than this from the observed one count as equal to it.
_SLACK = 1e-9


def sign_flip_p(
    differences: ArrayLike, weights: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p value of the weighted mean difference, by a sign-flip permutation test.

    `differences` and `weights` have one entry per question. If the pipelines do not differ, each question's
    two scores could be swapped at random, so each difference is as likely to be positive as negative. The p
    value is exact if there are at most `EXACT` distinct outcomes; otherwise it is estimated from `resamples`
    random draws.
    """
    steps = np.asarray(differences, dtype=float) * np.asarray(weights, dtype=float)
    sizes, counts = np.unique(np.round(np.abs(steps[steps != 0]), 12), return_counts=True)
    observed = abs(math.fsum(steps))
    if math.prod(int(count) + 1 for count in counts) <= EXACT:
        return exact_sign_flip_p(sizes, counts, observed)
    rng = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for size, count in zip(sizes, counts, strict=True):
        totals += size * (2 * rng.binomial(count, 0.5, resamples) - count)
    return float(1 + np.count_nonzero(np.abs(totals) >= observed - _SLACK)) / (resamples + 1)


def difference_p(
    differences: ArrayLike, weights: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p value that a weighted mean difference is 0: the larger one of `sign_flip_p` and
    of the score test behind the interval (`score_p`).

    The sign-flip test is exact if each difference is as likely to be positive as negative. If one pipeline
    loses a little on many questions and gains much on a few, the mean difference can be 0 although they are
    not, and the test finds a difference too often; the score test does not. The score test alone finds one
    too often with few questions.
    """
    flipped = sign_flip_p(differences, weights, resamples=resamples, seed=seed)
    return max(flipped, float(score_p(pair(differences, weights))))


def repeats_p(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], weights: Array, *, seed: int = 0
) -> float:
    """Return the two-sided p value of the weighted mean difference of two runs with repeated answers.

    `first` and `second` hold the scores of each question, at least one each. With as many answers to each
    question on both sides, this is `difference_p` of the differences of their means. With unequal numbers,
    the differences are not symmetric: the mean of five answers cannot stray as far as a single one. The p
    value is then the larger one of `difference_p` and of `pooled_p` (twice the smaller side). The latter
    draws which answers to a question are whose. It is exact if both pipelines answer each question alike, but
    it takes answers to one question for independent evidence where the pipelines differ on single questions
    without one of them being better.
    """
    differences = [math.fsum(b) / len(b) - math.fsum(a) / len(a) for a, b in zip(first, second, strict=True)]
    p = difference_p(differences, weights, seed=seed)
    if all(len(a) == len(b) for a, b in zip(first, second, strict=True)):
        return p
    shares = weights.tolist()
    return max(p, min(1.0, 2 * min(pooled_p(first, second, shares), pooled_p(second, first, shares))))


def exact_sign_flip_p(sizes: Array, counts: NDArray[np.int64], observed: float) -> float:
    """Return the share of sign patterns with a sum at least as extreme as `observed`, which is not negative.

    `sizes` are the distinct sizes of the steps, and `counts` how many steps have them. The signs of steps of
    equal size are drawn together from a binomial distribution.
    """
    totals, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        ups = np.arange(count + 1)
        totals = np.add.outer(totals, size * (2 * ups - count)).ravel()
        chances = np.outer(chances, _half_binomial(ups, count)).ravel()
    return min(1.0, float(chances[np.abs(totals) >= observed - _SLACK].sum()))


def _half_binomial(k: ArrayLike, n: ArrayLike) -> Array:
    """Return the probability of k heads in n tosses of a fair coin."""
    heads, tosses = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return np.asarray(np.exp(ways - tosses * math.log(2)))


def mcnemar_p(only_first: ArrayLike, only_second: ArrayLike) -> Array:
    """Return the two-sided mid-p value of McNemar's test.

    `only_first` and `only_second` count the questions that only the first, or only the second, pipeline has
    flagged. The mid-p value is the exact conditional p value minus the probability of the observed counts
    (Fagerland, Lydersen & Laake 2013).
    """
    first, second = np.asarray(only_first), np.asarray(only_second)
    fewer, total = np.minimum(first, second), first + second
    return np.asarray(np.minimum(2 * bdtr(fewer, total, 0.5) - _half_binomial(fewer, total), 1.0))


def holm(p: ArrayLike) -> Array:
    """Return p values adjusted for multiple tests by Holm's method (Holm 1979), in the given order."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate((values.size - np.arange(values.size)) * values[order])
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(raised, 1)
    return adjusted
