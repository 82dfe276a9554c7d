"""How far two sets of figures of the same systems rank the systems alike, such as a metric and people."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fathoms.stats.intervals import mean_interval

Array = NDArray[np.float64]
_DIGITS = 12
"""Figures that are equal to so many digits are ties: rounding errors must not order systems."""
RESAMPLES = 10_000
MOST_DRAWN = 2_000
"""The most items for which Kendall's tau over all of them has an interval."""
_TOGETHER = 2**22
"""How many counts of drawn groups are in memory together: all of 5,000 groups would take 800 MB."""


class Coefficient(NamedTuple):
    """A coefficient in [-1, 1] with the bounds of its 95 % interval; `None` where it is not known."""

    value: float | None
    low: float | None
    high: float | None


class RankAgreement(NamedTuple):
    """The agreement of two sets of figures of the same systems.

    `tau`, `pearson` and `spearman` are means over topics of the coefficient among the systems of a topic.
    `pooled_pearson` and `pooled_spearman` are over all pairs of topic and system. `topics` counts the topics,
    `pairs` the pairs, and `undefined` the topics in which one side rates all systems alike, so that no
    coefficient exists: they count 0 in the means.
    """

    tau: Coefficient
    pearson: Coefficient
    spearman: Coefficient
    pooled_pearson: Coefficient
    pooled_spearman: Coefficient
    topics: int
    pairs: int
    undefined: int


def rank_agreement(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> RankAgreement:
    """Return how far `ours` and `theirs` agree, each with the figures of the systems of every topic.

    Kendall's tau-b (Kendall 1945) is computed among the systems of each topic, and the taus are averaged, as
    in MiRAGE (Martin et al. 2025, tables 1 to 9). It corrects for ties; tau-a does not, and a tau over all
    topics at once would also compare systems across topics of different difficulty. The intervals of the
    means are those of a mean of topics (`mean_interval`); the pooled coefficients have percentile intervals
    of a bootstrap over topics, in which ranks are those of the whole sample. With fewer than two topics,
    there is no interval.
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    pairs = [
        (_rounded(mine), _rounded(other)) for mine, other in zip(ours, theirs, strict=True) if len(mine) > 1
    ]
    if any(mine.size != other.size for mine, other in pairs):
        raise ValueError("both sides need a figure of every system")
    defined = [bool(np.ptp(mine) > 0 and np.ptp(other) > 0) for mine, other in pairs]

    def averaged(coefficient: Callable[[Array, Array], Any]) -> Coefficient:
        found = [
            float(coefficient(*pair).statistic) if known else 0.0
            for pair, known in zip(pairs, defined, strict=True)
        ]
        return _mean(np.array(found))

    sides = [
        np.concatenate(side) if side else np.zeros(0)
        for side in ([a for a, _ in pairs], [b for _, b in pairs])
    ]
    groups = np.repeat(np.arange(len(pairs)), [mine.size for mine, _ in pairs]) if pairs else np.zeros(0, int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of few values, which the interval shows
        return RankAgreement(
            tau=averaged(kendalltau),
            pearson=averaged(pearsonr),
            spearman=averaged(spearmanr),
            pooled_pearson=_pooled(sides[0], sides[1], groups),
            pooled_spearman=_pooled(ranks(sides[0]), ranks(sides[1]), groups),
            topics=len(pairs),
            pairs=int(sides[0].size),
            undefined=defined.count(False),
        )


def spearman(ours: ArrayLike, theirs: ArrayLike, groups: ArrayLike, together: int = _TOGETHER) -> Coefficient:
    """Return Spearman's rank correlation of pairs, with an interval from drawing whole groups of them.

    `groups` has the number of the group of each pair. Without two different values on each side there is no
    coefficient, and with fewer than two groups no interval. `together` limits the counts of drawn groups that
    are in memory at once.
    """
    numbered = np.unique(np.asarray(groups), return_inverse=True)[1]
    return _pooled(ranks(ours), ranks(theirs), numbered, together)


def pearson(ours: ArrayLike, theirs: ArrayLike, groups: ArrayLike) -> Coefficient:
    """Return Pearson's correlation of pairs, with an interval from drawing whole groups of them."""
    numbered = np.unique(np.asarray(groups), return_inverse=True)[1]
    return _pooled(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), numbered)


