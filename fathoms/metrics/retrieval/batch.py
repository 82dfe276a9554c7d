"""Scores many records by retrieval metrics at once, because ir-measures is slow for a single ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fathoms.metrics.retrieval.levels import GOLD, Level, Rankings, lacks, rankings
from fathoms.metrics.retrieval.trec import Measure, Ranking, measured
from fathoms.types import Record, Score


@dataclass(frozen=True, slots=True)
class Values:
    """The values of the measure of a metric for the rankings of a record: with all of its gold, by hop
    (`None` for a hop without gold) and by modality.

    `metric` is the name of the metric, and `counts` are those of `Rankings`.
    """

    metric: str
    all: float
    hops: tuple[float | None, ...]
    modalities: Mapping[str, float]
    counts: Mapping[str, float]


class Ranked(Protocol):
    """What is read of a retrieval metric."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> Level: ...
    @property
    def measure(self) -> Measure: ...
    def of_values(self, record: Record, values: Values) -> Score:
        """Return the score, which depends on the values and on how many hops the question has alone, but at
        the level of layout."""


def rank_scores(
    metrics: Sequence[Ranked],
    records: Sequence[Record],
    retrieves: bool = True,
    retrieval_only: bool = False,
) -> list[dict[str, Score]]:
    """Return the scores of each record by the name of the metric, except for those of a level at which its
    question has no gold.

    `retrieves` says whether the run has a retriever: without one, no metric applies, while a search without
    any result has the value 0, and so has a failed one of a run that was `retrieval_only`. A record that
    lacks what a metric needs has a score of `None` that says so.
    """
    found: list[dict[str, Score]] = [{} for _ in records]
    for level in dict.fromkeys(metric.level for metric in metrics):
        own = [metric for metric in metrics if metric.level == level]
        _score(own, level, records, found, retrieves, retrieval_only)
    return found


def _score(
    metrics: Sequence[Ranked],
    level: Level,
    records: Sequence[Record],
    found: Sequence[dict[str, Score]],
    retrieves: bool,
    retrieval_only: bool,
) -> None:
    """Add the scores of metrics of one level."""
    names = [metric.name for metric in metrics]
    lacking: dict[str, dict[str, Score]] = {}  # equal for many records, so made once
    ranked: dict[int, Rankings] = {}
    for number, record in enumerate(records):
        what = lacks(record, level, retrieves, retrieval_only)
        if what == GOLD[level]:
            continue
        if what:
            if what not in lacking:
                why: dict[str, object] = {"lacks": what}
                lacking[what] = {name: Score(metric=name, value=None, n=0, why=why) for name in names}
            found[number].update(lacking[what])
        else:
            ranked[number] = rankings(record, level)
    if not ranked:
        return
    measures = [metric.measure for metric in metrics]
    measured_for = _values(ranked.values(), measures)
    known: dict[Any, dict[str, Score]] = {}  # many records have equal scores, which are one object
    for number, one in ranked.items():
        question = records[number].question
        several = (question.hops or len(question.steps)) > 1
        key = (one.all, one.hops, (*one.modalities.items(),), (*one.counts.items(),), several)
        if level != "layout" and key in known:
            found[number].update(known[key])
            continue
        values = measured_for[one.all]
        hops = [None if hop is None else measured_for[hop] for hop in one.hops]
        modalities = [(modality, measured_for[own]) for modality, own in one.modalities.items()]
        for name, metric, measure in zip(names, metrics, measures, strict=True):
            own_values = Values(
                name,
                values[measure],
                tuple(None if hop is None else hop[measure] for hop in hops),
                {modality: by_measure[measure] for modality, by_measure in modalities},
                one.counts,
            )
            found[number][name] = metric.of_values(records[number], own_values)
        known[key] = {name: found[number][name] for name in names}


def _values(
    found: Iterable[Rankings], measures: Sequence[Measure]
) -> Mapping[Ranking, Mapping[Measure, float]]:
    """Return the values of all different rankings; many questions have an equal one."""
    different = list(
        dict.fromkeys(
            ranking
            for one in found
            for ranking in (one.all, *one.hops, *one.modalities.values())
            if ranking is not None
        )
    )
    return dict(zip(different, measured(different, list(dict.fromkeys(measures))), strict=True))
