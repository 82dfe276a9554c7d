"""Intervals for questions that come in groups: those on one document rise and fall together.

They say how far a figure would move with other documents, and so need many of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fathoms.stats.intervals import CONFIDENCE, score_interval

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
ENOUGH = 20
_TINY = 1e-10


class Clustered(NamedTuple):
    """`low` and `high` of a mean, and the degrees of freedom of t."""

    low: float
    high: float
    df: float


class Estimate(NamedTuple):
    """A mean, its CR2 standard error, and Satterthwaite's degrees of freedom."""

    mean: float
    error: float
    df: float


def connected(sets: Sequence[Iterable[Hashable]]) -> list[int]:
    """A group number for each set; sets that share a member, or are joined by others that do, are one.

    An empty set is a group of its own.
    """
    parent = list(range(len(sets)))
    first: dict[Hashable, int] = {}
    for index, members in enumerate(sets):
        for member in members:
            parent[_root(parent, index)] = _root(parent, first.setdefault(member, index))
    roots = [_root(parent, index) for index in range(len(sets))]
    names = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    return [names[root] for root in roots]


def _root(parent: list[int], index: int) -> int:
    """The set that stands for the group of one."""
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def cr2_interval(
    values: Array, strata: Codes, groups: Codes, weights: Array, confidence: float = CONFIDENCE
) -> Clustered:
    """The interval of the sum of `weights` times the means of the strata, robust to groups of questions.

    CR2's error and t in Wilson's form, with the number of questions that would have this error if they were
    independent in the place of n (Korn & Graubard 1998): mean +- t * error is too short near 0 and 1, and
    leaves them. Where all scores are alike there is no error to go by, and each group counts as one question.
    """
    found = cr2(values, strata, groups, weights)
    spread = found.mean * (1 - found.mean)
    count = groups.max() + 1
    seen = found.error > _TINY and spread > _TINY and found.df > _TINY
    n, df = (spread / found.error**2, found.df) if seen else (float(count), float(count - 1))
    low, high = score_interval(found.mean, n, float(stdtrit(df, 0.5 + confidence / 2)))
    return Clustered(float(low), float(high), df)


def cr2(values: Array, strata: Codes, groups: Codes, weights: Array) -> Estimate:
    """CR2, the bias-reduced linearisation of Bell & McCaffrey (2002): the residuals of each group are divided
    by the square root of what fitting the means took from their variance; degrees of freedom as if
    questions were independent."""
    sizes = np.bincount(strata)
    means = np.bincount(strata, values) / sizes
    order = np.argsort(groups, kind="stable")
    values, strata, groups = values[order], strata[order], groups[order]
    lever = weights[strata] / sizes[strata]
    ends = np.flatnonzero(np.diff(groups)) + 1
    adjusted = np.concatenate(
        [_adjusted(members, strata, sizes, lever) for members in np.split(np.arange(values.size), ends)]
    )
    variance = float(np.sum(np.bincount(groups, adjusted * (values - means[strata])) ** 2))
    return Estimate(float(weights @ means), variance**0.5, _freedom(adjusted, strata, groups, sizes))


def _adjusted(members: Codes, strata: Codes, sizes: Codes, lever: Array) -> Array:
    """The levers of a group's members times (I - H) to the power of -1/2, H their part of the hat matrix."""
    mine = strata[members]
    hat = (mine[:, None] == mine) / sizes[mine]
    values, vectors = np.linalg.eigh(np.eye(members.size) - hat)
    # a group that is a whole stratum has no residual left to scale: the pseudo-inverse leaves it out
    roots = np.where(values > _TINY, 1 / np.sqrt(np.maximum(values, _TINY)), 0)
    scaled: Array = vectors @ (roots * (vectors.T @ lever[members]))
    return scaled


def _freedom(adjusted: Array, strata: Codes, groups: Codes, sizes: Codes) -> float:
    """Satterthwaite's degrees of freedom, trace(F)^2 / trace(F^2), where F (groups x groups) is the variance
    estimate as a quadratic form: a diagonal less what the fitted means share. F itself is never built."""
    sums = np.zeros((groups.max() + 1, sizes.size))
    np.add.at(sums, (groups, strata), adjusted)
    diagonal, shared = np.bincount(groups, adjusted**2), np.sum(sums**2 / sizes, axis=1)
    inner = (sums.T @ sums) / sizes
    trace = float(np.sum(diagonal - shared))
    squared = float(np.sum(diagonal**2 - 2 * diagonal * shared) + np.sum(inner * inner.T))
    return trace**2 / squared if squared > 0 else 0.0
