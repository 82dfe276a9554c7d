"""Imports answers of any system from a JSON lines file with one answer per line, or from a table.

    {"id": "text-only-01", "answer": "Convolutional networks."}
    {"question": "What is x?", "answer": "4", "contexts": ["...", {"text": "...", "page": 3}]}
    {"id": "text-only-02", "answer": null, "error": "timed out"}

A row names its question by `id`, or by `question`, the text of the question; `files` then tells questions
with the same text apart, as it stands in their file. An `answer` of null means that
the call failed; `error` then gives the reason (it is ignored otherwise). The other keys are those of
`fathoms.Answer` (see `pipeline/external/answer.py`). A table in CSV, TSV or .xlsx has the same keys as
columns, with lists as JSON; an empty cell under `answer` is a failed call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict

from fathoms.corpora.rows import one_or_more
from fathoms.importers.imported import Imported
from fathoms.importers.json_lines import JsonRows
from fathoms.importers.rows import Row, imported_rows
from fathoms.pipeline.external.answer import Parts
from fathoms.pipeline.external.names import TextPlaces
from fathoms.types import Question


class _AnswerRow(Parts):
    """One line of the file, parsed; other keys than these are ignored."""

    model_config = ConfigDict(extra="allow")

    id: str | None = None
    question: str | None = None
    files: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()
    answer: str | None
    error: str | None = None


def read_answers(
    path: Path, questions: Sequence[Question], documents: Iterable[str] = (), texts: TextPlaces | None = None
) -> Imported:
    """Read a file of answers to all or some of `questions`.

    Contexts and citations take the names of `documents`, and of those that the questions name, where their
    paths end alike. If `documents` are given, all others are named in a warning. Contexts without a document
    are looked for in `texts`. Rows for unknown questions
    and second answers to the same question are left out with a warning. Questions without an answer are named
    in a warning too. Raises a DataError that lists all invalid rows with `file:line`, and a DataError if no
    row answers any of the questions.
    """
    rows = JsonRows(path, _AnswerRow, "answer")
    found = (_row(line, row) for line, row in rows)
    return imported_rows(path, found, questions, documents, texts, finish=rows.finish)


def _row(line: int, row: _AnswerRow) -> Row:
    """Convert a line, an answer or a failed call, to a row."""
    return Row(
        line,
        row.id,
        row.question if row.id is None else None,
        row.files,
        answer=row.answer,
        error=(row.error or "no answer") if row.answer is None else None,
        parts=row,
    )
