"""Empirical Bayes estimates of many means: each is pulled towards the mean of all, the more so the less it is
known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fathoms.stats.intervals import root

Array = NDArray[np.float64]
FEWEST = 4
"""The fewest means that can be shrunk: with three or fewer no estimate is better than the means themselves
(Stein 1956)."""


def shrunk(means: Array, variances: Array) -> Array:
    """Return the empirical Bayes estimates of the true values behind `means`, of the same shape (k,).

    `variances` are those of the means by chance (squared standard errors, not negative). The model has true
    values that vary normally around a common mean, and means that vary normally around their true values
    (Efron & Morris 1975). The variance of the true values is Paule & Mandel's (1982): the one at which the
    weighted squares of the means around their weighted mean sum up to k - 1, or 0 if even that is too much;
    DerSimonian & Laird's (1986) is a first step towards it. The share by which a mean is pulled is multiplied
    by (k - 3) / (k - 1), because that variance is itself estimated (Morris 1983). With equal variances this
    is the estimator of James & Stein (1961), which on average is closer to the true values than the means
    are, as long as it pulls by less than (k - 3) / (k - 1).

    Raises ValueError for fewer than four means, or if all variances are 0 and the means are equal.
    """
    k = means.size
    if k < FEWEST:
        raise ValueError(f"{k} means cannot be shrunk: at least {FEWEST} are needed")
    between = _between(means, variances)
    total = variances + between
    if not total.all():  # a mean without any variance is known
        return np.array(means)
    center = np.average(means, weights=1 / total)
    pull: Array = variances / total * (k - 3) / (k - 1)
    return means + pull * (center - means)


def _between(means: Array, variances: Array) -> float:
    """Paule & Mandel's estimate of the variance of the true values."""
    floor = 1e-12 * max(1.0, float(np.ptp(means)) ** 2)

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        center = np.average(means, weights=weights)
        return float(np.sum(weights * (means - center) ** 2)) - (means.size - 1)

    if excess(floor) <= 0:
        return 0.0
    highest = float(np.sum((means - means.mean()) ** 2)) + floor
    return float(root(excess, floor, highest, xtol=1e-12))
