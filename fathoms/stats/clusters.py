"""Confidence intervals for grouped questions: the scores of questions on one document are correlated.

These intervals describe how far a figure would vary with other documents, so they need many groups.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.stats.difference import macro_weights, pair, tango
from fathoms.stats.intervals import CONFIDENCE, score_interval, special

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
ENOUGH = 20
"""The least number of groups for which a clustered interval is computed."""
LEAST_FREEDOM = 8.0
"""The fewest degrees of freedom for which a comparison speaks about other documents."""
PSEUDO = 0.5
"""How many pseudo-groups at 0, and how many at 1, smooth the error of a mean."""
# Smaller values are rounding errors of 0.
_TINY = 1e-10


class Clustered(NamedTuple):
    """The bounds of a mean, and the degrees of freedom of the t distribution."""

    low: float
    high: float
    df: float


class ClusteredDifference(NamedTuple):
    """The bounds of a mean difference, its two-sided p value, and the degrees of freedom of both."""

    low: float
    high: float
    p: float
    df: float


class Estimate(NamedTuple):
    """A mean with its CR2 standard error and Satterthwaite's degrees of freedom."""

    mean: float
    error: float
    df: float


def connected(sets: Sequence[Iterable[Hashable]]) -> list[int]:
    """Return a group number, from 0, for each set.

    Sets that share a member, directly or through other sets, are in one group. An empty set is a group of its
    own.
    """
    numbers: dict[Hashable, int] = {}
    tuples = [one for one in sets if isinstance(one, tuple)]
    if len(tuples) == len(sets) and set(map(len, tuples)) == {1}:  # as in most large runs
        return [numbers.setdefault(one, len(numbers)) for one in tuples]
    parent = list(range(len(sets)))

    def root(index: int) -> int:  # union-find with path halving
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[Hashable, int] = {}
    for index, members in enumerate(sets):
        for member in members:
            parent[root(index)] = root(first.setdefault(member, index))
    return [numbers.setdefault(root(index), len(numbers)) for index in range(len(sets))]


def cr2_interval(
    values: Array, strata: Codes, groups: Codes, weights: Array, confidence: float = CONFIDENCE
) -> Clustered:
    """Return the cluster-robust interval of the sum of `weights` times the means of the strata.

    `values`, `strata` and `groups` have one entry per question; `strata` and `groups` are numbers from 0, and
    `weights` has one entry per stratum. The groups must be `usable`.

    The interval has Wilson's form with CR2's standard error and a t quantile, because the usual mean +- t *
    error is too short near 0 and 1, and can exceed these limits. Its n is the number of independent questions
    that would have this error (Korn & Graubard 1998). A few groups with rare scores may show too small an
    error, so half a pseudo-group at 0 and half of one at 1 are added to it; if all scores are equal, each
    group then counts as about one question.
    """
    found = cr2(values, strata, groups, weights)
    # the number of groups of one size that would vary as much (Kish)
    count = 1 / float(np.sum(np.bincount(groups, (weights / np.bincount(strata))[strata]) ** 2))
    smooth = (count * found.mean + PSEUDO) / (count + 2 * PSEUDO)
    pseudo = PSEUDO * (smooth**2 + (1 - smooth) ** 2)
    variance = (count * found.error**2 + pseudo / count) / (count + 2 * PSEUDO)
    df = _fewest(found.df, strata, groups)
    t = float(special().stdtrit(df, 0.5 + confidence / 2))
    low, high = score_interval(found.mean, smooth * (1 - smooth) / variance, t)
    return Clustered(float(low), float(high), df)


def usable(strata: Codes, groups: Codes, names: Sequence[str] | None = None) -> str | None:
    """Say why nothing can be said about other documents; `None` if it can.

    A category on a single group shows nothing of how its mean varies with the documents, and with few degrees
    of freedom the variance itself is hardly known. `names` are those of the strata, by default their numbers.
    """
    count = int(groups.max()) + 1
    if count < ENOUGH:
        return f"{count} group{'s' * (count != 1)} of documents, fewer than {ENOUGH}"
    for code, name in enumerate(names or range(int(strata.max()) + 1)):
        if np.unique(groups[strata == code]).size < 2:
            return f"the category {name} rests on a single group of documents"
    kinds = int(strata.max()) + 1
    found = cr2(np.zeros(strata.size), strata, groups, np.full(kinds, 1 / kinds))
    if _fewest(found.df, strata, groups) < LEAST_FREEDOM:
        return "most questions are on a few of the groups of documents"
    return None


