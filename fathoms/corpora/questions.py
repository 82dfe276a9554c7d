"""Reading a file of questions, whatever its format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fathoms.config import suggest
from fathoms.corpora.csv_table import csv_rows
from fathoms.corpora.fathoms_json import json_rows
from fathoms.corpora.jsonl import jsonl_rows
from fathoms.corpora.places import Places, json_places, jsonl_places, table_places
from fathoms.corpora.rows import Placed, ignored_keys, questions_of
from fathoms.errors import DataError, UsageError
from fathoms.safety.inputs import decode, read_file
from fathoms.types import Question

FORMATS: dict[str, Callable[[str, str], Iterator[Placed | DataError]]] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
}


@dataclass(frozen=True)
class QuestionFile:
    """The questions of one file in its order, its sha256, and what was odd about it.

    `lines` are where the questions begin, `ignored` the keys that were passed over.
    """

    questions: tuple[Question, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a question, as each first appears."""
        return tuple(dict.fromkeys(question.category for question in self.questions))


def read_questions(path: Path) -> QuestionFile:
    """Read `.json`, `.jsonl`, `.ndjson` or `.csv`; the rules are in `rows.py`.

    Raises UsageError where there is no such file, and DataError that lists what is wrong, each with
    `file:line`.
    """
    rows = FORMATS[format_of(path)]
    data = _read(path)
    found = list(rows(decode(data, path), str(path)))
    questions, warnings = questions_of(found)
    placed = [row for row in found if not isinstance(row, DataError)]
    if not questions:
        raise DataError(f"{path}: holds no question")
    lines = tuple(int(place.rpartition(":")[2]) for place, _ in placed)
    sha256 = hashlib.sha256(data).hexdigest()
    return QuestionFile(questions, sha256, warnings, lines, ignored_keys(placed))


def find_places(path: Path, file: QuestionFile) -> Places:
    """Where the values of a file that was read stand in it; raises DataError where it has changed since."""
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise DataError(f"{path}: changed while it was read; try again")
    if format_of(path) == ".csv":
        return table_places(file.lines)
    find = json_places if format_of(path) == ".json" else jsonl_places
    return find(decode(data, path), file.lines)


def read_text(text: str, path: Path) -> tuple[Question, ...]:
    """The questions of a text in the format of the ending of `path`; raises DataError as for a file."""
    return questions_of(FORMATS[format_of(path)](text, str(path)))[0]


def format_of(path: Path) -> str:
    """The ending that names the format of a question file; raises DataError for one that nobody knows."""
    if path.suffix.lower() not in FORMATS:
        raise DataError(
            f"{path}: no format of questions ends in '{path.suffix}'{suggest(path.suffix, FORMATS)}"
        )
    return path.suffix.lower()


def _read(path: Path) -> bytes:
    """The bytes of a question file."""
    try:
        return read_file(path)
    except DataError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"{path}: no such file of questions") from None
        raise
