"""Writes `scores.csv`, with one line per run, question and repeat, for spreadsheets and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathoms.report.metrics_table import SPENDING
from fathoms.report.section import Section
from fathoms.report.worst import question_tables
from fathoms.runs.question_tables import COLUMNS as OF_QUESTIONS
from fathoms.runs.run import Run
from fathoms.safety.spreadsheet import csv_line

COLUMNS = ("run", "name", "model", "profile", *OF_QUESTIONS)


def report_csv(runs: Sequence[Run], scores: str | None = None) -> str:
    """Return every question and repeat of some runs under one profile as RFC 4180 CSV (lines end in CR LF).
    The columns are `COLUMNS`, and one for each further metric of any of the runs.

    Scores are not rounded. Cells that do not apply or are not known are empty, and booleans are 1 or 0. Text
    is on one line, is cut at 32,767 characters, and is prefixed with `'` if a spreadsheet would take it for a
    formula. Raises as `Run.profile` does.
    """
    names = dict.fromkeys(name for run in runs for name in run.summary.metrics if name not in SPENDING)
    return "".join(_lines(runs, scores, list(names)))


def section_csv(section: Section) -> str:
    """Return a table as RFC 4180 CSV, with the texts that the other outputs have."""
    return "".join(csv_line(list(row)) for row in (section.header, *section.rows))


def _lines(runs: Sequence[Run], scores: str | None, metrics: Sequence[str]) -> Iterator[str]:
    """Yield the heads of the columns, then the lines of each run, question file by question file."""
    yield csv_line([*COLUMNS, *metrics])
    for run in runs:
        profile = run.profile(scores)
        first = csv_line([run.original_id, run.name, run.summary.model, profile]).rstrip("\r\n")
        for line in question_tables(run, profile).lines(metrics):
            yield f"{first},{line}"
