"""Compute the figures of one table row, by metric and column, from scored records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathoms.extras.papers.tables import Table
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.hallucination import hallucination
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.score_records import Scores
from fathoms.types import Record
from fathoms.types.run.figures import ProfileFigures

Columns = dict[str, float | None]
OURS = "fathoms"
"""The profile that uses the abstention classifier of fathoms."""


@dataclass(frozen=True)
class Figures:
    """The mean of each metric and column; metrics without scores are left out.

    `ours` is the hallucination rate per column with the abstention classifier of fathoms and the correctness
    that the table is compared under; it is empty for a table without hallucination. `errors` counts failed
    calls, `flags` the released flags of hallucination, and `same_flags` those that this classifier gives.
    """

    metrics: dict[str, Columns]
    ours: Columns
    errors: int = 0
    flags: int = 0
    same_flags: int = 0


def profiles_of(table: Table) -> tuple[Profile, ...]:
    """Return the profiles that a table needs. The classifier of a profile, which may need weights, is used
    only where the hallucination of the table is compared under it."""
    wanted = {OURS, *table.compare.values()}
    return tuple(
        profile
        if profile.name == table.compare.get("hallucination")
        else replace(profile, abstention="configured")
        for profile in PROFILES
        if profile.name in wanted
    )


def figures_of(table: Table, records: Sequence[Record], scores: Scores) -> Figures:
    """Compute the figures of a table's columns.

    If the table is compared with released scores and the records have none, that metric is left out: scores
    by the classifier of fathoms are not the printed ones.
    """
    by_profile = summarise(records, scores)
    known = {metric: name for metric, name in table.compare.items() if name in by_profile}
    ours: Columns = {}
    flags: list[bool] = []
    if "hallucination" in table.compare:
        wanted = table.compare.get("correctness", OURS)
        profile = wanted if all(wanted in row for row in scores.rows) else OURS
        rows = []
        for record, row in zip(records, scores.rows, strict=True):
            flag = hallucination(row[OURS].abstention, row[profile].correctness)
            if (released := record.released.get("hallucination")) is not None and flag is not None:
                flags.append(flag == released)
            rows.append({profile: row[profile].model_copy(update={"hallucination": flag})})
        summary = summarise(records, replace(scores, rows=tuple(rows)))
        ours = _columns(table, summary[profile], "hallucination")
    return Figures(
        metrics={metric: _columns(table, by_profile[name], metric) for metric, name in known.items()},
        ours=ours,
        errors=sum(record.error is not None for record in records),
        flags=len(flags),
        same_flags=sum(flags),
    )


def _columns(table: Table, figures: ProfileFigures, metric: str) -> Columns:
    """Return one metric by column; `None` for a category without questions."""
    groups = {
        column: figures.overall if name is None else figures.categories.get(name)
        for column, name in table.columns.items()
    }
    return {column: group.mean(metric) if group else None for column, group in groups.items()}
