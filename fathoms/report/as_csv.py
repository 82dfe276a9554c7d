"""Writes `scores.csv`, with one line per run, question and repeat, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import lru_cache

from fathoms.report.metrics_table import SPENDING
from fathoms.report.text import plain
from fathoms.report.worst import noticing
from fathoms.runs.reading import ScoredRun
from fathoms.safety.spreadsheet import harmless

COLUMNS = (
    "run",
    "name",
    "model",
    "profile",
    "question",
    "category",
    "repeat",
    "answerable",
    "correctness",
    "hallucination",
    "abstained",
    "error",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "latency",
    "text",
)
FULL = 32_767
"""The largest number of characters that a spreadsheet cell can hold."""


def report_csv(runs: Sequence[ScoredRun], scores: str | None = None) -> str:
    """Return every question and repeat of some runs under one profile as RFC 4180 CSV (lines end in CR LF).
    The columns are `COLUMNS`, and one for each further metric of any of the runs.

    Scores are not rounded. Cells that do not apply or are not known are empty, and booleans are 1 or 0. Text
    is on one line, is cut at 32,767 characters, and is prefixed with `'` if a spreadsheet would take it for a
    formula. Raises as `ScoredRun.profile` does.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    metrics = list(
        dict.fromkeys(name for run in runs for name in run.summary.metrics if name not in SPENDING)
    )
    writer.writerow([*COLUMNS, *map(cell, metrics)])
    for run in runs:
        for cells in rows_of(run, run.profile(scores), metrics):
            writer.writerow(map(cell, cells))
    return buffer.getvalue()


def rows_of(run: ScoredRun, profile: str, metrics: Sequence[str] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the cells of each line of one run in the order of `COLUMNS`, then the values of `metrics`,
    question file by question file."""
    head = (run.run, run.name, run.model, profile)
    for view in noticing(run, profile):
        question = view.question
        for repeat in view.repeats:
            scores, answer = repeat.under(profile), repeat.answer
            yield (
                *head,
                question.id,
                question.category,
                repeat.repeat,
                question.answerable,
                scores.correctness,
                scores.hallucination,
                scores.abstained,
                repeat.error and repeat.error.kind,
                answer and answer.usage.prompt_tokens,
                answer and answer.usage.completion_tokens,
                answer and answer.cost,
                answer and answer.latency,
                question.text,
                *(repeat.value(metric) for metric in metrics),
            )


def cell(value: object) -> object:
    """Convert a value for the CSV file."""
    if isinstance(value, bool):
        return int(value)
    return _text(value) if isinstance(value, str) else value


@lru_cache(maxsize=256)
def _text(text: str) -> str:
    """Convert a text for the CSV file; cached, because most lines share their names."""
    return harmless(plain(text))[:FULL]
