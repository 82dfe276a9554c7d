"""Tests of paired differences: two pipelines, the same questions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, gammaln, ndtri

Array = NDArray[np.float64]
EXACT = 200_000
RESAMPLES = 99_999
_SLACK = 1e-9


def sign_flip_p(
    differences: ArrayLike, weights: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Two-sided p of the weighted mean difference, by flipping the sign of each (n) difference.

    If nothing has changed, which pipeline made which score is a toss of a coin for every question; the
    categories keep their questions. All outcomes are counted while there are at most `EXACT` different
    ones, else `resamples` are drawn.
    """
    steps = np.asarray(differences, dtype=float) * np.asarray(weights, dtype=float)
    sizes, counts = np.unique(np.round(np.abs(steps[steps != 0]), 12), return_counts=True)
    observed = abs(math.fsum(steps)) - _SLACK
    if math.prod(int(count) + 1 for count in counts) <= EXACT:
        return _exact(sizes, counts, observed)
    rng = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for size, count in zip(sizes, counts, strict=True):
        totals += size * (2 * rng.binomial(count, 0.5, resamples) - count)
    return float(1 + np.count_nonzero(np.abs(totals) >= observed)) / (resamples + 1)


def _exact(sizes: Array, counts: NDArray[np.int64], observed: float) -> float:
    """The share of all sign patterns at least as far out; steps of one size are one binomial."""
    totals, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        ups = np.arange(count + 1)
        totals = np.add.outer(totals, size * (2 * ups - count)).ravel()
        chances = np.outer(chances, _half_binomial(ups, count)).ravel()
    return min(1.0, float(chances[np.abs(totals) >= observed].sum()))


def _half_binomial(k: ArrayLike, n: ArrayLike) -> Array:
    """The chance of k heads in n tosses of a fair coin."""
    heads, tosses = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return np.asarray(np.exp(ways - tosses * math.log(2)))


def mcnemar_p(only_first: ArrayLike, only_second: ArrayLike) -> Array:
    """Two-sided mid-p of McNemar's test: how many questions only the first, or only the second, flags.

    The exact conditional p less the chance of what was seen (Fagerland, Lydersen & Laake 2013).
    """
    first, second = np.asarray(only_first), np.asarray(only_second)
    fewer, total = np.minimum(first, second), first + second
    return np.asarray(np.minimum(2 * bdtr(fewer, total, 0.5) - _half_binomial(fewer, total), 1.0))


def holm(p: ArrayLike) -> Array:
    """p values adjusted for being the best of several, in the order given (Holm 1979)."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate((values.size - np.arange(values.size)) * values[order])
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(raised, 1)
    return adjusted


def smallest_detectable(error: float, alpha: float, power: float = 0.8) -> float:
    """The true difference that a two-sided test at `alpha` finds with chance `power`, given the standard
    error if nothing has changed (normal approximation)."""
    return float((ndtri(1 - alpha / 2) + ndtri(power)) * error)
