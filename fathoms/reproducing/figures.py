"""The figures of one row: by metric and column, from scored records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathoms.metrics import RecordScore, Scores, hallucination, summarise
from fathoms.reproducing.tables import Metric, Table
from fathoms.types import Record

Columns = dict[str, float | None]


@dataclass(frozen=True)
class Figures:
    """Means by metric and column. `ours` is the hallucination rate under our own classifier of abstentions,
    with the correctness that the table is compared under; `errors` counts failed questions."""

    metrics: dict[Metric, Columns]
    ours: Columns
    errors: int = 0


def figures_of(table: Table, records: Sequence[Record], scores: Scores) -> Figures:
    """The figures of a table's columns. Released scores are taken where the table asks for them and the
    records have any, else those of the profile that correctness is compared under."""
    by_profile = summarise(records, scores)
    profile = table.compare["correctness"]
    wanted = {metric: name if name in by_profile else profile for metric, name in table.compare.items()}
    return Figures(
        metrics={metric: _columns(table, by_profile[name], metric) for metric, name in wanted.items()},
        ours=_columns(table, summarise(records, _with_ours(scores, profile))[profile], "hallucination"),
        errors=sum(record.error is not None for record in records),
    )


def _columns(table: Table, figures: Mapping[str, Any], metric: Metric) -> Columns:
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
    flag = hallucination(row["fathoms"].abstention, score.correctness)
    return score.model_copy(update={"hallucination": flag})
