"""Writing questions in any of the formats, so that they read back as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fathoms.corpora.csv_table import dump_csv
from fathoms.corpora.fathoms_json import dump_fathoms_json
from fathoms.corpora.jsonl import dump_jsonl
from fathoms.corpora.questions import format_of, read_text
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.paths import write_atomic
from fathoms.types import Question

DUMPERS: dict[str, Callable[[Iterable[Question]], str]] = {
    ".json": dump_fathoms_json,
    ".jsonl": dump_jsonl,
    ".ndjson": dump_jsonl,
    ".csv": dump_csv,
}


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write a new file in the format of its ending: FATHOMS JSON, JSON lines or CSV.

    FATHOMS JSON is by category, so questions that were not grouped by it come in another order. Raises
    UsageError where the file is there already, DataError for a question that the format cannot hold, and
    StoreError where it cannot be written.
    """
    text = DUMPERS[format_of(path)](questions)
    _raise_if_changed(path, questions, read_text(text, path))
    write_new(path, text)


def refuse_existing(path: Path) -> None:
    """Raise UsageError for a file that is there already."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already, and nothing is overwritten: name another file")


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet; raises UsageError where it is, StoreError where it cannot be."""
    refuse_existing(path)
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def _raise_if_changed(path: Path, questions: Sequence[Question], read: Sequence[Question]) -> None:
    """Raise DataError for the first question that does not read back as it was."""
    back = set(read)
    for question in questions:
        if question not in back:
            raise DataError(f"{path}: '{question.id}' cannot be written as {format_of(path)} without a loss")
