"""Pool the scores of one metric over a run into figures with 95 % confidence intervals.

Repeats are averaged within their question. By default questions are averaged within their category, and the
overall figure is the unweighted mean of the categories. A metric may instead be averaged over all questions,
or be a ratio of counts that are added up over all answers, or the F1 or the mean of two such ratios
(`Metric.pooling`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.metrics.aggregate import mean
from fathoms.metrics.columns import Column, averaged, packed, renumbered, unpacked
from fathoms.metrics.intervals import overall_intervals, plain_interval, shares_of
from fathoms.metrics.metric import Facts, JudgedMetric, Metric, Pooling, shared_score
from fathoms.metrics.people import ByPeople, Labels
from fathoms.metrics.pooled_f1 import UNKNOWN, F1Pool, f1_bounds, f1_figure
from fathoms.metrics.question_facts import NumberedQuestions, QuestionFacts
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Score
from fathoms.types.run.figures import (
    Bounds,
    JudgedItems,
    MetricFigure,
    MetricFigures,
    PeopleFigures,
    range_of,
)
from fathoms.types.run.part import MADE

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

    from fathoms.metrics.columns import Codes, Values
    from fathoms.stats.f1_interval import Mean
    from fathoms.stats.intervals import Interval

Ends = tuple[float, float] | None
"""The lowest and the highest value of a metric, `None` if it has no bounds."""
_NONE = float("nan")
_COLUMNS = ("values", "tops", "bottoms", "lowest", "highest")


class JudgedBy(NamedTuple):
    """Who gave the verdicts that a metric rests on: the name of the judge, a fingerprint of what decides
    them, the prompts with their versions, and how well such verdicts agreed with people, if that was
    checked."""

    name: str
    key: str
    prompts: tuple[str, ...] = ()
    checked: Mapping[str, Any] | None = None


class Pooled(NamedTuple):
    """The figures of the values of some questions: over all of them by the rule of the metric (`overall`),
    over all of them alike (`micro`), and by category."""

    overall: MetricFigure
    micro: MetricFigure
    categories: dict[str, MetricFigure]


class Pool:
    """Collects the scores of one metric, record by record, and turns them into figures.

    `questions` can be shared by the pools of a run. The scores are stored in arrays, 12 bytes each and 16
    more for a ratio of counts, in which NaN stands for `None`.
    """

    def __init__(self, metric: Metric, questions: NumberedQuestions | None = None) -> None:
        self.metric = metric
        self._adds_counts = metric.pooling == "counts"
        self._adds_f1_counts = metric.pooling in ("f1", "mean-of-ratios")
        self._is_judged = isinstance(metric, JudgedMetric)
        self._columns = metric.cells
        kind = type(metric)
        self._has_parts = bool(metric.halves) or (kind.apart, kind.counted) != (Metric.apart, Metric.counted)
        self._questions = NumberedQuestions() if questions is None else questions
        self._numbers = array("i")
        self._values = array("d")
        self._tops, self._bottoms = array("d"), array("d")
        self._f1 = F1Pool()
        self._lowest, self._highest = array("d"), array("d")
        self._lacking: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._parts: dict[str, Pool] = {}
        self._cells: Counter[tuple[str, ...]] = Counter()
        self._items = self._unjudged = self._failed = 0
        self._by_people: ByPeople | None = None

    def add(self, question: QuestionFacts, score: Score) -> None:
        """Add the score of one record."""
        self.add_all([self._questions.number(question)], [score])

    def add_all(self, numbers: Sequence[int], scores: Sequence[Score]) -> None:
        """Add the scores of some records, given with the numbers of their questions in `questions`. Where
        many of them are one object, this is faster than one at a time."""
        self._numbers.extend(numbers)
        self._values.extend([_NONE if score.value is None else score.value for score in scores])
        counts = Counter(map(id, scores))
        for score in {id(score): score for score in scores}.values():
            if score.why:
                self._failed += counts[id(score)] * ("failed" in score.why)
                if lacking := score.why.get("lacks"):
                    self._lacking[str(lacking)] += counts[id(score)]
        if self._adds_counts or self._adds_f1_counts or self._is_judged:
            self._add_counts(numbers, scores)
        if self._columns or self._has_parts:
            for number, score in zip(numbers, scores, strict=True):
                self._add_reasons(number, score)

    def _add_counts(self, numbers: Sequence[int], scores: Sequence[Score]) -> None:
        """Add what a ratio of counts adds up of some scores, and what of them was not judged."""
        for number, score in zip(numbers, scores, strict=True):
            if self._adds_counts:
                top, bottom = self.metric.ratio(score) or (_NONE, _NONE)
                self._tops.append(top)
                self._bottoms.append(bottom)
            if self._adds_f1_counts and (counts := self.metric.f1_counts(score)):
                self._f1.add(number, counts)
            if self._is_judged:
                parts = score.parts
                self._items += int(parts.get("claims") or parts.get("items") or 0)
                self._unjudged += int(parts.get("unjudged") or 0)
                for name, found in (("lowest", self._lowest), ("highest", self._highest)):
                    value = parts.get(name)
                    found.append(_NONE if value is None else value)

    def _add_reasons(self, number: int, score: Score) -> None:
        """Count the cell of a score in the cross table, and add its parts to their own pools."""
        why = score.why
        if self._columns and self._columns[0] in why:
            cell = [str(why[key]) for key in self._columns]
            self._cells[self._questions[number].category, *cell] += 1
        if score.parts and self._has_parts:
            self._counted.update(self.metric.counted(score))
            for name, value in self.metric.apart(score).items():
                self._part(name).add_all([number], [shared_score(name, value)])

    def add_labels(self, number: int, facts: Facts, score: Score, labels: Labels) -> None:
        """Add what people said of a record of a judged metric, with the number of its question and its score
        by the judge."""
        if isinstance(self.metric, JudgedMetric):
            self._by_people = self._by_people or ByPeople(self.metric, labels)
            self._by_people.add(number, facts, score)

    def leave_out(self, lacking: str, count: int = 1) -> None:
        """Count records whose question lacks what the metric needs, without adding their scores."""
        if count:
            self._lacking[lacking] += count

    def _part(self, name: str) -> Pool:
        """Return the pool of a part of the scores."""
        if name not in self._parts:
            self._parts[name] = Pool(self.metric, self._questions)
        return self._parts[name]

    def state(self) -> dict[str, Any]:
        """Return everything that was added, except for labels of people, as JSON values for `extend`."""
        return {
            "numbers": packed(self._numbers),
            **{name: packed(getattr(self, f"_{name}")) for name in _COLUMNS},
            "f1": self._f1.state(),
            "lacking": self._lacking,
            "counted": self._counted,
            "parts": {name: part.state() for name, part in self._parts.items()},
            "cells": list(self._cells.items()),
            "items": [self._items, self._unjudged, self._failed],
        }

    def extend(self, state: Mapping[str, Any], numbers: Sequence[int]) -> None:
        """Add what another process has pooled; `numbers` are those of its questions here."""
        self._numbers += renumbered(state["numbers"], self._numbers, numbers)
        for name in _COLUMNS:
            column = getattr(self, f"_{name}")
            column.extend(unpacked(state[name], column))
        self._f1.extend(state["f1"], numbers)
        self._lacking.update(state["lacking"])
        self._counted.update(state["counted"])
        for name, part in state["parts"].items():
            self._part(name).extend(part, numbers)
        self._cells.update({tuple(cell): count for cell, count in state["cells"]})
        items, unjudged, failed = state["items"]
        self._items += items
        self._unjudged += unjudged
        self._failed += failed

    def figures(self, judge: JudgedBy | None = None) -> MetricFigures:
        """Return the figures of the metric as the summary stores them; `judge` is who gave the verdicts, if
        the metric rests on any. The parts are pooled apart, as means over all questions."""
        metric = self.metric
        if self._failed and self._failed == len(self._values):
            # what every failed call counts as is no figure of the pipeline
            self._values = array("d", [_NONE] * len(self._values))
        if not (isinstance(metric, JudgedMetric) or any("judge" in cell[1:] for cell in self._cells)):
            judge = None
        is_judged = isinstance(metric, JudgedMetric)
        by_person = bool(judge and judge.checked and judge.checked.get("people"))
        where_known = {
            "prompts": judge and judge.prompts,
            "checked": judge and judge.checked,
            "judged": self._judged() if is_judged else None,
            "people": self._people() if is_judged and (self._by_people or not by_person) else None,
            "splits": isinstance(metric, JudgedMetric) and metric.splits,
            "cells": self._counted_cells(),
            "group": metric.group,
            "parts": self._figures_of_parts(),
            "counted": dict(self._counted),
        }
        found = {
            "direction": metric.better,
            "unit": metric.measured_in,
            "pooling": metric.pooling,
            "headline": metric.is_headline,
            "judge": judge.name if judge else None,
            "rules": fingerprint(metric.identity(), *([judge.key] if judge else [])),
            "missing": self._missing(),
            **{key: value for key, value in where_known.items() if value},
            **self._pooled(metric.pooling)._asdict(),
        }
        return MetricFigures.model_validate(found, context=MADE)

    def _figures_of_parts(self) -> dict[str, MetricFigure]:
        """Return the mean of each part over the questions that have it."""
        return {name: part._pooled("questions").overall for name, part in sorted(self._parts.items())}

    def column(self) -> Column:
        """Return the mean of each question over its repeats, in the order of the questions' numbers."""
        return averaged(self._questions, self._numbers, self._values)

    def _pooled(self, pooling: Pooling) -> Pooled:
        """Return the figures over all questions and by category."""
        if pooling in ("categories", "questions"):
            return pooled(self.column(), pooling, self.metric.measured_in, self._questions.weights)
        found = self._pooled_counts() if pooling == "counts" else self._pooled_f1(pooling)
        return found._replace(overall=UNKNOWN, micro=UNKNOWN) if self._questions.weights else found

    def _pooled_counts(self) -> Pooled:
        """Return the ratio of counts over all questions and by category."""
        counts = averaged(self._questions, self._numbers, self._tops)
        ratios = self._ratios()
        overall = _ratio(ratios, self.metric.hit_weight)
        categories = {
            name: _ratio(ratios.take(places), self.metric.hit_weight)
            for name, places in counts.places().items()
        }
        return Pooled(overall, overall, categories)

    def _pooled_f1(self, pooling: Pooling) -> Pooled:
        """Return the mean of pooled precision and recall over all questions and by category."""
        import numpy as np

        how: Mean = "harmonic" if pooling == "f1" else "arithmetic"
        rows = self._f1.by_question(len(self._questions))[np.unique(self._numbers)]
        overall = f1_figure(rows, how)
        categories = {name: f1_figure(rows[places], how) for name, places in self.column().places().items()}
        return Pooled(overall, overall, categories)

    def _ratios(self) -> _Ratios:
        """Return the counts of each question, in the order of the questions' numbers."""
        import numpy as np

        tops, bottoms = np.array(self._tops), np.array(self._bottoms)
        number = np.array(self._numbers)
        repeats = np.bincount(number)
        counted = tops == tops
        own = number[counted], len(repeats)
        largest = np.zeros(len(repeats))
        sizes = tops / self.metric.hit_weight + bottoms - tops
        np.maximum.at(largest, own[0], sizes[counted])
        tops, bottoms = (
            np.bincount(own[0], counts[counted], own[1]).astype(float) for counts in (tops, bottoms)
        )
        found = _Ratios(tops, bottoms, np.bincount(own[0], minlength=own[1]) > 0, repeats, largest)
        return found.take(repeats > 0)

    @property
    def applies_to_none(self) -> bool:
        """Whether no score was added that has a value."""
        return not self._tops and not self._f1 and all(value != value for value in self._values)

    def _counted_cells(self) -> list[dict[str, Any]]:
        """Return the cells of the cross table, by category."""
        keys = ("category", *self.metric.cells)
        return [dict(zip(keys, cell, strict=True)) | {"n": n} for cell, n in sorted(self._cells.items())]

    def _judged(self) -> JudgedItems:
        """Return how many items were to be judged, how many were not (`unjudged`), and the mean of the
        questions if all unjudged items were wrong (`lowest`) or right (`highest`), taken as the figure is."""
        lowest, highest = map(self._bound, (self._lowest, self._highest))
        if self._f1:
            lowest, highest = f1_bounds(self._f1.by_question(len(self._questions)))
        return JudgedItems(items=self._items, unjudged=self._unjudged, lowest=lowest, highest=highest)

    def _bound(self, ends: array[float]) -> float | None:
        """Return the mean of the lowest or highest values, over the questions or their categories."""
        known = averaged(self._questions, self._numbers, ends).known()
        parts = {name: part for name, part in known.by_category().items() if len(part)}
        if self.metric.pooling == "categories":
            return mean(part.mean() for part in parts.values())
        return _weighted(parts, known, self._questions.weights)

    def _people(self) -> PeopleFigures:
        """Return what the labels of people make of the figures; see `ByPeople.figures`."""
        import numpy as np

        column = self.column()
        if self._by_people is None or self._questions.weights:
            why = (
                "the questions are a weighted sample"
                if self._by_people
                else "people have labelled none of the answers"
            )
            return PeopleFigures(labels=0, answers=column.count(), why=why)
        ends = None if self._adds_counts else range_of(self.metric.measured_in)
        numbers = np.unique(np.asarray(self._numbers))
        return self._by_people.figures(numbers, column, ends, self.metric.pooling == "categories")

    def _missing(self) -> str | None:
        """Say in one sentence why the metric applies to no record; `None` if it applies to any."""
        if self._questions.weights and self.metric.pooling not in ("categories", "questions"):
            return (
                f"{self.metric.name} adds up counts, and has no figure over all questions of a weighted"
                " sample, only those by category"
            )
        if self._f1 or not all(value != value for column in (self._values, self._tops) for value in column):
            return None
        if not self._lacking:
            return f"{self.metric.name} applies to none of the answers"
        # failed calls have no answer, but that is the reason only if all calls failed
        what = max(self._lacking, key=lambda name: (name != "an answer", self._lacking[name]))
        return f"{self.metric.name} needs {what}, which no record of this run has"


