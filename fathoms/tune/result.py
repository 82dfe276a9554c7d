"""What a race has found: the best, who else might be, with intervals for these questions and for new ones.

The intervals for new questions hold whenever the race ends, like those for its own questions, which
`stats.betting` has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fathoms.errors import UsageError
from fathoms.runs.metadata import CONFIG
from fathoms.safety.option_limits import MOST_REPEATS
from fathoms.stats.betting import mean_of_these
from fathoms.stats.difference import bounds, macro_weights, pair
from fathoms.stats.intervals import special, stratified_interval
from fathoms.tune.order import Array, Codes, Order
from fathoms.tune.race import Race

Interval = tuple[float, float]
_HORIZON = 10.0
"""The parameter rho of the normal mixture: an interval for new questions is narrowest, beside one for a fixed
number of questions, after about nine times as many."""


@dataclass(frozen=True)
class Settings:
    """What is decided, and how surely.

    `metric` is any metric from 0 to 1, under `profile` or the one that the reports of the runs show first.
    `confidence` is the probability with which the best is never dropped. Within `within` of the best is good
    enough, if it is above 0. With `by_cost`, a candidate is dropped only where one that is no dearer is
    better. `max_calls` limits the answers. `seed` draws the order of the questions. Each is asked
    `repeats` times, and its score is the mean. `screen` says whether
    candidates are compared first with those that retrieve the gold pages best. With `defended`, the others
    are compared with the first candidate alone (`Race`).
    """

    metric: str = "correctness"
    profile: str | None = None
    confidence: float = 0.95
    within: float = 0.0
    front: Literal["cost", "latency"] | None = None
    max_calls: int | None = None
    seed: int = 0
    repeats: int = 1
    screen: Literal["retrieval"] | None = None
    defended: bool = False

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"--confidence {self.confidence:g}: expected a number from 0.5 to below 1")
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise UsageError(f"--repeats {self.repeats}: expected a number from 1 to {MOST_REPEATS}")
        if not 0 <= self.within < 1:
            raise UsageError(f"--within {self.within:g}: expected a number from 0 to below 1")
        if self.within and self.front:
            raise UsageError("--within looks for one candidate, and --front for several: use one of them")

    @property
    def alpha(self) -> float:
        """The greatest probability of dropping the best."""
        return 1 - self.confidence


@dataclass(frozen=True)
class Candidate:
    """A candidate: its run, what it answered and what that took. `cost` is what was paid for it, in US
    dollars, with embedding and judging. `cost_each` and `latency` are the dollars and seconds of an answer,
    with those of replies that were shared with other candidates and paid there; `None` where they are not
    known. `retrieval` is its nDCG@10 of gold pages on all questions, with `screen`."""

    name: str
    run: str
    cell: Mapping[str, str] = field(default_factory=dict)
    asked: int = 0
    failed: int = 0
    cost: float | None = None
    cost_each: float | None = None
    latency: float | None = None
    retrieval: float | None = None


@dataclass(frozen=True)
class Standing:
    """Where a candidate stands. `value` estimates the overall figure from the questions asked; `on_these` and
    `on_new` are its intervals for these questions and for new ones. `behind` is the interval of how far the
    best leads on new questions, and `to_settle` about how many questions would tell both apart, if that can
    be said. `dropped_at` is the number of questions after which it was dropped."""

    candidate: Candidate
    value: float
    on_these: Interval
    on_new: Interval
    behind: Interval | None
    to_settle: int | None
    dropped_at: int | None
    unknown: int = 0

    @property
    def is_apart(self) -> bool:
        """Whether the best is surely better on new questions."""
        return self.behind is not None and self.behind[0] > 0


@dataclass(frozen=True)
class Effect:
    """What a value of an axis adds to the figure, beside the first value of the axis: the mean difference of
    candidates that differ in this alone, on the `questions` that both were asked, and its interval for new
    questions. `pairs` is the number of these pairs."""

    axis: str
    value: str
    beside: str
    difference: float
    interval: Interval
    questions: int
    pairs: int


@dataclass(frozen=True)
class Result:
    """The result of a race. `standings` are in order, the best first; `is_decided` says that no other can be
    better on these questions, and `stopped` what ended the race before: budget, calls or signal."""

    best: Standing
    standings: tuple[Standing, ...]
    effects: tuple[Effect, ...]
    asked: int
    questions: int
    calls: int
    whole: int
    cost: float | None
    is_decided: bool
    stopped: str | None
    settings: Settings

    @property
    def not_apart(self) -> tuple[Standing, ...]:
        """The candidates that may be as good as the best one for new questions."""
        return tuple(one for one in self.standings[1:] if not one.is_apart)

    @property
    def front(self) -> tuple[Standing, ...]:
        """The candidates that none is both no dearer and better than, the cheapest first; empty where costs
        are not known. Figures of dropped candidates rest on the questions they were asked."""
        priced = [one for one in self.standings if one.candidate.cost_each is not None]
        ranked = sorted(priced, key=lambda one: (one.candidate.cost_each or 0.0, -one.value))
        found: list[Standing] = []
        for one in ranked:
            if not found or one.value > found[-1].value:
                found.append(one)
        return tuple(found)


def result_of(
    race: Race,
    order: Order,
    scores: Array,
    candidates: Sequence[Candidate],
    settings: Settings,
    stopped: str | None,
    *,
    flipped: bool = False,
) -> Result:
    """Sum up a race over the scores of candidates, in the order of their questions; `flipped` scores are 1
    less the figure that is shown."""
    best = race.best()
    ordered = scores[:, order.positions]
    counts = [race.dropped_at[number] or race.done for number in range(len(candidates))]
    standings = [
        _standing(number, best, ordered, counts, order, race, candidates[number], settings, flipped=flipped)
        for number in range(len(candidates))
    ]
    ranked = sorted(
        standings,
        key=lambda one: (
            one.candidate is not candidates[best],
            one.dropped_at is not None,
            -(one.dropped_at or 0),
            one.value if flipped else -one.value,
        ),
    )
    costs = [one.cost for one in candidates]
    return Result(
        best=ranked[0],
        standings=tuple(ranked),
        effects=tuple(_effects(candidates, ordered, counts, order, settings.alpha, flipped=flipped)),
        asked=race.done,
        questions=len(order),
        calls=sum(one.asked for one in candidates),
        whole=len(order) * len(candidates) * settings.repeats,
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        is_decided=stopped is None,
        stopped=stopped,
        settings=settings,
    )


def _standing(
    number: int,
    best: int,
    ordered: Array,
    counts: Sequence[int],
    order: Order,
    race: Race,
    candidate: Candidate,
    settings: Settings,
    *,
    flipped: bool,
) -> Standing:
    """Return where one candidate stands after the race."""
    count = counts[number]
    row = ordered[number, :count]
    known = ~np.isnan(row)
    filled = np.where(known, row, 0.5)
    strata, categories = order.strata[:count], int(order.strata.max()) + 1
    low, high = mean_of_these(filled, order.weights, settings.alpha)
    missing = float(order.weights[:count] @ ~known)
    these = (max(0.0, low - missing / 2), min(1.0, high + missing / 2))
    new = on_new(row[known], strata[known], categories, settings.alpha)
    behind = settle = None
    if number != best:
        both = known & ~np.isnan(ordered[best, :count])
        gaps = ordered[best, :count][both] - row[both]
        level = settings.alpha / max(1, len(counts) - 1)
        behind = difference_on_new(gaps, strata[both], categories, level)
        settle = questions_to_settle(gaps, strata[both], level) if behind[0] <= 0 else None
    return Standing(
        candidate=candidate,
        value=_shown((race.figure(number),) * 2, flipped)[0],
        on_these=_shown(these, flipped),
        on_new=_shown(new, flipped),
        behind=behind,
        to_settle=settle,
        dropped_at=race.dropped_at[number],
        unknown=int((~known).sum()),
    )


def _shown(interval: Interval, flipped: bool) -> Interval:
    """An interval as it is shown, where less may be better."""
    return (1 - interval[1], 1 - interval[0]) if flipped else interval


def _effects(
    candidates: Sequence[Candidate],
    ordered: Array,
    counts: Sequence[int],
    order: Order,
    alpha: float,
    *,
    flipped: bool,
) -> list[Effect]:
    """What each value of each axis adds, from pairs of candidates that differ in it alone."""
    found = []
    axes = dict.fromkeys(axis for one in candidates for axis in one.cell if axis != CONFIG)
    for axis in axes:
        values = list(dict.fromkeys(one.cell[axis] for one in candidates if axis in one.cell))
        first, *others = values
        for value in others:
            pairs = [
                (ours, theirs)
                for ours, one in enumerate(candidates)
                for theirs, other in enumerate(candidates)
                if one.cell.get(axis) == value and other.cell == {**one.cell, axis: first}
            ]
            if not pairs:
                continue
            count = min(min(counts[ours], counts[theirs]) for ours, theirs in pairs)
            rows = [ordered[ours, :count] - ordered[theirs, :count] for ours, theirs in pairs]
            gaps = np.mean(np.nan_to_num(rows), axis=0)
            gaps = -gaps if flipped else gaps
            strata = order.strata[:count]
            interval = difference_on_new(gaps, strata, int(order.strata.max()) + 1, alpha)
            means = [gaps[strata == code].mean() for code in np.unique(strata)]
            found.append(Effect(axis, value, first, float(np.mean(means)), interval, count, len(pairs)))
    return found


def on_new(scores: Array, strata: Codes, categories: int, alpha: float = 0.05) -> tuple[float, float]:
    """The interval of the overall figure for new questions of the same categories, whenever one stops asking,
    from the scores of the questions asked. A category without any may have any mean."""
    present = [scores[strata == code] for code in np.unique(strata)]
    if not present:
        return 0.0, 1.0
    confidence = 1 - 2 * float(special().ndtr(-_quantile(len(scores), alpha)))
    found = stratified_interval(present, np.full(len(present), 1 / len(present)), confidence=confidence)
    seen = len(present) / categories
    return seen * found.low, seen * found.high + (1 - seen)


def difference_on_new(
    differences: Array, strata: Codes, categories: int, alpha: float = 0.05
) -> tuple[float, float]:
    """The interval of the difference between the overall figures of two candidates for new questions,
    whenever one stops asking, from the differences on the questions that both were asked."""
    if not len(differences):
        return -1.0, 1.0
    low, high = bounds(pair(differences, macro_weights(strata)), _quantile(len(differences), alpha))
    seen = len(np.unique(strata)) / categories
    return seen * float(low) - (1 - seen), seen * float(high) + (1 - seen)


def questions_to_settle(
    differences: Array, strata: Codes, alpha: float = 0.05, most: int = 100_000
) -> int | None:
    """About how many questions would tell the mean difference that was found from 0; `None` for more than
    `most`, or where there is no difference."""
    if not len(differences):
        return None
    found = pair(differences, macro_weights(strata))
    lead, spread = abs(float(found.mean)), float(found.error) * math.sqrt(len(differences))

    def is_enough(count: int) -> bool:
        return _quantile(count, alpha) * spread <= lead * math.sqrt(count)

    low, high = 1, most
    if not is_enough(most):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def _quantile(count: int, alpha: float) -> float:
    """Half the width of an interval after `count` questions, in standard errors, if it has to hold after any
    number of questions: the normal mixture (Robbins 1970; Waudby-Smith et al. 2021)."""
    ratio = (count + _HORIZON) / count
    return math.sqrt(ratio * math.log((count + _HORIZON) / (_HORIZON * alpha**2)))