def kendall(ours: ArrayLike, theirs: ArrayLike, groups: ArrayLike) -> Coefficient:
    """Return Kendall's tau-b of all pairs of items, within and across groups, with an interval from drawing
    whole groups of them.

    A draw in which a group occurs twice compares its items with themselves, which are ties. Drawing takes
    time and memory that grow with the square of their number, so more than `MOST_DRAWN` items have no
    interval.
    """
    numbered = np.unique(np.asarray(groups), return_inverse=True)[1]
    mine, other = (np.round(np.asarray(side, dtype=float), _DIGITS) for side in (ours, theirs))
    if mine.size < 2 or not np.ptp(mine) or not np.ptp(other):
        return Coefficient(None, None, None)
    if mine.size > MOST_DRAWN:
        from scipy.stats import kendalltau

        return Coefficient(float(kendalltau(mine, other).statistic), None, None)
    count = int(numbered.max()) + 1
    # by two groups: concordant minus discordant pairs, and the pairs without a tie on either side
    sums = np.zeros((3, count, count))
    for at, group in enumerate(numbered):
        x, y = np.sign(mine[at] - mine), np.sign(other[at] - other)
        for of, row in zip(sums, (x * y, np.abs(x), np.abs(y)), strict=True):
            of[group] += np.bincount(numbered, weights=row, minlength=count)

    def tau(net: Array, ours: Array, theirs: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(net / np.sqrt(ours * theirs))

    value = float(tau(*sums.sum(axis=(1, 2))))
    if count < 2:
        return Coefficient(value, None, None)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES // 5)
    found = tau(*(np.einsum("dg,dg->d", drawn @ of, drawn) for of in sums))
    low, high = np.nanquantile(found, (0.025, 0.975))
    return Coefficient(value, float(low), float(high))


class PairAccuracy(NamedTuple):
    """In how many of the pairs that people order both sides have the same order, with its 95 % interval.

    A pair that the metric does not order counts half. `pairs` are those that people order; `tied_by_people`
    is the number of the others, and `tied_by_metric` that of the pairs which count half.
    """

    value: float | None
    low: float | None
    high: float | None
    pairs: int
    tied_by_people: int
    tied_by_metric: int


def pair_accuracy(ours: ArrayLike, theirs: ArrayLike, groups: ArrayLike) -> PairAccuracy:
    """Return how often two differences have one sign. Each item is a pair of answers, with the difference of
    its scores and that of people's grades, or their preference. The interval is from drawing whole groups."""
    mine, other = (np.sign(np.round(np.asarray(side, dtype=float), _DIGITS)) for side in (ours, theirs))
    ordered = other != 0
    tied = int((mine[ordered] == 0).sum())
    size, left = int(ordered.sum()), int(other.size - ordered.sum())
    if not size:
        return PairAccuracy(None, None, None, 0, left, 0)
    right = (1 + mine[ordered] * other[ordered]) / 2
    numbered = np.unique(np.asarray(groups)[ordered], return_inverse=True)[1]
    sums = np.stack([np.bincount(numbered, weights=right), np.bincount(numbered)])
    count = sums.shape[1]
    value = float(right.mean())
    if count < 2:
        return PairAccuracy(value, None, None, size, left, tied)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES // 5)
    hits, all_ = drawn @ sums.T[:, 0], drawn @ sums.T[:, 1]
    low, high = np.quantile(hits / all_, (0.025, 0.975))
    return PairAccuracy(value, float(low), float(high), size, left, tied)


def ranks(values: ArrayLike) -> Array:
    """Return the rank of each value from 1; equal values have the mean of their ranks. Importing that of
    SciPy would take longer than all else that a summary needs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def _rounded(values: Sequence[float]) -> Array:
    return np.round(np.asarray(values, dtype=float), _DIGITS)


def _mean(values: Array) -> Coefficient:
    """Return the mean of coefficients in [-1, 1] with its interval."""
    if not values.size:
        return Coefficient(None, None, None)
    mean = math.fsum(values) / values.size
    if values.size < 2:
        return Coefficient(mean, None, None)
    low, high, _ = mean_interval((values + 1) / 2)
    return Coefficient(mean, 2 * low - 1, 2 * high - 1)


def _pooled(ours: Array, theirs: Array, groups: NDArray[np.int_], together: int = _TOGETHER) -> Coefficient:
    """Return Pearson's coefficient of all pairs, with an interval from drawing whole groups."""
    if ours.size < 2 or not np.ptp(ours) or not np.ptp(theirs):
        return Coefficient(None, None, None)
    x, y = ours - ours.mean(), theirs - theirs.mean()
    products = np.stack([np.ones(x.size), x, y, x * x, y * y, x * y])
    sums = np.stack([np.bincount(groups, weights=row) for row in products])
    value = float(_correlation(sums.sum(axis=1)))
    count = sums.shape[1]
    if count < 2:
        return Coefficient(value, None, None)
    random, chance = np.random.default_rng(0), np.full(count, 1 / count)
    size = max(1, together // count)
    parts = []
    for start in range(0, RESAMPLES, size):
        drawn = random.multinomial(count, chance, size=min(size, RESAMPLES - start))
        parts.append(_correlation(sums @ drawn.T.astype(float)))
    found = np.concatenate(parts)
    low, high = np.nanquantile(found, (0.025, 0.975))
    return Coefficient(value, float(low), float(high))


def _correlation(sums: Array) -> Array:
    """Return Pearson's coefficient from the sums of 1, x, y, x², y² and xy; NaN where it does not exist."""
    n, x, y, xx, yy, xy = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n)))
