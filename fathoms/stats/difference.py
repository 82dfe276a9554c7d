"""Score intervals for the weighted mean of paired differences in [-1, 1]; they never have zero width.

Tango's score interval for the difference of paired proportions (Tango 1998) uses the number of questions won,
the number lost, and n. Here weighted sums of gains and losses take the place of these counts, because scores
are fractions, repeats are averaged, and questions of small categories weigh more in the macro mean. Such sums
vary less or more than plain counts. To correct for this, n is replaced by an effective number of questions,
as Korn & Graubard (1998) do for one proportion in a survey: the number for which plain counts would have the
variance that these differences show. One pseudo-flip is added in each direction to keep that number finite;
if there are no differences at all, it equals Kish's effective sample size of the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fathoms.stats.intervals import special

Array = NDArray[np.float64]
# Bisection of an interval of length up to 2: the error is at most 2 / 2^45, about 6e-14.
_STEPS = 45


class Paired(NamedTuple):
    """The weighted sums of one comparison, or of many at once (arrays of any one shape).

    `gains` and `losses` are the weighted means of the positive and of the negative differences, both given as
    non-negative numbers. `effective` is the effective number of questions. `error` is the standard error of
    the mean difference if nothing has changed; it includes one pseudo-flip in each direction.
    """

    gains: Array
    losses: Array
    effective: Array
    error: Array

    @property
    def mean(self) -> Array:
        """The weighted mean difference, `gains - losses`."""
        return self.gains - self.losses


def macro_weights(strata: ArrayLike) -> Array:
    """Return each question's weight in the unweighted mean of stratum means; strata are numbers from 0."""
    codes = np.asarray(strata)
    sizes = np.bincount(codes)
    weights: Array = 1 / (np.count_nonzero(sizes) * sizes[codes])
    return weights


def pair(differences: ArrayLike, weights: ArrayLike) -> Paired:
    """Sum up differences, of shape (..., n), with weights, of shape (n,), that add up to 1."""
    values, share = np.asarray(differences, dtype=float), np.asarray(weights, dtype=float)
    gains, losses = np.maximum(values, 0) @ share, np.maximum(-values, 0) @ share
    variance = values**2 @ share**2 + 2 * np.mean(share**2)
    effective = (gains + losses + 2 / share.size) / variance
    return Paired(gains, losses, effective, np.sqrt(variance))


def tango(gains: ArrayLike, losses: ArrayLike, n: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
    """Return the lower and the upper bound of the difference `gains - losses` of shares of `n` pairs.

    These are the values at which the score statistic is `z` and `-z` (Tango 1998). Arrays are broadcast.
    """
    return _low(gains, losses, n, z), -_low(losses, gains, n, z)


def _low(gains: ArrayLike, losses: ArrayLike, n: ArrayLike, z: ArrayLike) -> Array:
    """Find the lower bound by bisection: below it, the squared statistic exceeds z squared."""
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
    """Return the variance of one difference if the true mean difference is `mean`.

    It uses the constrained maximum likelihood estimate of the share of losses, the root of a quadratic
    equation (Tango 1998, appendix).
    """
    b = (2 - won + lost) * mean - won - lost
    c = -lost * mean * (1 - mean)
    share = (np.sqrt(np.maximum(b**2 - 8 * c, 0)) - b) / 4
    return np.maximum(2 * share + mean * (1 - mean), 0)


def bounds(found: Paired, z: ArrayLike) -> tuple[Array, Array]:
    """Return the lower and the upper bound of the mean difference, at `z` standard errors each."""
    return tango(found.gains, found.losses, found.effective, z)


def score_p(found: Paired) -> Array:
    """Return the two-sided p value of no difference, by the score test whose interval `bounds` returns."""
    moved = found.gains + found.losses
    z = np.abs(found.mean) * np.sqrt(found.effective / np.where(moved > 0, moved, 1))
    return np.asarray(2 * special().ndtr(-z))
