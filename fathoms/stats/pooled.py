"""A permutation test for repeated answers to the same questions: is a candidate worse than its baseline?

If nothing has changed, the R answers of the baseline and the K answers of the candidate to one question are
draws from the same distribution, so every choice of K of the R + K answers is as likely to be the
candidate's. The p value is the probability, over all these choices for all questions, of a weighted mean
difference at least as low as the observed one (Pitman 1937; for R = K = 1 and scores of 0 and 1 it is the
one-sided exact test of McNemar 1947, and for one question that of Fisher 1935). Questions may be of any
difficulty, and their scores of any distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fathoms.stats.difference import Array

EXACT = 1 << 18
"""The most sums of two groups of questions that are enumerated; if there are more, they are rounded to a
grid."""
_GROUP = 1 << 14
_GRID, _REACH = 1 << 16, 12.0
"""The points of the grid, and how many standard deviations it reaches on both sides."""
_DIGITS = 12
_UNITS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""Scores are often whole numbers of one of these parts, and then sums are quick to count."""

Scores = tuple[float, ...]
"""All scores of a question, ascending."""

Outcomes = tuple[Array, Array]
"""The distinct values of a sum, ascending, and their probabilities."""


def pooled_p(
    baseline: Sequence[Sequence[float]],
    candidate: Sequence[Sequence[float]],
    weights: Sequence[float],
    most: int = EXACT,
) -> float:
    """Return the one-sided p value of the hypothesis "not worse" (higher scores are better).

    `baseline` and `candidate` hold the scores of each question in [0, 1], at least one each, and `weights`
    the weight of each question in the mean. The p value is exact as long as the sums that are possible can be
    enumerated, which is done for `most` of them; otherwise they are rounded to a grid of 1/2700 of their
    standard deviation.
    """
    return pooled_tail(baseline, candidate, weights, most)[1]


def pooled_tail(
    baseline: Sequence[Sequence[float]],
    candidate: Sequence[Sequence[float]],
    weights: Sequence[float],
    most: int = EXACT,
) -> tuple[float, float]:
    """Return the probabilities of a difference below the observed one, and of one at most as large.

    The second is the p value of `pooled_p`, which explains the arguments. Where sums had to be rounded to a
    grid, equal sums cannot be told, and both are the second one.
    """
    observed = 0.0
    alike: dict[tuple[float, int, int], list[Scores]] = {}
    for ours, theirs, weight in zip(baseline, candidate, weights, strict=True):
        observed += weight * (math.fsum(theirs) / len(theirs) - math.fsum(ours) / len(ours))
        scores = tuple(sorted([*ours, *theirs]))
        alike.setdefault((weight, len(theirs), len(ours)), []).append(scores)
    slack = 10.0**-_DIGITS * len(weights)
    groups = [group for (weight, k, r), each in alike.items() for group in _groups(each, weight, k, r)]
    exact = _enumerated(groups, most)
    if exact is None:
        p = min(1.0, _on_grid(groups, observed + slack))
        return p, p
    return _at_most(*exact, observed - slack), min(1.0, _at_most(*exact, observed + slack))


def _groups(questions: Sequence[Scores], weight: float, k: int, r: int) -> list[Outcomes]:
    """Return the weighted differences of questions with the same weight and numbers of scores, summed up in
    as few groups as stay small."""
    # a question whose scores are all the same adds the same to every sum
    moving = [each for each in questions if each[0] != each[-1]]
    fixed = math.fsum(each[0] for each in questions if each[0] == each[-1])
    unit = next((m for m in _UNITS if all(_is_whole(score * m) for each in moving for score in each)), 0)
    scale = weight * (1 / k + 1 / r)
    shift = -weight / r * math.fsum(score for each in questions for score in each)
    if unit and k * unit <= _GROUP:  # all sums are whole numbers of units
        step = _GROUP // (k * unit)
        parts = [moving[start : start + step] for start in range(0, len(moving), step)] or [[]]
        chances = [_whole_sums([tuple(round(s * unit) for s in each) for each in part], k) for part in parts]
        sums = [np.asarray(scale / unit * np.arange(each.size), dtype=float) for each in chances]
        sums[0] += shift + scale * k * fixed
        return list(zip(sums, chances, strict=True))
    found = [(np.full(1, shift), np.ones(1))]
    for each in questions:
        drawn, probable = _draws(each, k)
        if found[-1][0].size * drawn.size > _GROUP:
            found.append((scale * drawn, probable))
        else:
            found[-1] = _added(found[-1], (scale * drawn, probable))
    return found


