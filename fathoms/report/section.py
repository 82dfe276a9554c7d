"""A table of several runs with the notes below it and, where there is one, a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Chart:
    """Lines over places on an axis that are named and stand in order. `lines` maps the name of a line to its
    points: a figure with `value`, `low`, `high` and `n` by the name of the place. Values are in [0, 1], and
    `what` says what they are."""

    axis: str
    ticks: Sequence[str]
    lines: Mapping[str, Mapping[str, Mapping[str, Any]]]
    what: str = "Correct answers"


@dataclass(frozen=True)
class Section:
    """A table: `rows` are texts, of which the last `numbers` columns are figures, and `notes` are sentences
    without their full stop. `figures` are the same values as JSON, under `key`."""

    key: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    figures: Mapping[str, Any]
    numbers: int = 1
    chart: Chart | None = field(default=None)


@dataclass(frozen=True)
class Reviews:
    """What people said of the scores of runs: tables with their headers, sentences below them, and the same
    as JSON."""

    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]
    remarks: Sequence[str]
    figures: Mapping[str, Any]
