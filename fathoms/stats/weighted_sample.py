"""Samples that have more of the answers of which a judge is unsure, and the mean that people would give all.

Active inference (Zrnic & Candes 2024, "Active Statistical Inference"): an answer is labelled with a known
chance, in proportion to the uncertainty of the judge mixed with a uniform part, so that no chance is 0. Each
labelled answer then stands for 1 / chance answers. The judge's values are used as in PPI++
(`stats.prediction_powered`), which has the same two rules for errors that are not seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.stats.intervals import CONFIDENCE, normal_quantile, score_interval
from fathoms.stats.prediction_powered import LEAST_LEFT, PSEUDO, PredictionPowered, usual_square

Array = NDArray[np.float64]
UNIFORM = 0.3
"""The part of each chance that does not depend on the judge: what it is sure of counts 1 / 0.3 times as much
as a uniform sample would count it, at most."""
_TINY = 1e-18


class WeightedStratum(NamedTuple):
    """The questions of a category: `people` and `judge` are the values of the labelled ones, which were drawn
    with the probabilities `chances`, and `every` has the judge's values of all. Values are in [0, 1]."""

    people: Array
    judge: Array
    chances: Array
    every: Array

    @property
    def size(self) -> int:
        """The number of all answers."""
        return self.every.size

    def grown(self, factor: float) -> WeightedStratum:
        """Return a stratum with a factor more labelled answers, whose values are repeated evenly."""
        size = max(2, round(self.people.size * factor))
        again = np.arange(size) * self.people.size // size
        chances = np.minimum(self.chances[again] * factor, 1.0)
        return WeightedStratum(self.people[again], self.judge[again], chances, self.every)


def sizes_of(uncertainty: Array) -> Array:
    """Return how likely each answer is to be drawn, relative to the average of 1."""
    mean = float(uncertainty.mean()) if uncertainty.size else 0.0
    if mean <= 0:
        return np.ones_like(uncertainty)
    return UNIFORM + (1 - UNIFORM) * uncertainty / mean


def chances_of(sizes: Array, count: int) -> Array:
    """Return the probabilities in proportion to `sizes` with which `count` answers are drawn; what would be
    above 1 is 1."""
    certain = np.zeros(sizes.shape, dtype=bool)
    while count < sizes.size:
        factor = (count - certain.sum()) / sizes[~certain].sum()
        more = ~certain & (factor * sizes >= 1)
        if not more.any():
            return np.where(certain, 1.0, factor * sizes)
        certain |= more
    return np.ones_like(sizes)


def weighted_mean(
    strata: Sequence[WeightedStratum], weights: Sequence[float], *, confidence: float = CONFIDENCE
) -> PredictionPowered:
    """Return the value of the sum of `weights` times the means that people would give all of each stratum.

    With weights a_i in proportion to 1 / chance that sum to 1, the mean of a stratum is
    sum(a_i Y_i) + lambda (mean(f of all) - sum(a_i f_i)), for people's values Y and the judge's f. Lambda, in
    [0, 1], minimises the variance of the weighted sum, sum(a_i^2 (1 - chance_i) (dY_i - lambda df_i)^2)
    n / (n - 1) for the deviations d from the weighted means, plus the variance of Y over all questions.
    The two rules `PSEUDO` and `LEAST_LEFT`, and the score interval of as many right-or-wrong answers as would
    vary as much, are those of `prediction_powered_mean`. Raises ValueError for a stratum with fewer than two
    labelled answers.
    """
    if any(one.people.size < 2 for one in strata):
        raise ValueError("every stratum needs at least two labelled answers")
    labels = sum(one.people.size for one in strata)
    usual = usual_square(strata)
    parts = [_Part.of(one, usual, one.people.size / labels) for one in strata]
    scale = np.asarray(weights, dtype=float) ** 2
    both, judged = (float(scale @ [getattr(one, name) for one in parts]) for name in ("both", "judged"))
    least = LEAST_LEFT * float(scale @ [one.error for one in parts])
    tuned = 0.0 if judged <= _TINY else max(min(both / judged, 1 - math.sqrt(least / judged)), 0.0)
    mean = float(np.dot(weights, [one.people + tuned * one.shift for one in parts]))
    alone = float(scale @ [one.squares + one.more + one.between for one in parts])
    found = alone + tuned * (tuned * judged - 2 * both)
    smooth = float(scale @ [one.smooth for one in parts])
    centre = float(np.dot(weights, [one.centre for one in parts]))
    count = centre * (1 - centre) / (smooth * found / alone)
    mean = min(max(mean, 0.0), 1.0)
    low, high = score_interval(mean, count, normal_quantile(confidence))
    others = sum(one.every.size for one in strata) - labels
    return PredictionPowered(mean, float(low), float(high), tuned, labels, others)


class _Part(NamedTuple):
    """What the interval needs of a stratum.

    `people` is the weighted mean of people's values, and `shift` what a lambda of 1 adds to it. `squares`,
    `both` and `judged` are the variance of that mean, that of the judge's values, and their covariance, for
    these questions; `between` is the variance of the mean over all questions, as other questions would vary.
    `error` is the variance that an error of the usual size adds, `more` that of the pseudo-errors. `centre`
    and `smooth` are the smoothed mean of people's values and its variance by these weights.
    """

    people: float
    shift: float
    squares: float
    both: float
    judged: float
    between: float
    error: float
    more: float
    centre: float
    smooth: float

    @classmethod
    def of(cls, one: WeightedStratum, usual: float, share: float) -> _Part:
        """Return the part of a stratum with a share of all labels; see `usual_square`."""
        n, size, pseudo = one.people.size, one.every.size, PSEUDO * share
        shares = 1 / one.chances
        shares /= shares.sum()
        people, judge = float(shares @ one.people), float(shares @ one.judge)
        of_people, of_judge = one.people - people, one.judge - judge
        counts = shares**2 * (1 - one.chances) * n / (n - 1)
        error = usual * share * float(counts.mean())
        centre = (n * people + pseudo) / (n + 2 * pseudo)
        away = n * float(shares @ (one.people - centre) ** 2)
        spread = (away + pseudo * (centre**2 + (1 - centre) ** 2)) / (n + 2 * pseudo)
        return cls(
            people,
            float(one.every.mean()) - judge,
            float(counts @ of_people**2),
            float(counts @ (of_people * of_judge)),
            float(counts @ of_judge**2),
            spread / size,
            error,
            error * PSEUDO,
            centre,
            spread * (float(counts.sum()) + 1 / size),
        )