def _is_whole(value: float) -> bool:
    """Whether a number is whole, but for rounding."""
    return abs(value - round(value)) < 10.0**-_DIGITS


def _whole_sums(questions: Sequence[tuple[int, ...]], k: int) -> Array:
    """Return the probabilities of the sums 0, 1, 2, ... of k whole scores of each question."""
    chances: Array = np.ones(1)
    for scores in questions:
        chances = np.convolve(chances, _whole_draws(scores, k))
    return chances


@lru_cache(maxsize=4096)
def _whole_draws(scores: tuple[int, ...], k: int) -> Array:
    """Return the probabilities of the sums 0, 1, 2, ... of k of some whole scores."""
    ways = np.zeros((k + 1, sum(sorted(scores)[-k:]) + 1))
    ways[0, 0] = 1
    for score in scores:
        for drawn in range(k, 0, -1):
            ways[drawn, score:] += ways[drawn - 1, : ways.shape[1] - score]
    return np.asarray(ways[k] / math.comb(len(scores), k))


def _draws(scores: Scores, k: int) -> Outcomes:
    """Return the distribution of the sum of k of some scores."""
    # ways[d] maps a sum of d scores to the number of choices that have it
    ways: list[dict[float, float]] = [{0.0: 1.0}, *({} for _ in range(k))]
    for score in scores:
        for drawn in range(k, 0, -1):
            for before, number in ways[drawn - 1].items():
                after = round(before + score, _DIGITS)
                ways[drawn][after] = ways[drawn].get(after, 0.0) + number
    sums = np.array(sorted(ways[k]))
    chances = np.array([ways[k][each] for each in sums.tolist()]) / math.comb(len(scores), k)
    return sums, chances


def _enumerated(groups: Sequence[Outcomes], most: int) -> tuple[Outcomes, Outcomes] | None:
    """Combine groups until two are left, whose sums need not be enumerated; `None` if two groups have more
    than `most` sums."""
    left = list(groups)
    while len(left) > 2:
        left.sort(key=lambda group: -group[0].size)
        first, second = left.pop(), left.pop()
        if first[0].size * second[0].size > most:
            return None
        left.append(_added(first, second))
    return left[0], left[1] if len(left) > 1 else (np.zeros(1), np.ones(1))


def _added(first: Outcomes, second: Outcomes) -> Outcomes:
    """Return the distribution of the sum of two independent sums; equal values are merged."""
    sums = np.round(np.add.outer(first[0], second[0]).ravel(), _DIGITS)
    values, places = np.unique(sums, return_inverse=True)
    chances = np.bincount(places, weights=np.outer(first[1], second[1]).ravel(), minlength=values.size)
    return np.asarray(values, dtype=float), np.asarray(chances, dtype=float)


def _at_most(first: Outcomes, second: Outcomes, limit: float) -> float:
    """Return the probability that the sum of two independent sums is at most `limit`."""
    below = np.concatenate([[0.0], np.cumsum(second[1])])
    return float(first[1] @ below[np.searchsorted(second[0], limit - first[0], side="right")])


def _on_grid(groups: Sequence[Outcomes], limit: float) -> float:
    """Return the probability that a sum is at most `limit`, with the sums of groups rounded to a grid.

    A sum between two points is split between them, so that the mean is kept. The grid is added up by fast
    Fourier transforms; what would lie beyond its ends is less than their rounding error.
    """
    means = [float(values @ chances) for values, chances in groups]
    variance = math.fsum(
        float((values - mean) ** 2 @ chances) for (values, chances), mean in zip(groups, means, strict=True)
    )
    step = 2 * _REACH * math.sqrt(variance) / _GRID
    spectrum = np.ones(_GRID // 2 + 1, dtype=complex)
    for (values, chances), mean in zip(groups, means, strict=True):
        places = (values - mean) / step
        lower = np.floor(places).astype(np.int64)
        above = places - lower
        row = np.bincount(lower % _GRID, weights=chances * (1 - above), minlength=_GRID)
        row += np.bincount((lower + 1) % _GRID, weights=chances * above, minlength=_GRID)
        spectrum *= np.fft.rfft(row)
    grid = np.roll(np.fft.irfft(spectrum, _GRID), _GRID // 2)
    # each split moves a sum by up to half a step or so
    slack = math.sqrt(len(groups)) * step
    last = math.floor((limit + slack - math.fsum(means)) / step) + _GRID // 2
    return float(max(0.0, grid[: max(0, last + 1)].sum()))
