"""Writes question files in any format, and checks that the questions read back unchanged."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fathoms.corpora.csv_table import add_csv_ids, dump_csv
from fathoms.corpora.fathoms_json import dump_fathoms_json
from fathoms.corpora.jsonl import dump_jsonl
from fathoms.corpora.places import add_json_ids
from fathoms.corpora.questions import QuestionFile, format_of, read_text
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.paths import write_atomic
from fathoms.safety.inputs import decode, decode_table, read_file
from fathoms.types import Question

DUMPERS: dict[str, Callable[[Iterable[Question]], str]] = {
    ".json": dump_fathoms_json,
    ".jsonl": dump_jsonl,
    ".ndjson": dump_jsonl,
    ".csv": dump_csv,
}


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write questions to a new file; its extension decides on the format (FATHOMS JSON, JSON lines or CSV).

    FATHOMS JSON groups questions by category, so the order changes if they were not grouped already. Raises
    UsageError if the file exists, DataError for an unknown extension or a question that the format cannot
    represent, and StoreError if the file cannot be written.
    """
    write_new(path, dumped(path, questions))


def dumped(path: Path, questions: Sequence[Question]) -> str:
    """Return the text of a question file, whose extension decides on the format; it reads back as the same
    questions. Raises DataError where that is not possible."""
    ending = format_of(path)
    if ending not in DUMPERS:
        raise DataError(f"{path}: no questions are written as {ending}: use {', '.join(DUMPERS)}")
    text = DUMPERS[ending](questions)
    back = set(read_text(text, path))
    for question in questions:
        if question not in back:
            raise DataError(f"{path}: '{question.id}' cannot be written as {ending} without a loss")
    return text


def add_ids(path: Path, file: QuestionFile) -> int:
    """Write the ids that a question file lacks into it, and change nothing else: those that its questions
    have now, so that they still match earlier runs. Returns how many there were.

    Raises DataError for the format of a public data set and where the result would not read back the same,
    and StoreError if the file cannot be written.
    """
    if file.released:
        raise DataError(f"{path} has the format of a public data set: 'fathoms questions convert' writes ids")
    if not file.derived:
        return 0
    data = read_file(path)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise DataError(f"{path}: changed while it was read; try again")
    ids = [one.id if one.id in file.derived else None for one in file.questions]
    ending = format_of(path)
    if ending in (".csv", ".tsv"):
        text, guessed = decode_table(data, path)
        with_ids, encoding = add_csv_ids(text, str(path), ids), "cp1252" if guessed else "utf-8"
        encoding = "utf-16" if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else encoding
    else:
        text, encoding = decode(data, path), "utf-8"
        with_ids = add_json_ids(text, ids, in_lines=ending != ".json" and text.lstrip()[:1] != "[")
    if read_text(with_ids, path) != file.questions:
        raise DataError(f"{path}: its ids cannot be added in place: 'fathoms questions convert' writes them")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        write_atomic(path, mark + with_ids.encode(encoding))
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
    return len(file.derived)


def refuse_existing(path: Path) -> None:
    """Raise UsageError if a file already exists."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists and would be overwritten: name another file")


def write_new(path: Path, text: str) -> None:
    """Write a new file; raises UsageError if it exists already, and StoreError if it cannot be written.

    Half of a surrogate pair, which UTF-8 cannot hold, becomes its escape in JSON (`\\ud800`).
    """
    refuse_existing(path)
    try:
        write_atomic(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