def cr2_difference(
    differences: Array, strata: Codes, groups: Codes, confidence: float = CONFIDENCE
) -> ClusteredDifference:
    """Return the cluster-robust interval and p value of the mean of the category means of paired differences.

    The differences are in [-1, 1]. The interval has Tango's form (see `difference`), so that it has a width
    and stays within [-1, 1], but with CR2's variance, to which the same pseudo-differences are added, and a t
    quantile with the degrees of freedom of independent questions, or of questions that go the same way within
    each group if these are fewer. The interval excludes 0 where p is below 1 - `confidence`. If nothing
    differs, each group counts as one question.
    """
    weights, kinds = macro_weights(strata), int(strata.max()) + 1
    found, plain = cr2(differences, strata, groups, np.full(kinds, 1 / kinds)), pair(differences, weights)
    differ = float(plain.gains + plain.losses)
    if differ < _TINY:
        n, score = 1 / float(np.sum(np.bincount(groups, weights) ** 2)), 0.0
    else:
        n = (differ + 2 / weights.size) / (found.error**2 + 2 * float(np.mean(weights**2)))
        score = abs(found.mean) * math.sqrt(n / differ)
    df = _fewest(found.df, strata, groups)
    low, high = tango(plain.gains, plain.losses, n, float(special().stdtrit(df, 0.5 + confidence / 2)))
    return ClusteredDifference(float(low), float(high), 2 * float(special().stdtr(df, -score)), df)


def _fewest(df: float, strata: Codes, groups: Codes) -> float:
    """Return the smaller one of two degrees of freedom: `df`, for independent questions, and those for
    questions of one group that all go the same way, which are fewer where groups are of unlike size."""
    variances = np.bincount(groups, macro_weights(strata)) ** 2
    return min(df, float(np.sum(variances) ** 2 / np.sum(variances**2)))


def cr2(values: Array, strata: Codes, groups: Codes, weights: Array) -> Estimate:
    """Estimate a weighted mean of stratum means with its CR2 standard error and degrees of freedom.

    CR2 is the bias-reduced linearisation of Bell & McCaffrey (2002): the residuals of each group are scaled
    by (I - H)^(-1/2), to make up for the variance that fitting the means took from them. The degrees of
    freedom assume independent questions as the working model.
    """
    sizes = np.bincount(strata)
    means = np.bincount(strata, values) / sizes
    lever = weights[strata] / sizes[strata]
    # (I - H)^(-1/2) of a group, where H is its block of the hat matrix: the leverages of its members of one
    # stratum are equal, which makes them an eigenvector with this eigenvalue.
    kinds = groups * sizes.size + strata
    rest = 1 - np.bincount(kinds)[kinds] / sizes[strata]
    # A group that is a whole stratum has no residual to scale; the pseudo-inverse leaves it out.
    adjusted = np.where(rest > _TINY, lever / np.sqrt(np.maximum(rest, _TINY)), 0.0)
    variance = float(np.sum(np.bincount(groups, adjusted * (values - means[strata])) ** 2))
    return Estimate(float(weights @ means), variance**0.5, _freedom(adjusted, strata, groups, sizes))


def _freedom(adjusted: Array, strata: Codes, groups: Codes, sizes: Codes) -> float:
    """Return Satterthwaite's degrees of freedom, trace(F)^2 / trace(F^2).

    F (groups x groups) is the variance estimate as a quadratic form: a diagonal matrix minus the part shared
    through the fitted means. Its traces are computed without building F.
    """
    sums = np.zeros((groups.max() + 1, sizes.size))
    np.add.at(sums, (groups, strata), adjusted)
    diagonal, shared = np.bincount(groups, adjusted**2), np.sum(sums**2 / sizes, axis=1)
    inner = (sums.T @ sums) / sizes
    trace = float(np.sum(diagonal - shared))
    squared = float(np.sum(diagonal**2 - 2 * diagonal * shared) + np.sum(inner * inner.T))
    return trace**2 / squared if squared > 0 else 0.0
