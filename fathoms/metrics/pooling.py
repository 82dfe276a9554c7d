"""Pool the scores of one metric over a run into figures with 95 % confidence intervals.

Repeats are averaged within their question. By default questions are averaged within their category, and the
overall figure is the unweighted mean of the categories. A metric may instead be averaged over all questions,
or be a ratio of counts that are added up over all answers (`Metric.pooling`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fathoms.config import fingerprint
from fathoms.metrics.aggregate import mean
from fathoms.metrics.asked import Asked, QuestionFacts
from fathoms.metrics.intervals import Sample, mean_intervals, overall_intervals
from fathoms.metrics.metric import JudgedMetric, Metric, Pooling
from fathoms.runs.reading import range_of
from fathoms.types import Score

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Figure = dict[str, Any]
Ends = tuple[float, float] | None
"""The lowest and the highest value of a metric, `None` if it has no bounds."""
_Value = tuple[float, frozenset[str]]
"""The value of a question to which a metric applies, with its gold documents."""
_NONE = float("nan")
_COLUMNS = ("values", "tops", "bottoms")


@dataclass(slots=True)
class QuestionScores:
    """The scores of one question: one per repeat, each with its ratio where the metric adds up counts."""

    category: str
    documents: frozenset[str]
    values: list[float | None] = field(default_factory=list)
    ratios: list[tuple[float, float]] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        """The mean over the repeats to which the metric applies."""
        return self.values[0] if len(self.values) == 1 else mean(self.values)


class Pool:
    """Collects the scores of one metric, record by record, and turns them into figures.

    `asked` can be shared by the pools of a run. The scores are kept in arrays, 12 bytes each and 16 more for
    a ratio of counts, in which NaN stands for `None`.
    """

    def __init__(self, metric: Metric, asked: Asked | None = None) -> None:
        self.metric = metric
        self._asked = Asked() if asked is None else asked
        self._numbers = array("i")
        self._values = array("d")
        self._tops, self._bottoms = array("d"), array("d")
        self._lowest, self._highest = array("d"), array("d")
        self._lacking: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._parts: dict[str, Pool] = {}
        self._cells: Counter[tuple[str, ...]] = Counter()
        self._items = self._unjudged = 0

    def add(self, question: QuestionFacts, score: Score) -> None:
        """Add the score of one record."""
        self._numbers.append(self._asked.number(question))
        self._values.append(_NONE if score.value is None else score.value)
        if self.metric.pooling == "counts":
            top, bottom = self.metric.ratio(score) or (_NONE, _NONE)
            self._tops.append(top)
            self._bottoms.append(bottom)
        if isinstance(self.metric, JudgedMetric):
            self._items += int(score.parts.get("claims") or score.parts.get("items") or 0)
            self._unjudged += int(score.parts.get("unjudged") or 0)
            for name, found in (("lowest", self._lowest), ("highest", self._highest)):
                value = score.parts.get(name)
                found.append(_NONE if value is None else value)
        if self.metric.cells and self.metric.cells[0] in score.why:
            self._cells[question.category, *(str(score.why[key]) for key in self.metric.cells)] += 1
        if lacking := score.why.get("lacks"):
            self._lacking[str(lacking)] += 1
        if score.parts and self.metric.group:
            self._counted.update(self.metric.counted(score))
            for name, value in self.metric.apart(score).items():
                self._part(name).add(question, Score(metric=name, value=value))

    def leave_out(self, lacking: str) -> None:
        """Count a record whose question lacks what the metric needs, without adding its score."""
        self._lacking[lacking] += 1

    def _part(self, name: str) -> Pool:
        """Return the pool of a part of the scores."""
        if name not in self._parts:
            self._parts[name] = Pool(self.metric, self._asked)
        return self._parts[name]

    def state(self) -> dict[str, Any]:
        """Return everything that was added to a pool of a metric without a judge, as JSON values in which
        `None` stands for NaN; for `extend`."""
        columns = {name: getattr(self, f"_{name}") for name in _COLUMNS}
        return {
            "numbers": self._numbers.tolist(),
            **{name: list(map(_known, column)) for name, column in columns.items()},
            "lacking": self._lacking,
            "counted": self._counted,
            "parts": {name: part.state() for name, part in self._parts.items()},
            "cells": list(self._cells.items()),
        }

    def extend(self, state: Mapping[str, Any], numbers: Sequence[int]) -> None:
        """Add what another process has pooled; `numbers` are those of its questions here."""
        self._numbers.extend([numbers[number] for number in state["numbers"]])
        for name in _COLUMNS:
            getattr(self, f"_{name}").extend([_NONE if one is None else one for one in state[name]])
        self._lacking.update(state["lacking"])
        self._counted.update(state["counted"])
        for name, part in state["parts"].items():
            self._part(name).extend(part, numbers)
        self._cells.update({tuple(cell): count for cell, count in state["cells"]})

    def _questions(self) -> list[QuestionScores]:
        """Return the scores by question, in the order in which the questions came."""
        found: dict[int, QuestionScores] = {}
        for index, number in enumerate(self._numbers):
            scores = found.get(number)
            if scores is None:
                asked = self._asked[number]
                scores = found[number] = QuestionScores(asked.category, asked.gold_documents)
            scores.values.append(_known(self._values[index]))
            if self._tops and (top := _known(self._tops[index])) is not None:
                scores.ratios.append((top, self._bottoms[index]))
        return list(found.values())

    def figures(self, judge: tuple[str, str] | None = None) -> dict[str, Any]:
        """Return the figures of the metric as the summary stores them; `judge` are the name of the judge and
        a fingerprint of what decides its verdicts.

        `overall`, `micro` and each of the `categories` hold `value`, `low`, `high` and `n`, the number of
        questions. `missing` says what the run lacks if the metric applies to none of its records. `parts` are
        the figures of the parts that are pooled apart, as means over all questions, and `counted` the counts
        that a reader must know. `cells` are the cells of the cross table of a metric that has
        one, each with its number `n` of answers.
        """
        metric, questions = self.metric, self._questions()
        rests_on_judge = isinstance(metric, JudgedMetric) or any("judge" in cell[1:] for cell in self._cells)
        return {
            "direction": metric.better,
            "unit": metric.measured_in,
            "pooling": metric.pooling,
            "headline": metric.is_headline,
            "judge": judge[0] if judge and rests_on_judge else None,
            "rules": fingerprint(metric.identity(), *(judge[1:] if judge and rests_on_judge else ())),
            "missing": self._missing(questions),
            **({"judged": self._judged()} if isinstance(metric, JudgedMetric) else {}),
            **({"cells": self._counted_cells()} if self._cells else {}),
            **({"group": metric.group} if metric.group else {}),
            **({"parts": self._figures_of_parts()} if self._parts else {}),
            **({"counted": dict(self._counted)} if self._counted else {}),
            **pooled(questions, metric.pooling, metric.measured_in, metric.hit_weight),
        }

    def _figures_of_parts(self) -> dict[str, Figure]:
        """Return the mean of each part over the questions that have it."""
        unit = self.metric.measured_in
        return {
            name: pooled(part._questions(), "questions", unit)["overall"]
            for name, part in sorted(self._parts.items())
        }

    @property
    def applies_to_none(self) -> bool:
        """Whether no score was added that has a value."""
        return not self._tops and all(value != value for value in self._values)

    def _counted_cells(self) -> list[dict[str, Any]]:
        """Return the cells of the cross table, by category."""
        keys = ("category", *self.metric.cells)
        return [dict(zip(keys, cell, strict=True)) | {"n": n} for cell, n in sorted(self._cells.items())]

    def _judged(self) -> dict[str, Any]:
        """Return how many items were to be judged, how many were not (`unjudged`), and the mean of the
        questions if all unjudged items were wrong (`lowest`) or right (`highest`)."""
        return {
            "items": self._items,
            "unjudged": self._unjudged,
            "lowest": mean(map(_known, self._lowest)),
            "highest": mean(map(_known, self._highest)),
        }

    def _missing(self, questions: Sequence[QuestionScores]) -> str | None:
        """Say in one sentence why the metric applies to no record; `None` if it applies to any."""
        if any(one.ratios or one.mean is not None for one in questions):
            return None
        if not self._lacking:
            return f"{self.metric.name} applies to none of the answers"
        # failed calls have no answer, but that is the reason only if all calls failed
        what = max(self._lacking, key=lambda name: (name != "an answer", self._lacking[name]))
        return f"{self.metric.name} needs {what}, which no record of this run has"


def pooled(
    questions: Sequence[QuestionScores], pooling: Pooling, unit: str, hit_weight: float = 1.0
) -> dict[str, Any]:
    """Return the figures of some questions: `overall`, `micro`, and `categories` in order of appearance.
    `hit_weight` is that of the metric (`Metric`)."""
    if pooling == "counts":
        groups: dict[str, list[QuestionScores]] = {}
        for question in questions:
            groups.setdefault(question.category, []).append(question)
        overall = _ratio(questions, hit_weight)
        categories = {name: _ratio(group, hit_weight) for name, group in groups.items()}
        return {"overall": overall, "micro": overall, "categories": categories}
    known: dict[str, list[_Value]] = {}
    for question in questions:
        values = known.setdefault(question.category, [])
        if (value := question.mean) is not None:
            values.append((value, question.documents))
    ends = range_of(unit)
    if ends and not all(ends[0] <= value <= ends[1] for values in known.values() for value, _ in values):
        ends = None
    categories = {name: _mean(values, ends) for name, values in known.items()}
    overall, micro = _overall(known, ends)
    return {
        "overall": micro if pooling == "questions" else overall,
        "micro": micro,
        "categories": categories,
    }


def _known(value: float) -> float | None:
    """Return a value of an array, `None` for NaN."""
    return None if value != value else value


def _figure(value: float | None, n: int, interval: Mapping[str, Any] | None) -> Figure:
    """Return a figure with its bounds, which are `None` if there is no interval."""
    bounds = interval or {"low": None, "high": None, "method": None}
    return {"value": value, **{name: bounds[name] for name in ("low", "high", "method")}, "n": n}


def _mean(known: Sequence[_Value], ends: Ends) -> Figure:
    """Return the mean over the questions of one category."""
    value = mean(value for value, _ in known)
    if ends:
        found = _scaled(mean_intervals({"it": _samples(known, ends)})["it"], ends)
    else:
        found = _unbounded([known], [1.0])
    return _figure(value, len(known), found)


def _overall(categories: Mapping[str, Sequence[_Value]], ends: Ends) -> tuple[Figure, Figure]:
    """Return the mean of the category means (macro) and the mean over all questions (micro)."""
    named = {name: known for name, known in categories.items() if known}
    strata = list(named.values())
    values = [value for known in strata for value, _ in known]
    means = [mean(value for value, _ in known) for known in strata]
    macro: Mapping[str, Any] | None = None
    micro: Mapping[str, Any] | None = None
    if ends:
        found = overall_intervals({name: {"it": _samples(known, ends)} for name, known in named.items()})
        macro, micro = _scaled(found.get("it"), ends), _scaled(found.get("micro_it"), ends)
    elif strata:
        macro = _unbounded(strata, [1 / len(strata)] * len(strata))
        micro = _unbounded(strata, [len(known) / len(values) for known in strata])
    return _figure(mean(means), len(values), macro), _figure(mean(values), len(values), micro)


def _samples(known: Iterable[_Value], ends: tuple[float, float]) -> list[Sample]:
    """Return the values on a scale from 0 to 1, on which the intervals are computed."""
    low, high = ends
    return [Sample((value - low) / (high - low), documents) for value, documents in known]


def _scaled(interval: Mapping[str, Any] | None, ends: tuple[float, float]) -> Mapping[str, Any] | None:
    """Return the interval on the scale of the metric."""
    if interval is None:
        return None
    low, high = ends
    return {**interval, **{name: low + (high - low) * interval[name] for name in ("low", "high")}}


def _unbounded(
    strata: Sequence[Sequence[tuple[float, Any]]], weights: Sequence[float]
) -> Mapping[str, Any] | None:
    """Return the interval of a weighted mean of means of values without bounds, such as seconds.

    `None` where `log_t_interval` has none: for few questions, and if all values are equal.
    """
    import numpy as np

    from fathoms.stats.intervals import log_t_interval

    arrays = [np.array([value for value, _ in known], dtype=float) for known in strata if known]
    found = log_t_interval(arrays, np.array(weights)) if arrays else None
    return None if found is None else found._asdict()


def _ratio(questions: Sequence[QuestionScores], hit_weight: float) -> Figure:
    """Return the ratio of counts added up over some questions."""
    import numpy as np

    from fathoms.stats.intervals import ratio_interval

    counted = [question for question in questions if question.ratios]
    pairs = [
        (sum(top for top, _ in question.ratios), sum(bottom for _, bottom in question.ratios))
        for question in counted
    ]
    counts: NDArray[float64] = np.array(pairs, dtype=float).reshape(-1, 2)
    top, bottom = counts.sum(axis=0)
    if not bottom:
        return _figure(None, 0, None)
    largest = max(top / hit_weight + bottom - top for question in counted for top, bottom in question.ratios)
    most = largest * max(len(question.values) for question in counted)
    interval = ratio_interval(counts[:, 0], counts[:, 1], hit_weight, most)
    return _figure(float(top / bottom), len(pairs), interval._asdict())