class _Ratios(NamedTuple):
    """The counts of questions: their numerators and denominators, added up over the repeats; whether any
    repeat counts; the number of repeats; and the most hits and misses of a repeat."""

    tops: Values
    bottoms: Values
    counted: NDArray[bool_]
    repeats: Codes
    largest: Values

    def take(self, places: NDArray[Any]) -> _Ratios:
        """Return the counts of the questions at some places, or of those that a mask selects."""
        return _Ratios(*(column[places] for column in self))


def pooled(column: Column, pooling: Pooling, unit: str, weights: Mapping[str, float] | None = None) -> Pooled:
    """Return the figures of the values of some questions, which are no counts; the categories are in order of
    appearance. `weights` say for how many questions each one of a category stands."""
    known, ends = column.known(), range_of(unit)
    if ends and not ((ends[0] <= known.values) & (known.values <= ends[1])).all():
        ends = None
    parts = {name: part.known() for name, part in column.by_category().items()}
    overall, micro = _overall(parts, known, ends, weights or {})
    categories = {name: _mean(part, ends) for name, part in parts.items()}
    return Pooled(micro if pooling == "questions" else overall, micro, categories)


def _figure(value: float | None, n: int, interval: Interval | None) -> MetricFigure:
    """Return a figure with its bounds, which are `None` if there is no interval."""
    low, high, method = interval or (None, None, None)
    return MetricFigure(value=value, low=low, high=high, method=method, n=n)


