"""Races over scores that are all known already: what a race would have saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fathoms.tune.order import Array, draw_order
from fathoms.tune.race import Race


@dataclass(frozen=True)
class Replayed:
    """The result of a race over known scores: the candidate chosen, how many questions each candidate was
    asked, and how many calls that was in all, as a share of asking everything."""

    chosen: int
    counts: tuple[int, ...]
    calls: float


def replay(
    scores: Array,
    categories: Sequence[str],
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    within: float = 0.0,
    costs: Sequence[float] | None = None,
    prior: Sequence[float] | None = None,
) -> Replayed:
    """Run a race over scores in [0, 1], candidates by questions, in an order that `rng` draws."""
    order = draw_order(categories, rng)
    race = Race(order, len(scores), alpha=alpha, within=within, costs=costs, prior=prior)
    counts = np.zeros(len(scores), dtype=int)
    while not race.is_over:
        counts += race.alive
        race.add(scores[:, order.positions[race.done]])
    return Replayed(race.best(), tuple(counts.tolist()), float(counts.sum()) / scores.size)


def figures(scores: Array, categories: Sequence[str]) -> Array:
    """The overall figure of each candidate: the mean of the means of the categories."""
    names = np.asarray(categories, dtype=str)
    return np.asarray(np.mean([scores[:, names == name].mean(1) for name in np.unique(names)], axis=0))


def least_calls(scores: Array, categories: Sequence[str], alpha: float = 0.05) -> float:
    """The calls of a test of each candidate against the best, with the best, the differences and their
    variances known beforehand, as a share of asking everything.

    A candidate is asked t_k = z^2 s^2 / (D^2 + z^2 s^2 / n) questions, with D and s the mean and the standard
    deviation of its differences to the best, and z the quantile of 1 - alpha / (K - 1); the best is asked as
    many as the last of the others.
    """
    number, n = scores.shape
    if number < 2:
        return 0.0
    overall = figures(scores, categories)
    best = int(np.argmax(overall))
    z = NormalDist().inv_cdf(1 - alpha / (number - 1))
    names = np.asarray(categories, dtype=str)
    needed = []
    for other in range(number):
        if other != best:
            gaps = scores[best] - scores[other]
            spread = float(
                np.mean(
                    [
                        np.mean((gaps[names == one] - overall[best] + overall[other]) ** 2)
                        for one in np.unique(names)
                    ]
                )
            )
            noise = z * z * spread
            lead = float(overall[best] - overall[other])
            needed.append(n if math.isclose(lead, 0.0, abs_tol=1e-12) else noise / (lead**2 + noise / n))
    return (math.fsum(needed) + float(max(needed))) / float(number * n)
