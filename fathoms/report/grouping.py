"""Groups the figures of a run by a key of its questions' metadata instead of by category."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from fathoms.errors import StoreError, UsageError, suggest
from fathoms.metrics.aggregate import figures_of
from fathoms.metrics.columns import column_of
from fathoms.metrics.funnel_summary import summarise_funnels
from fathoms.metrics.pooling import pooled
from fathoms.metrics.score_records import RecordScore, Scores, Scoring
from fathoms.runs.metadata import KIND
from fathoms.runs.run import Run
from fathoms.runs.views import scored_question
from fathoms.types import Record, Scalar
from fathoms.types.run.figures import MetricFigures, ProfileFigures
from fathoms.types.run.part import Json, misfit
from fathoms.types.run.rows import MetricScore, ScoredQuestion, ScoredRepeat
from fathoms.types.run.summary import Summary

NO_VALUE = "(none)"
"""The group of the questions that do not have the key."""
MOST_GROUPS = 50
"""A key with more values, such as a title, is no grouping: its table could not be read."""


def grouped(run: Run, key: str) -> Run:
    """Return a run whose categories are the values of a key of the metadata.

    All means, intervals and funnels are computed again from the scores of the questions, with the values as
    categories, so `overall` is the mean over the values. Other figures stay as they are. Variants of
    questions count where their kind is the key, and nowhere else.

    Raises UsageError if no question has the key or if it has too many different values, and StoreError for a
    question file that cannot be used.
    """
    values: dict[str, Scalar] = {}
    records: list[Record] = []
    rows: list[dict[str, RecordScore]] = []
    found: set[str] = set()
    left_out = frozenset[str]() if key == KIND else run.manifest.data.variant_ids
    questions: list[tuple[str, ScoredQuestion]] = []
    before = run.summary.plain()
    profiles = before.get("profiles") or {}
    for view in run.views():
        question = scored_question(view)
        metadata = question.question.metadata
        found.update(metadata)
        if question.question.id in left_out:
            continue
        group = label(metadata.get(key))
        values[group] = metadata.get(key)
        bare = tuple(ScoredRepeat(metrics=_values(repeat)) for repeat in question.repeats)
        questions.append((group, ScoredQuestion(question=question.question, repeats=bare)))
        for record, scores in zip(_records(question, group), _scores(view, profiles), strict=True):
            records.append(record)
            rows.append(scores)
    if key not in found:
        known = f"the keys are {', '.join(sorted(found))}" if found else "its questions have no metadata"
        raise UsageError(f"{run.original_id} has no metadata '{key}'{suggest(key, found)}: {known}")
    if len(values) > MOST_GROUPS:
        raise UsageError(
            f"the metadata '{key}' of {run.original_id} has {len(values)} different values, and a report"
            f" shows {MOST_GROUPS} groups at most: name a key with fewer values"
        )
    summary = {
        **before,
        "categories": sorted(values, key=lambda group: _order(values[group])),
        "profiles": _regrouped(profiles, records, rows),
    }
    if metrics := before.get("metrics"):
        summary["metrics"] = {
            name: {**figures, **_regrouped_metric(name, figures, questions)}
            for name, figures in metrics.items()
        }

    def views() -> Iterator[Json]:
        for view in run.views():
            own = view["question"]
            group = label((own.get("metadata") or {}).get(key))
            yield {**view, "question": {**own, "category": group}}

    return run.altered(summary=Summary.model_validate(summary), views=views, grouped_by=key)


def label(value: Scalar) -> str:
    """Return the name of the group of a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "" if value is None else str(value)
    return text if text.strip() else NO_VALUE


def _order(value: Scalar) -> tuple[int, float, str]:
    """Return a sort key: numbers by size, then texts, and missing values last."""
    if isinstance(value, int | float):
        return 0, value, ""
    return (2, 0, "") if value is None or label(value) == NO_VALUE else (1, 0, value)


def _records(view: ScoredQuestion, group: str) -> Iterator[Record]:
    """Yield the records of a question, as far as aggregation reads them."""
    question = view.question.model_copy(update={"category": group})
    for repeat in view.repeats:
        yield Record(question=question, repeat=repeat.repeat, answer=repeat.answer, error=repeat.error)


def _scores(view: Json, profiles: Iterable[str]) -> Iterator[dict[str, RecordScore]]:
    """Yield the scores of each repeat of a question by profile; raises StoreError if they cannot be used."""
    for repeat in view["repeats"]:
        scores = repeat.get("scores") or {}
        try:
            yield {name: RecordScore.model_validate(scores.get(name) or {}) for name in profiles}
        except ValidationError as error:
            raise StoreError(
                f"question '{view['question']['id']}' cannot be grouped: {misfit(error)}; score the run again"
            ) from None


def _values(repeat: ScoredRepeat) -> dict[str, MetricScore]:
    """The values of the metrics alone, without the reasons."""
    return {name: MetricScore(value=found.get("value")) for name, found in repeat.metrics.items()}


def _regrouped_metric(
    name: str, figures: Mapping[str, Any], questions: Sequence[tuple[str, ScoredQuestion]]
) -> dict[str, Any]:
    """Return the figures of a metric with the groups as categories. Counts are not stored with answers, so
    a metric that adds them up keeps its overall figure and has no categories; so have those of older runs."""
    pooling = figures.get("pooling")
    if pooling not in ("categories", "questions"):
        return {"categories": {}}
    rows = []
    for group, view in questions:
        values = [repeat.metrics.get(name, {}).get("value") for repeat in view.repeats]
        rows.append((group, view.question.gold_documents, values))
    regrouped = pooled(column_of(rows), pooling, str(figures.get("unit")))
    return MetricFigures(**regrouped._asdict()).plain()


def _regrouped(
    profiles: Mapping[str, Any], records: Sequence[Record], rows: Sequence[dict[str, RecordScore]]
) -> dict[str, Any]:
    """Return the figures of each profile with means, intervals and funnels by the records' categories."""
    funnels = summarise_funnels(records, Scores(Scoring(), tuple(rows), {}))
    regrouped = {}
    for name, figures in profiles.items():
        means = figures_of(records, [row[name] for row in rows], name)
        regrouped[name] = {**figures, **ProfileFigures(**means._asdict()).plain()}
        if figures.get("funnel") and name in funnels:
            regrouped[name]["funnel"] = {**figures["funnel"], **funnels[name].plain()}
    return regrouped
