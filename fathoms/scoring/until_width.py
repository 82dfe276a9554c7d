"""Judges a metric only until its interval is narrow enough: `fathoms score --until-width`.

Questions are judged in a random order that their ids decide, in which a question comes next with a
probability in proportion to what it weighs in the figure. The interval holds whenever one stops
(`stats.betting`): it is that of the figure if all were judged.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING

from fathoms.errors import UsageError
from fathoms.judges import Judge
from fathoms.judges.asking import Judged, Spending
from fathoms.judges.forecast import Narrowing
from fathoms.judges.of_run import Judging, judge_run
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.pooled_f1 import UNKNOWN
from fathoms.metrics.score_records import RecordScore
from fathoms.metrics.score_records import judge as classified
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.usage import total
from fathoms.scoring.questions import TOGETHER, Rules
from fathoms.types import Record
from fathoms.types.run.figures import MetricFigures, PeopleFigures, StoppedEarly, range_of

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

FIRST = 20
"""So many questions are judged before the first look at the interval."""
MORE = 0.05
"""The share of the questions so far that is judged before the next look."""
NO_VALUE = 0.02
"""For a mean of categories, the largest share of judged questions that turn out to have no value: what a
question weighs there depends on how many of its category have one."""
Ends = tuple[float, float]
"""The least and the greatest value that a question may have, given what has no verdict; NaN without one."""


@dataclass(frozen=True)
class Stopped:
    """The questions for which a metric was not judged on purpose, and the interval of its figure."""

    left_out: frozenset[str]
    figure: StoppedEarly

    def shown(self, found: MetricFigures) -> MetricFigures:
        """Return the figures of the metric with this interval. The categories have intervals of their own,
        and the mean over all questions is only known where it is the figure."""
        ends = {"low": self.figure.low, "high": self.figure.high, "method": "betting"}
        overall = found.overall.model_copy(update=ends)
        is_micro = found.pooling == "questions" or len(found.categories) < 2
        why = "the metric was judged for a part of the answers (--until-width)"
        people = found.people and PeopleFigures(answers=found.people.answers, why=why)
        micro = overall if is_micro else UNKNOWN
        more = {"overall": overall, "micro": micro, "people": people, "until": self.figure}
        return found.model_copy(update=more)


@dataclass
class Until:
    """What judging until an interval is narrow needs besides a judge: the `entries` of the questions of a run
    and the rules of their scores. It collects the metrics that were `stopped`."""

    width: float
    entries: Mapping[str, Sequence[Entry]]
    rules: Rules
    stopped: dict[str, Stopped] = field(default_factory=dict)

    def judge(
        self, run: Run, judge: Judge, metrics: Sequence[JudgedMetric], how: Judging
    ) -> tuple[Judged, Spending]:
        """Judge each metric until its interval is narrow enough, all is judged, or the budget is spent.
        Raises UsageError for a metric whose figure has no such interval."""
        for metric in metrics:
            if metric.pooling not in ("categories", "questions") or range_of(metric.measured_in) is None:
                raise UsageError(f"--until-width needs means of values with bounds: {metric.name} is none")
        judged, spending = Judged(), Spending(how.max_cost)
        for metric in metrics:
            self._judge(run, judge, metric, how, judged, spending)
        return judged, spending

    def _judge(
        self, run: Run, judge: Judge, metric: JudgedMetric, how: Judging, judged: Judged, spending: Spending
    ) -> None:
        """Judge one metric, and add what was found and what it took."""
        order, weights = self._order(run, metric)
        known: list[Ends] = []
        seen: Narrowing | None = None
        before, paid_for = spending.cost, 0
        while len(known) < len(order):
            count = max(FIRST - len(known), math.ceil(MORE * len(known)))
            if spending.is_spent:  # what the run holds already counts all the same
                count = len(order)
            questions = order[len(known) : len(known) + count]
            calls, read = spending.calls, partial(self._read, run, questions)
            part = _part(how, spending, (len(known), len(questions), len(order)), seen)
            _add(judged, spending, *judge_run(run, judge, [metric], read, part))
            known += self._ends(run, metric, questions, judged)
            low, high = _interval(metric, known, weights)
            if spending.is_spent:
                continue
            paid_for += len(questions) if spending.calls > calls else 0
            paid = None if spending.cost is None or before is None else spending.cost - before
            each = paid / paid_for if paid and paid_for else None
            seen = Narrowing(metric.name, len(known), len(order), high - low, self.width, each)
            how.on_narrower(len(known), len(known) + seen.more, seen.sentence)
            if high - low > self.width or not _may_stop(metric, known):
                continue
            if left := frozenset(order[len(known) :]):
                figure = StoppedEarly(judged=len(known), of=len(order), width=self.width, low=low, high=high)
                self.stopped[metric.name] = Stopped(left, figure)
                seen = seen._replace(wanted=seen.width / 2)
            break
        if seen is not None and seen.judged < seen.of:
            how.on_forecast(seen)

    def _read(self, run: Run, questions: Sequence[str]) -> Iterator[Record]:
        """Read the records of some questions."""
        return run.records.read(entry for question in questions for entry in self.entries[question])

    def _scored(
        self, run: Run, metric: JudgedMetric, questions: Sequence[str], judged: Judged
    ) -> Iterator[tuple[Record, Ends, bool]]:
        """Yield each record of some questions, the ends of its value, and whether the judge decides it."""
        rules, records = self.rules, self._read(run, questions)
        while some := list(islice(records, TOGETHER)):
            known = classified(
                some, rules.scoring, {}, rules.profiles, {}, rules.imported, rules.retrieval_only
            )
            for record in some:
                scores = known.row(record).get(rules.profile) or RecordScore()
                found = (judged.claims, judged.verdicts, judged.unjudged, rules.retrieval_only)
                yield record, *_ends(metric, Facts(record, scores, *found))

    def _order(self, run: Run, metric: JudgedMetric) -> tuple[list[str], NDArray[float64]]:
        """Return the questions that may have a value in the order in which they are judged, with what each
        weighs in the figure."""
        import numpy as np

        originals = [question for question in self.entries if question not in self.rules.variants]
        found: dict[str, str] = {}
        for record, ends, needs in self._scored(run, metric, originals, Judged()):
            if needs or not math.isnan(ends[0]):
                found[record.question.id] = record.question.category if metric.pooling == "categories" else ""
        sizes = Counter(found.values())
        weights = {question: 1 / (len(sizes) * sizes[category]) for question, category in found.items()}
        order = sorted(
            weights, key=lambda question: (-math.log(_lot(question)) / weights[question], question)
        )
        return order, np.array([weights[question] for question in order])

    def _ends(self, run: Run, metric: JudgedMetric, questions: Sequence[str], judged: Judged) -> list[Ends]:
        """Return the ends of the mean of each question over its repeats."""
        found: dict[str, list[Ends]] = {question: [] for question in questions}
        for record, ends, _ in self._scored(run, metric, questions, judged):
            if not math.isnan(ends[0]):
                found[record.question.id].append(ends)
        return [
            (fmean(low for low, _ in ends), fmean(high for _, high in ends)) if ends else (math.nan, math.nan)
            for ends in found.values()
        ]


def _part(how: Judging, spending: Spending, sizes: tuple[int, int, int], seen: Narrowing | None) -> Judging:
    """Return how some questions are judged within what is left to spend. `sizes` are the questions judged so
    far, those of this part, and all; progress counts them up to what the interval needs, as it was `seen`."""
    limit = how.max_cost and (-1.0 if spending.is_spent else how.max_cost - (spending.cost or 0.0))
    before, count, of = sizes
    goal, said = (seen.judged + seen.more, seen.sentence) if seen else (of, "")

    def step(done: int, total: int) -> None:
        now = before + count * done // max(total, 1)
        how.on_narrower(now, max(goal, now), said)

    return replace(how, max_cost=limit, on_forecast=lambda forecast: None, on_done=step)


def _ends(metric: JudgedMetric, facts: Facts) -> tuple[Ends, bool]:
    """Return the ends of the value of a record, and whether the judge decides it."""
    score = metric.of(facts)
    if not score.parts.get("unjudged"):
        value = math.nan if score.value is None else score.value
        return (value, value), False
    ends = range_of(metric.measured_in) or (0.0, 1.0)
    known = (score.parts.get("lowest"), score.parts.get("highest"))
    low, high = (end if one is None else one for one, end in zip(known, ends, strict=True))
    return (low, high), True


def _interval(metric: JudgedMetric, known: Sequence[Ends], weights: NDArray[float64]) -> Ends:
    """Return the interval of the figure if all questions were judged, on the scale of the metric."""
    import numpy as np

    from fathoms.stats.betting import mean_of_these

    low, high = range_of(metric.measured_in) or (0.0, 1.0)
    lows, highs = ((np.array(side) - low) / (high - low) for side in zip(*known, strict=True))
    ends = mean_of_these(lows, weights)[0], mean_of_these(highs, weights)[1]
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def _may_stop(metric: JudgedMetric, known: Sequence[Ends]) -> bool:
    """Return whether the interval is that of the figure; see `NO_VALUE`."""
    without = sum(math.isnan(low) for low, _ in known)
    return metric.pooling == "questions" or without <= NO_VALUE * len(known)


def _add(judged: Judged, spending: Spending, more: Judged, spent: Spending) -> None:
    """Add the results of judging some questions and what they took to those of others."""
    for name in ("claims", "verdicts", "unjudged", "lists"):
        getattr(judged, name).update(getattr(more, name))
    for name in ("calls", "found", "failed", "again", "reread", "retried"):
        setattr(spending, name, getattr(spending, name) + getattr(spent, name))
    spending.cost = total([spending.cost, spent.cost])
    spending.is_spent = spending.is_spent or spent.is_spent
    spending.damaged = max(spending.damaged, spent.damaged)
    spending.retries = dict(Counter(spending.retries) + Counter(spent.retries))


def _lot(question: str) -> float:
    """Return a pseudo-random number in (0, 1) for a question, the same in all runs."""
    name = repr(("until-width", question)).encode("utf-8", "replace")
    return (int.from_bytes(hashlib.sha256(name).digest()[:6]) + 0.5) / 2**48
