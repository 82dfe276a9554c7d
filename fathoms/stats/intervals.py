"""Confidence intervals for means of scores in [0, 1].

They describe how far a figure would vary with other questions of the same kind on the same documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]
CONFIDENCE = 0.95
RESAMPLES = 9_999
"""The number of bootstrap resamples."""


class Interval(NamedTuple):
    """The bounds of a mean; `method` is `wilson`, `wilson-conservative`, `mover` or `bca`."""

    low: float
    high: float
    method: str


def normal_quantile(confidence: float) -> float:
    """Return the z value of a two-sided interval, such as 1.96 for a confidence of 0.95."""
    return float(ndtri(0.5 + confidence / 2))


def wilson(mean: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Return the lower and upper bound of the score interval for a rate `mean` of `n` trials (Wilson 1927).

        (mean + z²/2n ± z sqrt(mean (1 - mean) / n + z²/4n²)) / (1 + z²/n)

    The variance of fractional scores in [0, 1] is at most mean * (1 - mean), so the interval is conservative
    for them. Arrays of one shape give arrays of that shape.
    """
    return score_interval(mean, n, normal_quantile(confidence))


def score_interval(mean: ArrayLike, n: ArrayLike, z: float) -> tuple[Array, Array]:
    """Return Wilson's interval (see `wilson`) for a given quantile `z`."""
    p, size = np.asarray(mean, dtype=float), np.asarray(n, dtype=float)
    shrink = 1 + z**2 / size
    centre = (p + z**2 / (2 * size)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # Rounding errors must not leave the mean outside its interval, or the bounds outside [0, 1].
    return np.minimum(np.maximum(centre - half, 0), p), np.maximum(np.minimum(centre + half, 1), p)


def mover(means: Array, lows: Array, highs: Array, weights: Array) -> tuple[Array, Array]:
    """Return the bounds of the sum of `weights * means` over the last axis, from the interval of each mean.

    MOVER is the method of variance estimates recovery (Zou & Donner 2008; Zou, Huang & Zhang 2009). The means
    must be independent and the weights non-negative.
    """
    total = np.sum(weights * means, axis=-1)
    below = np.sqrt(np.sum((weights * (means - lows)) ** 2, axis=-1))
    above = np.sqrt(np.sum((weights * (highs - means)) ** 2, axis=-1))
    return total - below, total + above


def mean_interval(values: Array, *, repeated: bool = False, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's interval of the mean of `values`.

    Its method is `wilson-conservative` if some scores are fractions, or means over repeats (`repeated`).
    """
    low, high = wilson(values.mean(), values.size, confidence)
    flags = not repeated and bool(np.isin(values, (0.0, 1.0)).all())
    return Interval(float(low), float(high), "wilson" if flags else "wilson-conservative")


def stratified_interval(
    strata: Sequence[Array],
    weights: Array,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the interval of the sum of `weights` times the means of `strata`.

    With weights 1/C this is the macro mean of C categories; with weights n_c/n it is the mean of all
    questions. The method is the BCa bootstrap, resampled within the strata. If all scores of a stratum are
    equal, it is MOVER of Wilson's intervals, because a bootstrap would treat that stratum as without error.
    """
    if any(np.ptp(values) == 0 for values in strata):
        means = np.array([values.mean() for values in strata])
        lows, highs = wilson(means, [values.size for values in strata], confidence)
        low, high = mover(means, lows, highs, weights)
        return Interval(max(float(low), 0.0), min(float(high), 1.0), "mover")
    return _bca(strata, weights, confidence, resamples, np.random.default_rng(seed))


def _bca(
    strata: Sequence[Array], weights: Array, confidence: float, resamples: int, rng: np.random.Generator
) -> Interval:
    """Compute the bias-corrected and accelerated bootstrap interval of several samples.

    Sources: Efron 1987; Efron & Tibshirani 1993, section 14.3; with the acceleration computed over all
    samples, as in `scipy.stats.bootstrap`.
    """
    estimate = weights @ np.array([values.mean() for values in strata])
    drawn = weights @ np.array([_resampled_means(values, resamples, rng) for values in strata])
    # Sums of the same scores in another order differ in the last digits; they must count as ties.
    slack = 1e-12
    below = ((drawn < estimate - slack).mean() + (drawn <= estimate + slack).mean()) / 2
    bias = ndtri(np.clip(below, 1 / (resamples + 1), resamples / (resamples + 1)))
    ends = bias + np.array([-1, 1]) * normal_quantile(confidence)
    # The jackknife: leaving a value out changes a weighted mean in proportion to the value's distance from
    # the mean of its stratum.
    moves = np.concatenate(
        [
            weight * (values - values.mean()) / values.size
            for weight, values in zip(weights, strata, strict=True)
        ]
    )
    acceleration = float(np.sum(moves**3) / (6 * np.sum(moves**2) ** 1.5))
    levels = ndtr(bias + ends / (1 - acceleration * ends))
    low, high = np.quantile(drawn, levels)
    return Interval(float(low), float(high), "bca")


def _resampled_means(values: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Return the means of samples drawn with replacement. Scores take few distinct values, so it is enough to
    draw the count of each value from a multinomial."""
    levels, counts = np.unique(values, return_counts=True)
    draws = rng.multinomial(values.size, counts / values.size, size=resamples)
    means: Array = draws @ levels / values.size
    return means
