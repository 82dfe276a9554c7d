"""Reads question files of every format; the file name's extension decides on the format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathoms.config import Key, suggest
from fathoms.corpora.csv_table import answer_columns, csv_rows
from fathoms.corpora.fathoms_json import json_rows
from fathoms.corpora.jsonl import jsonl_rows
from fathoms.corpora.places import Places, json_places, jsonl_places
from fathoms.corpora.rows import Placed, ignored_keys, questions_of
from fathoms.errors import DataError, QuestionsError, UsageError
from fathoms.safety.inputs import decode, decode_table, read_file
from fathoms.types import Question

FORMATS: dict[str, Callable[[str, str], Iterator[Placed | DataError]]] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
}
_TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class QuestionFile:
    """The questions of one file, in file order.

    `sha256` is that of the file. `lines` are the line numbers on which the questions begin. `ignored` lists
    the keys in the file that were ignored, such as `notes`, sorted.
    """

    questions: tuple[Question, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the questions, in order of first appearance."""
        return tuple(dict.fromkeys(question.category for question in self.questions))


def read_questions(path: Path) -> QuestionFile:
    """Read a `.json`, `.jsonl`, `.ndjson`, `.csv` or `.tsv` question file; `rows` describes the keys of a
    question.

    Raises UsageError if the file does not exist. Raises DataError for an unknown extension, for a file
    without questions, and for invalid questions; that one lists all of them, each with `file:line`.
    """
    rows = FORMATS[format_of(path)]
    data = _read(path)
    text, guessed = _decoded(data, path)
    found = list(rows(text, str(path)))
    try:
        questions, warnings = questions_of(found)
    except QuestionsError:  # now with the places of the answers, which take long to find
        questions, warnings = questions_of(found, _answer_places(text, path, found))
    if guessed is not None:
        warnings = (guessed, *warnings)
    placed = [row for row in found if not isinstance(row, DataError)]
    if not questions:
        raise DataError(f"{path}: contains no questions")
    lines = tuple(int(place.rpartition(":")[2]) for place, _ in placed)
    sha256 = hashlib.sha256(data).hexdigest()
    return QuestionFile(questions, sha256, warnings, lines, ignored_keys(placed))


def find_places(path: Path, file: QuestionFile) -> Places:
    """Return the places of the values of a file that was read before.

    Raises DataError if the file has changed since it was read.
    """
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise DataError(f"{path}: changed while it was read; try again")
    if format_of(path) in _TABLES:
        return Places(file.lines)
    find = json_places if format_of(path) == ".json" else jsonl_places
    return find(decode(data, path), file.lines)


def _answer_places(text: str, path: Path, rows: Sequence[Placed | DataError]) -> list[dict[Key, str]]:
    """Return the place (`file:line:col`) of every value in the answers of each row that could be read."""
    lines = [int(row[0].rpartition(":")[2]) for row in rows if not isinstance(row, DataError)]
    if format_of(path) in _TABLES:
        columns = zip(lines, answer_columns(text, lines), strict=True)
        return [{("answers",): f"{path}:{line}:{at}"} if at else {} for line, at in columns]
    if format_of(path) == ".json" and len(lines) < len(rows):
        return []  # entries that are no questions make it unclear which entry a row is
    keys = (json_places if format_of(path) == ".json" else jsonl_places)(text, lines).keys
    return [
        {key: ":".join(map(str, (path, *place))) for key, place in known.items() if key[:1] == ("answers",)}
        for known in keys
    ]


def read_text(text: str, path: Path) -> tuple[Question, ...]:
    """Parse questions from a text, in the format of the extension of `path`; the file itself is not read.

    Raises DataError as `read_questions` does.
    """
    return questions_of(FORMATS[format_of(path)](text, str(path)))[0]


def format_of(path: Path) -> str:
    """Return the extension of a question file in lower case; raises DataError if no format has it."""
    if path.suffix.lower() not in FORMATS:
        raise DataError(
            f"{path}: no format of questions ends in '{path.suffix}'{suggest(path.suffix, FORMATS)}"
        )
    return path.suffix.lower()


def _decoded(data: bytes, path: Path) -> tuple[str, str | None]:
    """Decode a question file, and return a warning where the encoding of a table was guessed."""
    return decode_table(data, path) if format_of(path) in _TABLES else (decode(data, path), None)


def _read(path: Path) -> bytes:
    """Read the bytes of a question file; raises UsageError if it does not exist."""
    try:
        return read_file(path)
    except DataError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"{path}: question file not found") from None
        raise