def _mean(known: Column, ends: Ends) -> MetricFigure:
    """Return the mean over the questions of one category."""
    if ends is None:
        return _figure(known.mean(), len(known), _unbounded([known], [1.0]))
    return _figure(known.mean(), len(known), _scaled(plain_interval(_in_unit(known, ends)), ends))


def _overall(
    categories: Mapping[str, Column], known: Column, ends: Ends, weights: Mapping[str, float]
) -> tuple[MetricFigure, MetricFigure]:
    """Return the mean of the category means (macro) and the mean over all questions (micro)."""
    named = {name: part for name, part in categories.items() if len(part)}
    strata = list(named.values())
    macro: Interval | None = None
    micro: Interval | None = None
    if ends:
        found = overall_intervals({name: _in_unit(part, ends) for name, part in categories.items()}, weights)
        macro, micro = (_scaled(interval, ends) for interval in found)
    elif strata:
        macro = _unbounded(strata, [1 / len(strata)] * len(strata))
        micro = _unbounded(strata, list(shares_of(named, weights).values()))
    of_means = mean(part.mean() for part in strata)
    value = _weighted(named, known, weights)
    return _figure(of_means, len(known), macro), _figure(value, len(known), micro)


def _weighted(categories: Mapping[str, Column], known: Column, weights: Mapping[str, float]) -> float | None:
    """Return the mean over all questions, weighted by the weights of their categories."""
    if not weights or not categories:
        return known.mean()
    shares = shares_of(categories, weights)
    return sum(share * (categories[name].mean() or 0.0) for name, share in shares.items())


