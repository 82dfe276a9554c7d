"""Intervals for the weighted mean of paired differences in [-1, 1]: score intervals, never of zero width.

Tango's score interval for the difference of paired proportions (Tango 1998) knows questions won, questions
lost, and n. Here these are weighted sums of gains and of losses, for scores are fractions, repeats are
averaged, and a question of a small category weighs more in the macro mean. What such sums vary less or
more than plain counts is made up for by an effective number of questions in the place of n, as Korn &
Graubard (1998) do for one proportion in a survey: the number at which plain counts have the variance that
these differences show. One pseudo-flip each way keeps that number finite; where nothing differs at all, it
is Kish's effective sample size of the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]
_STEPS = 45


class Paired(NamedTuple):
    """Sums over weighted differences, of one comparison or of many at once (any shape).

    `gains` and `losses` are weighted means (both positive), `effective` is the effective number of
    questions, `error` the standard error if nothing has changed, with one pseudo-flip each way.
    """

    gains: Array
    losses: Array
    effective: Array
    error: Array

    @property
    def mean(self) -> Array:
        """The weighted mean difference."""
        return self.gains - self.losses


def macro_weights(strata: ArrayLike) -> Array:
    """The weight of each question in the unweighted mean of the means of its strata (numbers from 0)."""
    codes = np.asarray(strata)
    sizes = np.bincount(codes)
    weights: Array = 1 / (np.count_nonzero(sizes) * sizes[codes])
    return weights


def pair(differences: ArrayLike, weights: ArrayLike) -> Paired:
    """Sum up differences (..., n) with weights (n) that add up to 1."""
    values, share = np.asarray(differences, dtype=float), np.asarray(weights, dtype=float)
    gains, losses = np.maximum(values, 0) @ share, np.maximum(-values, 0) @ share
    variance = values**2 @ share**2 + 2 * np.mean(share**2)
    effective = (gains + losses + 2 / share.size) / variance
    return Paired(gains, losses, effective, np.sqrt(variance))


def tango(gains: ArrayLike, losses: ArrayLike, n: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
    """Low and high of the difference of shares `gains - losses` among `n` pairs: where the score statistic
    is `z` and `-z` (Tango 1998). Arrays are broadcast."""
    return _low(gains, losses, n, z), -_low(losses, gains, n, z)


def _low(gains: ArrayLike, losses: ArrayLike, n: ArrayLike, z: ArrayLike) -> Array:
    """By bisection: below the bound, the squared statistic is above z squared."""
    won, lost, size, far = np.broadcast_arrays(
        *(np.asarray(part, dtype=float) for part in (gains, losses, n, z))
    )
    low, high = np.full(won.shape, -1.0), won - lost
    for _ in range(_STEPS):
        middle = (low + high) / 2
        outside = size * (won - lost - middle) ** 2 > far**2 * _null_variance(won, lost, middle)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return low


def _null_variance(won: Array, lost: Array, mean: Array) -> Array:
    """The variance of one difference if the true mean is `mean`: the share of losses is then its constrained
    maximum likelihood estimate, a root of a quadratic (Tango 1998, appendix)."""
    b = (2 - won + lost) * mean - won - lost
    c = -lost * mean * (1 - mean)
    share = (np.sqrt(np.maximum(b**2 - 8 * c, 0)) - b) / 4
    return np.maximum(2 * share + mean * (1 - mean), 0)


def bounds(found: Paired, z: ArrayLike) -> tuple[Array, Array]:
    """Lower and upper bound of the mean difference, each one-sided of level `ndtr(z)`."""
    return tango(found.gains, found.losses, found.effective, z)


def worse_p(found: Paired) -> Array:
    """One-sided p of "not worse": the level at which the upper bound is 0.

    There Tango's variance needs no root: it is that of gains and losses as they are.
    """
    moved = found.gains + found.losses
    statistic = np.sqrt(found.effective / np.where(moved > 0, moved, 1)) * found.mean
    return np.asarray(ndtr(statistic))
