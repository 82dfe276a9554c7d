"""Writes `scores.csv`, with one line per run, question and repeat, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathoms.report.text import plain
from fathoms.report.view import RunView

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
FORMULA = tuple("=+-@＝＋－＠")  # noqa: RUF001 - the wide forms start a formula too
FULL = 32_767
"""The largest number of characters that a spreadsheet cell can hold."""


def report_csv(runs: Sequence[RunView], scores: str | None = None) -> str:
    """Return every question and repeat of some runs under one profile as RFC 4180 CSV (lines end in CR LF).

    Scores are not rounded. Cells that do not apply or are not known are empty, and booleans are 1 or 0. Text
    is on one line, is cut at 32,767 characters, and is prefixed with `'` if a spreadsheet would take it for a
    formula. Raises as `RunView.profile` does.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for run in runs:
        for row in rows_of(run, run.profile(scores)):
            writer.writerow([cell(row[column]) for column in COLUMNS])
    return buffer.getvalue()


def rows_of(run: RunView, profile: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of one run as dictionaries by column, in the order of its question files."""
    whole = {"run": run.run, "name": run.name, "model": run.model, "profile": profile}
    for view in run.questions():
        question = view["question"]
        asked = {
            "question": question["id"],
            "category": question.get("category"),
            "answerable": question.get("answerable", True),
            "text": question.get("text"),
        }
        for repeat in view.get("repeats") or ():
            yield {**whole, **asked, **repeat_columns(repeat, profile)}


def repeat_columns(repeat: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """Return the columns with the result of one repeat."""
    scores = (repeat.get("scores") or {}).get(profile) or {}
    answer, error = repeat.get("answer") or {}, repeat.get("error") or {}
    usage = answer.get("usage") or {}
    return {
        "repeat": repeat.get("repeat", 0),
        **{key: scores.get(key) for key in ("correctness", "hallucination", "abstained")},
        "error": error.get("kind"),
        **{key: usage.get(key) for key in ("prompt_tokens", "completion_tokens")},
        **{key: answer.get(key) for key in ("cost", "latency")},
    }


def cell(value: object) -> object:
    """Convert a value for the CSV file."""
    if isinstance(value, bool):
        return int(value)
    return harmless(plain(value))[:FULL] if isinstance(value, str) else value


def harmless(text: str) -> str:
    """Prefix text that a spreadsheet would take for a formula with `'`."""
    return f"'{text}" if text.startswith(FORMULA) else text
