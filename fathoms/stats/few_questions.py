"""Decides about one night of few questions: were so many right answers lost that chance does not explain it?

A question is formerly right if more than half of its answers in the baseline are right, and lost if at most
half of tonight's are. If nothing has changed, tonight's answers to a question are as good as any others of
the baseline: of all its answers, each choice of as many is equally likely to be tonight's. So the number of
right ones tonight has a hypergeometric distribution, whatever the rate at which the question is answered
rightly. That rate is neither known nor assumed, which is how the error of its estimate counts in full.

Lost questions add up their weights, and `p` is the probability of at least tonight's sum, exact to rounding:
the sum of independent events of different chances (a weighted Poisson-binomial) from its characteristic
function (Hong, "On computing the distribution function for the Poisson binomial distribution", 2013). As of
any exact permutation test (Lehmann & Romano, "Testing Statistical Hypotheses", section 15.2), p is below
`LEVEL` on at most that share of the nights without a change, and in `MONTH` nights there are at most `BUDGET`
false alarms on average, for any pipeline whose answers do not depend on each other.

The weight of a lost question is the logarithm of how much likelier its answers are if it is broken: a
question that was always right and never is tonight weighs much, one that wavers hardly anything. The test is
exact with any weights: what these assume (`BROKEN`, `PRIOR`, `STILL_RIGHT`) decides how soon a loss is found,
and not how often there is a false alarm.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import hypergeom

Array = NDArray[np.float64]
Kind = tuple[int, int]
"""How many answers a question has in the baseline and tonight."""

MONTH = 30
"""The nights for which `BUDGET` holds."""
BUDGET = 0.05
"""The largest mean number of false alarms in `MONTH` nights."""
LEVEL = BUDGET / MONTH
"""What `p` must be below for an alarm."""
LEAST_LOST = 2
"""The fewest lost answers that are an alarm: one question alone never is."""
REPEATS = (2, 3, 5)
"""The numbers of answers of a night to one question that may pay off."""
BROKEN = 0.2
"""The share of broken questions that the weights are best for."""
PRIOR = 0.3
"""Both parameters of the beta distribution of the rates of right answers: most questions hardly waver."""
STILL_RIGHT = 0.1
"""How often a broken question is answered rightly."""
_UNIT = 4  # weights are whole numbers of this part of the logarithm, so that sums are exact


@dataclass(frozen=True)
class Loss:
    """What became of the answers that were right in the baseline.

    `right` are the places of the questions that were right, and `lost` those of them that are lost. `p` is
    the probability that an unchanged pipeline loses as much or more. `needed` is the smallest number of the
    steadiest questions whose loss is an alarm, `None` if not even the loss of all is. `repeats` is how many
    answers to each question of a night pay off, up to the most of `REPEATS`, and what is `needed` with them;
    `None` if more answers than tonight's do not lower it.
    """

    right: tuple[int, ...]
    lost: tuple[int, ...]
    p: float
    needed: int | None
    repeats: tuple[int, int] | None = None
    level: float = LEVEL

    @property
    def alarm(self) -> bool:
        """Whether so much is lost that it is an alarm."""
        return len(self.lost) >= LEAST_LOST and self.p < self.level


def loss(before: Sequence[tuple[int, int]], tonight: Sequence[tuple[int, int]], checks: int = 1) -> Loss:
    """Judge tonight's answers: for each question, how many answers of how many are right, in the baseline and
    tonight. Questions without answers on both sides count neither way. `checks` metrics share the level."""
    level = LEVEL / checks
    answered = [
        place for place, pair in enumerate(zip(before, tonight, strict=True)) if pair[0][1] and pair[1][1]
    ]
    right = tuple(place for place in answered if 2 * before[place][0] > before[place][1])
    lost = tuple(place for place in right if 2 * tonight[place][0] <= tonight[place][1])
    base = [before[place] for place in answered]
    p = _p_of(base, [tonight[place] for place in answered])
    sizes = [tonight[place][1] for place in answered]
    needed = _needed(base, sizes, level)
    repeats = None
    for times in REPEATS:
        if needed is not None and times > max(sizes):
            fewer = _needed(base, [times] * len(base), level)
            if fewer is not None and fewer < (repeats[1] if repeats else needed):
                repeats = times, fewer
    return Loss(right, lost, p, needed, repeats, level)


def _needed(before: Sequence[tuple[int, int]], sizes: Sequence[int], level: float) -> int | None:
    """Return how many of the steadiest questions must be lost as a whole for an alarm, where the others are
    answered as most of their answers in the baseline; `None` if the loss of all is no alarm."""
    calm = [(size if 2 * hits > of else 0, size) for (hits, of), size in zip(before, sizes, strict=True)]
    steady = sorted(
        (place for place, (hits, of) in enumerate(before) if 2 * hits > of),
        key=lambda place: (before[place][1] - before[place][0]) / before[place][1],
    )

    def is_alarm(count: int) -> bool:
        """Whether the loss of so many is an alarm."""
        gone = set(steady[:count])
        return _p_of(before, [(0, one[1]) if at in gone else one for at, one in enumerate(calm)]) < level

    counts = range(LEAST_LOST, len(steady) + 1)
    place = bisect_left(counts, True, key=is_alarm)
    return counts[place] if place < len(counts) else None


def _p_of(before: Sequence[tuple[int, int]], tonight: Sequence[tuple[int, int]]) -> float:
    """Return the p value of one night."""
    counts: dict[Kind, Array] = {}
    seen = 0
    for (hits, of), (now, size) in zip(before, tonight, strict=True):
        row = counts.setdefault((of, size), np.zeros((1, of + size + 1)))
        row[0, hits + now] += 1
        seen += int(weights(of, size)[0][hits + now, now])
    return float(p_values(counts, np.array([seen]))[0]) if seen else 1.0


def p_values(counts: Mapping[Kind, Array], seen: NDArray[np.int64]) -> Array:
    """Return the probability of at least the sum of weights `seen` in each of several nights. `counts` has
    for each kind a row per night, and in it how many questions have 0, 1, 2, ... right answers in all."""
    most = sum(int(rows.sum(axis=1).max()) * int(weights(*kind)[0].max()) for kind, rows in counts.items())
    turns = np.arange((most + 1) // 2 + 1) * (-2j * np.pi / (most + 1))
    total = np.zeros((seen.size, turns.size), complex)
    for kind, rows in counts.items():
        used = rows.any(axis=0)
        weight, chance = (table[used] for table in weights(*kind))
        turned = (chance[:, :, None] * np.exp(weight[:, :, None] * turns)).sum(axis=1)
        total += rows[:, used] @ np.log(turned + 1e-300)  # an even chance of two weights may turn to 0
    found = np.clip(np.fft.irfft(np.exp(total), n=most + 1, axis=1), 0, 1)
    tails: Array = np.minimum(1.0, np.cumsum(found[:, ::-1], axis=1)[:, ::-1])
    return tails[np.arange(seen.size), seen]


@cache
def weights(of: int, tonight: int) -> tuple[NDArray[np.int64], Array]:
    """Return the weight of a question with so many answers in the baseline and tonight, by its right answers
    in all and tonight, 0 where it is not lost, and the chance of so many tonight if nothing has changed."""
    whole, now = np.indices((of + tonight + 1, tonight + 1))
    chance = hypergeom.pmf(now, of + tonight, whole, tonight)
    hits = np.clip(whole - now, 0, of)
    same = betaln(PRIOR + whole, PRIOR + of + tonight - whole)
    once = betaln(PRIOR + hits, PRIOR + of - hits)
    broken = STILL_RIGHT**now * (1 - STILL_RIGHT) ** (tonight - now)
    logarithm = np.log(1 - BROKEN + BROKEN * np.exp(once - same) * broken)
    lost = (hits == whole - now) & (2 * hits > of) & (2 * now <= tonight)
    return np.where(lost, np.maximum(1, np.rint(_UNIT * logarithm)), 0).astype(np.int64), chance
