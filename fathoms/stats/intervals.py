"""Intervals for means of scores in [0, 1].

They say how far the figure would move with other questions of the same kind on the same documents.
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


class Interval(NamedTuple):
    """`low` and `high` of a mean, and how they were made: `wilson`, `wilson-conservative`, `mover` or
    `bca`."""

    low: float
    high: float
    method: str


def normal_quantile(confidence: float) -> float:
    """z of a two-sided interval: 1.96 for 0.95."""
    return float(ndtri(0.5 + confidence / 2))


def wilson(mean: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Low and high of the score interval for a rate `mean` of `n` trials (Wilson 1927).

        (mean + z²/2n ± z sqrt(mean (1 - mean) / n + z²/4n²)) / (1 + z²/n)

    The mean of fractional scores has a variance of at most mean * (1 - mean): for it the interval is
    conservative. Arrays of one shape give arrays of that shape.
    """
    return score_interval(mean, n, normal_quantile(confidence))


def score_interval(mean: ArrayLike, n: ArrayLike, z: float) -> tuple[Array, Array]:
    """Wilson's interval at `z` standard errors."""
    p, size = np.asarray(mean, dtype=float), np.asarray(n, dtype=float)
    shrink = 1 + z**2 / size
    centre = (p + z**2 / (2 * size)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # the ends are met exactly: rounding must not leave the mean outside
    return np.minimum(np.maximum(centre - half, 0), p), np.maximum(np.minimum(centre + half, 1), p)


def mover(means: Array, lows: Array, highs: Array, weights: Array) -> tuple[Array, Array]:
    """Low and high of the sum of `weights * means` over the last axis, from the interval of each mean.

    The method of variance estimates recovery for independent parts and weights that are not negative
    (Zou & Donner 2008, Zou, Huang & Zhang 2009).
    """
    total = np.sum(weights * means, axis=-1)
    below = np.sqrt(np.sum((weights * (means - lows)) ** 2, axis=-1))
    above = np.sqrt(np.sum((weights * (highs - means)) ** 2, axis=-1))
    return total - below, total + above


def mean_interval(values: Array, *, repeated: bool = False, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of one mean, called conservative where the scores are fractions or means of
    repeats."""
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
    """The interval of the sum of `weights` times the means of `strata`.

    With weights 1/C this is the macro mean of C categories, with weights n_c/n the mean of all questions.
    BCa, resampled within the strata; MOVER of Wilson's intervals where a stratum is constant, for the
    bootstrap then takes what it saw for all there is.
    """
    if any(np.ptp(values) == 0 for values in strata):
        return _mover_of_wilson(strata, weights, confidence)
    return _bca(strata, weights, confidence, resamples, np.random.default_rng(seed))


def _mover_of_wilson(strata: Sequence[Array], weights: Array, confidence: float) -> Interval:
    """MOVER over the strata."""
    means = np.array([values.mean() for values in strata])
    lows, highs = wilson(means, [values.size for values in strata], confidence)
    low, high = mover(means, lows, highs, weights)
    return Interval(max(float(low), 0.0), min(float(high), 1.0), "mover")


def _bca(
    strata: Sequence[Array], weights: Array, confidence: float, resamples: int, rng: np.random.Generator
) -> Interval:
    """Bias-corrected and accelerated bootstrap of several samples (Efron 1987; Efron & Tibshirani 1993,
    section 14.3, with the acceleration over all samples as in `scipy.stats.bootstrap`)."""
    estimate = weights @ np.array([values.mean() for values in strata])
    drawn = weights @ np.array([_resampled_means(values, resamples, rng) for values in strata])
    # sums of the same scores in another order differ in the last digits: these are ties
    slack = 1e-12
    below = ((drawn < estimate - slack).mean() + (drawn <= estimate + slack).mean()) / 2
    bias = ndtri(np.clip(below, 1 / (resamples + 1), resamples / (resamples + 1)))
    ends = bias + np.array([-1, 1]) * normal_quantile(confidence)
    levels = ndtr(bias + ends / (1 - _acceleration(strata, weights) * ends))
    low, high = np.quantile(drawn, levels)
    return Interval(float(low), float(high), "bca")


def _resampled_means(values: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Means of samples drawn with replacement. Scores take few values: how often each is drawn is one
    multinomial, however many questions there are."""
    levels, counts = np.unique(values, return_counts=True)
    draws = rng.multinomial(values.size, counts / values.size, size=resamples)
    means: Array = draws @ levels / values.size
    return means


def _acceleration(strata: Sequence[Array], weights: Array) -> float:
    """From the jackknife: for a weighted mean, leaving one out moves it by its distance from the mean."""
    parts = [
        weight * (values - values.mean()) / values.size
        for weight, values in zip(weights, strata, strict=True)
    ]
    moves = np.concatenate(parts)
    return float(np.sum(moves**3) / (6 * np.sum(moves**2) ** 1.5))