def _in_unit(known: Column, ends: tuple[float, float]) -> Column:
    """Return the values on a scale from 0 to 1, on which the intervals are computed."""
    low, high = ends
    return replace(known, values=(known.values - low) / (high - low))


def _scaled(interval: Bounds | None, ends: tuple[float, float]) -> Interval | None:
    """Return the interval on the scale of the metric."""
    from fathoms.stats.intervals import Interval

    if interval is None:
        return None
    low, high = ends
    scaled = [low + (high - low) * end for end in interval.pair]
    return Interval(scaled[0], scaled[1], str(interval.method))


def _unbounded(strata: Sequence[Column], weights: Sequence[float]) -> Interval | None:
    """Return the interval of a weighted mean of means of values without bounds, such as seconds.

    `None` where `log_t_interval` has none: for few questions, and if all values are equal.
    """
    import numpy as np

    from fathoms.stats.intervals import log_t_interval

    arrays = [known.values for known in strata if len(known)]
    return log_t_interval(arrays, np.array(weights)) if arrays else None


def _ratio(ratios: _Ratios, hit_weight: float) -> MetricFigure:
    """Return the ratio of counts added up over some questions."""
    from fathoms.stats.intervals import ratio_interval

    counted = ratios.take(ratios.counted)
    bottom = float(counted.bottoms.sum())
    if not bottom:
        return UNKNOWN
    most = float(counted.largest.max() * counted.repeats.max())
    interval = ratio_interval(counted.tops, counted.bottoms, hit_weight, most)
    return _figure(float(counted.tops.sum()) / bottom, len(counted.tops), interval)
