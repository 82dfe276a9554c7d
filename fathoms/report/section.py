"""A table of several runs with the notes below it and, where there is one, a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fathoms.report.leaderboard import run_labels
from fathoms.runs.run import Run


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
    without their full stop. A figure may have a second line. `figures` are the same values as JSON, under
    `key`."""

    key: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    figures: Mapping[str, Any] = field(default_factory=dict)
    numbers: int = 1
    chart: Chart | None = field(default=None)


Lines = tuple[Sequence[Sequence[str]], Sequence[str]]
"""The rows of one run in a table, and the sentences about it."""


def table_of_runs(
    runs: Sequence[Run],
    lines: Callable[[Run], Lines | None],
    key: str,
    title: str,
    header: Sequence[str],
    notes: Sequence[str] = (),
) -> Section | None:
    """Return the table of some runs, which has a column of their labels if they are several; `None` where no
    run has any `lines`."""
    found = [(label, one) for run, label in zip(runs, run_labels(runs), strict=True) if (one := lines(run))]
    if not found:
        return None
    named = [[label, *row] for label, (rows, _) in found for row in rows]
    said = said_of_runs(((label, note) for label, (_, each) in found for note in each), len(runs))
    first = 0 if len(runs) > 1 else 1  # a single run needs no column for its label
    rows = [row[first:] for row in named]
    header = ["run", *header][first:]
    return Section(key, title, header, rows, [*notes, *said], numbers=len(header) - 2 + first)


def said_of_runs(pairs: Iterable[tuple[str, str]], total: int) -> list[str]:
    """Return sentences about runs, each once, with the labels of its runs before it unless it is about all of
    them."""
    found: dict[str, list[str]] = {}
    for label, sentence in pairs:
        found.setdefault(sentence, []).append(label)
    return [
        sentence if len(labels) == total else f"{', '.join(labels)}: {sentence}"
        for sentence, labels in found.items()
    ]


@dataclass(frozen=True)
class Reviews:
    """What people said of the scores of runs: tables with their headers, sentences below them, and the same
    as JSON."""

    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]
    remarks: Sequence[str]
    figures: Mapping[str, Any]
