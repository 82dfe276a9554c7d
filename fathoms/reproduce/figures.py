"""The figures of one row: by metric and column, from scored records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathoms.metrics import RecordScore, Scores, hallucination, summarise
from fathoms.reproduce.tables import Table
from fathoms.types import Record

Columns = dict[str, float | None]
OURS = "fathoms"
"""The profile whose classifier is ours."""


@dataclass(frozen=True)
class Figures:
    """Means by metric and column; a metric that there are no scores of is left out. `ours` is the
    hallucination rate under our own classifier of abstentions, with the correctness that the table is
    compared under, and empty for a table without hallucination; `errors` counts failed questions."""

    metrics: dict[str, Columns]
    ours: Columns
    errors: int = 0


def figures_of(table: Table, records: Sequence[Record], scores: Scores) -> Figures:
    """The figures of a table's columns. Where the table asks for released scores and the records have none,
    nothing takes their place: our classifier's are not those that were printed."""
    by_profile = summarise(records, scores)
    known = {metric: name for metric, name in table.compare.items() if name in by_profile}
    return Figures(
        metrics={metric: _columns(table, by_profile[name], metric) for metric, name in known.items()},
        ours=_ours_by_column(table, records, scores) if "hallucination" in table.compare else {},
        errors=sum(record.error is not None for record in records),
    )


def _ours_by_column(table: Table, records: Sequence[Record], scores: Scores) -> Columns:
    """Hallucination as our classifier has it, with the correctness of the table where there is one."""
    wanted = table.compare.get("correctness", OURS)
    profile = wanted if all(wanted in row for row in scores.rows) else OURS
    return _columns(table, summarise(records, _with_ours(scores, profile))[profile], "hallucination")


def _columns(table: Table, figures: Mapping[str, Any], metric: str) -> Columns:
    """One metric by column; `None` for a category that there is none of."""
    categories = figures["categories"]
    groups = {
        column: figures["overall"] if name is None else categories.get(name, {})
        for column, name in table.columns.items()
    }
    return {column: group.get(metric) for column, group in groups.items()}


def _with_ours(scores: Scores, profile: str) -> Scores:
    """Scores with hallucination as our classifier has it."""
    return replace(scores, rows=tuple({profile: _ours(row, profile)} for row in scores.rows))


def _ours(row: Mapping[str, RecordScore], profile: str) -> RecordScore:
    """One answer: the profile's correctness, and the label that our classifier gives it."""
    score = row[profile]
    flag = hallucination(row[OURS].abstention, score.correctness)
    return score.model_copy(update={"hallucination": flag})
