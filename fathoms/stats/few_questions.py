"""Decides about one night of few questions: were so many right answers lost that chance does not explain it?

A question is formerly right if more than half of its answers in the baseline are right, and lost if at most
half of tonight's are. Each question has a chance to be lost although nothing has changed, and so the number
of lost ones has a Poisson-binomial distribution, which is computed exactly by convolution (Hong, "On
computing the distribution function for the Poisson binomial distribution", 2013). A night is an alarm from
`k` lost answers on: the smallest number, at least `LEAST_LOST`, that an unchanged pipeline reaches with a
probability below `LEVEL`.

**The chance of each question** comes from its own answers in the baseline, shrunk to those of all questions.
Rates of right answers are taken to follow a beta distribution, so m of r answers have a beta-binomial one,
and so have tonight's given those of the baseline; a share of the questions may be coin tosses instead, with a
rate near one half. The mean, the concentration and that share are not known; the probabilities are averaged
over a grid of all three, weighted by how well each explains the baseline (full Bayes; Gelman et al.,
"Bayesian Data Analysis", section 5.3). The answers of a single night say nothing about how much answers
waver, so the whole grid stays possible, and `k` is high.

The distribution of rates is an assumption. `benchmarks/simulate_statistics.py few` measures what it does
where rates follow another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Array = NDArray[np.float64]

MONTH = 30
"""The nights for which `BUDGET` holds."""
BUDGET = 0.05
"""The largest mean number of false alarms in `MONTH` nights, if the assumption holds."""
LEVEL = BUDGET / MONTH
"""What the probability of a night must be below for an alarm."""
LEAST_LOST = 2
"""The fewest lost answers that are an alarm: one question alone never is."""
REPEATS = (3, 5, 7)
"""The numbers of answers of a night to one question that may pay off: odd ones, because half is not right."""
_MEANS = np.arange(0.05, 1, 0.1)
_CONCENTRATIONS = np.geomspace(0.05, 3, 9)
# the shares of coin tosses, whose rate has a beta distribution around one half
_COINS = np.array([0, 0.05, 0.1, 0.2, 0.35])
_COIN = 6.0


@dataclass(frozen=True)
class Loss:
    """What became of the answers that were right in the baseline.

    `right` are the places of the questions that were right, and `lost` those of them that are lost. `p` is
    the probability that an unchanged pipeline loses as many or more. `needed` is the smallest number of lost
    answers that is an alarm, `None` if not even the loss of all is. `repeats` is how many answers to each
    question of a night pay off, up to the most of `REPEATS`, and what is `needed` with them; `None` if more
    answers than tonight's do not lower it.
    """

    right: tuple[int, ...]
    lost: tuple[int, ...]
    p: float
    needed: int | None
    repeats: tuple[int, int] | None = None

    @property
    def alarm(self) -> bool:
        """Whether so many are lost that it is an alarm."""
        return self.needed is not None and len(self.lost) >= self.needed


def loss(before: Sequence[tuple[int, int]], tonight: Sequence[tuple[int, int]], checks: int = 1) -> Loss:
    """Judge tonight's answers: for each question, how many answers of how many are right, in the baseline and
    tonight. Questions without answers on both sides count neither way. `checks` metrics share the level."""
    right = [
        place
        for place, ((hits, of), (_, asked)) in enumerate(zip(before, tonight, strict=True))
        if asked and 2 * hits > of
    ]
    lost = tuple(place for place in right if 2 * tonight[place][0] <= tonight[place][1])
    known = [each for each in before if each[1]]
    tails = _tails(Counter((*before[place], tonight[place][1]) for place in right), known)
    needed = _needed(tails, checks, len(right))
    repeats = None
    asked = max((tonight[place][1] for place in right), default=0)
    for times in REPEATS:
        if needed is not None and times > asked > 0:
            fewer = _needed(
                _tails(Counter((*before[place], times) for place in right), known), checks, len(right)
            )
            if fewer is not None and fewer < (repeats[1] if repeats else needed):
                repeats = times, fewer
    return Loss(tuple(right), lost, float(tails[len(lost)]), needed, repeats)


def _needed(tails: Array, checks: int, right: int) -> int | None:
    """Return the smallest number of lost answers that is an alarm, `None` if there is none up to `right`."""
    enough = np.flatnonzero(tails < LEVEL / checks)
    needed = max(LEAST_LOST, int(enough[0])) if enough.size else None
    return needed if needed is not None and needed <= right else None


def poisson_binomial(chances: Array) -> Array:
    """Return the probabilities that 0, 1, 2, ... of independent events happen; each row of `chances` is one
    case and has the chance of each event."""
    cases, events = chances.shape
    found = np.zeros((cases, events + 1))
    found[:, 0] = 1
    for chance in chances.T[:, :, None]:
        found[:, 1:] = found[:, 1:] * (1 - chance) + found[:, :-1] * chance
        found[:, :1] *= 1 - chance
    return found


def chance_of_loss(hits: int, of: int, asked: int, ones: Array, zeros: Array) -> Array:
    """Return the chance that at most half of the next `asked` answers to a question are right, of which
    `hits` of `of` were, for rates that follow beta distributions with these parameters."""
    ones, zeros = ones + hits, zeros + of - hits
    few = np.arange(asked // 2 + 1)[:, None]
    ways = gammaln(asked + 1) - gammaln(few + 1) - gammaln(asked - few + 1)
    chances = np.exp(ways + betaln(ones + few, zeros + asked - few) - betaln(ones, zeros))
    found: Array = np.minimum(1.0, chances.sum(axis=0))
    return found


def _tails(kinds: Counter[tuple[int, int, int]], baseline: Sequence[tuple[int, int]]) -> Array:
    """Return the probabilities that at least 0, 1, 2, ... questions are lost, averaged over the grid. `kinds`
    counts the questions by their right answers, all answers, and answers of tonight."""
    means, sizes, coins = (each.ravel() for each in np.meshgrid(_MEANS, _CONCENTRATIONS, _COINS))
    ones, zeros, coin = means * sizes, (1 - means) * sizes, np.full(means.size, _COIN)

    def explained(hits: int, of: int) -> tuple[Array, Array]:
        """The probability of some right answers to one question, and the part of it that is due to a coin."""
        plain = np.exp(betaln(ones + hits, zeros + of - hits) - betaln(ones, zeros))
        tossed = np.exp(betaln(coin + hits, coin + of - hits) - betaln(coin, coin))
        whole = (1 - coins) * plain + coins * tossed
        return whole, coins * tossed / whole

    likely = np.zeros(ones.size)
    for (hits, of), times in Counter(baseline).items():
        likely += times * np.log(explained(hits, of)[0])
    weights = np.exp(likely - likely.max())
    chances = []
    for (hits, of, asked), times in kinds.items():
        part = explained(hits, of)[1]
        chance = (1 - part) * chance_of_loss(hits, of, asked, ones, zeros)
        chances += [chance + part * chance_of_loss(hits, of, asked, coin, coin)] * times
    total = (weights / weights.sum()) @ poisson_binomial(np.reshape(chances, (len(chances), ones.size)).T)
    found: Array = np.minimum(1.0, np.cumsum(total[::-1])[::-1])
    return found
