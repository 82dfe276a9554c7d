"""Reading a file of questions, whatever its format."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fathoms.config import suggest
from fathoms.corpora.csv_table import csv_rows
from fathoms.corpora.fathoms_json import json_rows
from fathoms.corpora.jsonl import jsonl_rows
from fathoms.corpora.rows import Placed, questions_of
from fathoms.errors import DataError, UsageError
from fathoms.types import Question

FORMATS: dict[str, Callable[[str, str], Iterator[Placed]]] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
}


@dataclass(frozen=True)
class QuestionFile:
    """The questions of one file in its order, its sha256, and what was odd about it."""

    questions: tuple[Question, ...]
    sha256: str
    warnings: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a question, as each first appears."""
        return tuple(dict.fromkeys(question.category for question in self.questions))


def read_questions(path: Path) -> QuestionFile:
    """Read `.json`, `.jsonl`, `.ndjson` or `.csv`; the rules are in `rows.py`.

    Raises UsageError where there is no such file, and DataError that lists what is wrong, each with
    `file:line`.
    """
    rows = FORMATS.get(path.suffix.lower())
    if rows is None:
        raise DataError(
            f"{path}: no format of questions ends in '{path.suffix}'{suggest(path.suffix, FORMATS)}"
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file of questions") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    questions, warnings = questions_of(rows(_decode(data, path), str(path)))
    if not questions:
        raise DataError(f"{path}: holds no question")
    return QuestionFile(questions, hashlib.sha256(data).hexdigest(), warnings)


def _decode(data: bytes, path: Path) -> str:
    """UTF-8, with or without a byte-order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = " (it is UTF-16)" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""
        raise DataError(f"{path}:{line}: not UTF-8{hint}: save it as UTF-8") from error
