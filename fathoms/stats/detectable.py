"""The smallest true difference that a comparison would find with a probability of 80 %, by simulation.

The simulated runs differ on as many questions of each category, and by as much, as the given ones; two
pseudo-differences are added, one in each direction. A true difference turns the direction of these
differences, and where it is larger than all of them together, more questions differ, by 1. Where a change of
the pipeline adds differences to those of chance instead, the test finds it less often. Each simulated
comparison is judged by the same test as the real one (with unequal numbers of repeats, by the sign-flip test
alone). Of many questions, sums of their differences are normally distributed, and nothing is simulated.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fathoms.stats.difference import Array, macro_weights, pair, score_p
from fathoms.stats.paired import exact_sign_flip_p, mcnemar_p

POWER = 0.8
TIMES = 500
"""The number of simulated comparisons for each true difference that is tried."""
SIMULATED = 5_000
"""With more questions, the sum of their differences is taken to be normally distributed."""
_MANY = 200
"""Unless fewer of them differ: then there are fewer simulated comparisons, for which memory suffices."""
_NUMBERS = 10**7
_STEPS = 9
_COUNTABLE = 500
_AT_ONCE = 1 << 16
"""So many numbers stay in the cache of a processor."""
# How many questions the mean of all categories counts as in the rate of each single one.
_BORROWED = 2.0

Test = Literal["sign-flip", "mcnemar"]


def detectable(
    differences: Array, strata: NDArray[np.int64], test: Test, alpha: float, most: float = 1.0
) -> float | None:
    """Return the smallest true difference that `test` finds at level `alpha` with a probability of 80 %.

    `differences` are those of the questions, in [-1, 1], and `strata` their categories, numbered from 0. The
    difference is that of the mean of the categories, for McNemar's test that of all questions. `None` if no
    difference up to `most` is found so often. The seed is fixed.
    """
    few = differences.size <= SIMULATED or np.count_nonzero(differences) < _MANY
    found = (_Simulated if few else _Normal)(differences, strata, test)
    low, high = 0.0, most
    if found.power(high, alpha) < POWER:
        return None
    for _ in range(_STEPS if few else 3 * _STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if found.power(middle, alpha) >= POWER else (middle, high)
    return high


class _Simulated:
    """Comparisons like the given one, with a true difference to be chosen. They are made a few at a time, so
    that memory holds one number for each of their questions and not all that is computed from it."""

    def __init__(self, differences: Array, strata: NDArray[np.int64], test: Test) -> None:
        rng = np.random.default_rng(0)
        n = differences.size
        self.test = test
        self.weights = np.full(n, 1 / n) if test == "mcnemar" else macro_weights(strata)
        step, times = max(1, _AT_ONCE // n), max(100, min(TIMES, _NUMBERS // n))
        self._blocks = [slice(start, min(start + step, times)) for start in range(0, times, step)]
        sizes = np.abs(differences)
        everywhere = np.concatenate([sizes, np.ones(2)])
        self.sizes = np.empty((times, n))
        for code in np.unique(strata):
            inside = np.flatnonzero(strata == code)
            own = np.empty((times, inside.size), bool)
            for block in self._blocks:
                own[block] = rng.random(own[block].shape) < inside.size / (inside.size + _BORROWED)
            for block in self._blocks:
                self.sizes[block, inside] = rng.choice(sizes[inside], own[block].shape)
            for block in self._blocks:
                drawn = rng.choice(everywhere, own[block].shape)
                self.sizes[block, inside] = np.where(own[block], self.sizes[block, inside], drawn)
        self._mean = float(np.mean(self.sizes @ self.weights))
        self._luck: Any = rng.bit_generator.state
        self._known: dict[bytes, float] = {}

    def power(self, difference: float, alpha: float) -> float:
        """Return how often the test finds a true difference."""
        bits = np.random.PCG64()
        bits.state = self._luck
        beyond = difference > self._mean
        if beyond:  # a share of questions differs by 1 in addition, by numbers of its own
            bits.advance(self.sizes.size)
            share = (difference - self._mean) / (1 - self._mean)
        else:  # a share of the differences is upwards
            share = 1.0 if difference == self._mean else (1 + difference / self._mean) / 2
        luck, found = np.random.Generator(bits), 0
        for block in self._blocks:
            sizes = self.sizes[block]
            chosen = luck.random(sizes.shape) < share
            changes = np.where(chosen, 1.0, sizes) if beyond else np.where(chosen, sizes, -sizes)
            found += int(np.count_nonzero(self._p(changes) <= alpha))
        return found / len(self.sizes)

    def _p(self, changes: Array) -> Array:
        """Return the p value of each comparison."""
        if self.test == "mcnemar":
            return mcnemar_p((changes > 0).sum(axis=1), (changes < 0).sum(axis=1))
        flipped = sign_flip_ps(changes * self.weights, self._known)
        return np.maximum(flipped, score_p(pair(changes, self.weights)))


class _Normal:
    """The comparisons of `_Simulated` on so many questions that the sum of their differences is normally
    distributed, with the mean and the variance that drawing gives it."""

    def __init__(self, differences: Array, strata: NDArray[np.int64], test: Test) -> None:
        counts = np.bincount(strata)
        n, categories = differences.size, np.count_nonzero(counts)
        # what all questions of a category weigh together, and the sum of the squares of their weights
        self.share = counts / n if test == "mcnemar" else (counts > 0) / categories
        self.squared = self.share**2 / np.maximum(counts, 1)
        self.pseudo = 2 / n
        sizes = np.abs(differences)
        everywhere = np.concatenate([sizes, np.ones(2)])
        own = counts / (counts + _BORROWED)
        # the mean of the size that is drawn for a question of a category, and of its square
        self.size, self.square = (
            own * np.bincount(strata, sizes**k) / np.maximum(counts, 1) + (1 - own) * np.mean(everywhere**k)
            for k in (1, 2)
        )
        self._mean = float(np.sum(self.share * self.size))

    def power(self, difference: float, alpha: float) -> float:
        """Return how often the test finds a true difference."""
        if difference > self._mean:  # a share of questions differs by 1 in addition
            more = (difference - self._mean) / (1 - self._mean)
            means, squares = (more + (1 - more) * part for part in (self.size, self.square))
        else:  # a share of the differences is upwards
            means, squares = difference / self._mean * self.size, self.square
        mean, moved = float(np.sum(self.share * means)), max(difference, self._mean)
        # the larger one of the variances by which the sign-flip test and the score test divide
        under = float(np.sum(self.squared * squares))
        scored = (under + self.pseudo * float(np.sum(self.squared))) * moved / (moved + self.pseudo)
        limit = -float(ndtri(alpha / 2)) * np.sqrt(max(under, scored))
        error = np.sqrt(max(float(np.sum(self.squared * (squares - means**2))), 1e-300))
        return float(ndtr((mean - limit) / error) + ndtr((-mean - limit) / error))


def sign_flip_ps(steps: Array, known: dict[bytes, float] | None = None) -> Array:
    """Return the p values of many sign-flip tests, of rows of weighted differences. Those that are `known`
    from other rows are not computed again.

    They are exact where there are few outcomes to count. Otherwise they are those of the normal distribution
    with Edgeworth's correction for the fourth moment (the sum of random signs has no third one).
    """
    squared = steps**2
    squares = np.sum(squared, axis=1)
    safe = np.where(squares > 0, squares, 1)
    z = np.abs(steps.sum(axis=1)) / np.sqrt(safe)
    excess = -2 * np.sum(squared**2, axis=1) / safe**2
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    p: Array = np.clip(2 * (ndtr(-z) + density * excess / 24 * (z**3 - 3 * z)), 0, 1)
    known = {} if known is None else known
    # n differences have more than n outcomes
    for row in np.flatnonzero(np.count_nonzero(np.abs(steps) > 1e-12, axis=1) < _COUNTABLE):
        values = np.round(steps[row], 12)
        moved = values[values != 0]
        sizes, counts = np.unique(np.abs(moved), return_counts=True)
        if np.prod(counts + 1.0) <= _COUNTABLE:
            key = sizes.tobytes() + counts.tobytes() + np.round(abs(moved.sum()), 9).tobytes()
            if key not in known:
                known[key] = exact_sign_flip_p(sizes, counts, abs(float(moved.sum())))
            p[row] = known[key]
    return p
