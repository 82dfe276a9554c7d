"""Reads question files of every format; the file name's extension decides on the format."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from fathoms.config import Key
from fathoms.corpora import (
    beir,
    chart_rag,
    double_bench,
    goldens,
    mmdocir,
    mmdocrag,
    mmlongbench,
    mrag_bench,
    promptfoo_tests,
    vidore,
    visual_rag,
    webqa,
    workbook,
)
from fathoms.corpora.csv_table import answer_columns, csv_rows, row_questions, separator_of, table_rows
from fathoms.corpora.fathoms_json import json_rows, yaml_rows
from fathoms.corpora.jsonl import jsonl_rows
from fathoms.corpora.places import Places, json_places, jsonl_places
from fathoms.corpora.released import Notes, with_unique_ids
from fathoms.corpora.rows import Placed, ignored_keys, questions_of
from fathoms.corpora.tables import columns_of, rows_of
from fathoms.errors import DataError, QuestionsError, UsageError, suggest
from fathoms.paths import sha256_file
from fathoms.safety.inputs import decode, decode_table, read_file
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Question

FORMATS: dict[str, Callable[[str, str, Notes], Iterator[Placed | DataError]]] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
}
_TABLES = (".csv", ".tsv")
COLUMNAR = (".parquet", ".arrow")
_YAML = (".yaml", ".yml")
RELEASED: tuple[Any, ...] = (
    *(double_bench, mmdocir, mmdocrag, mmlongbench, visual_rag, webqa, mrag_bench, chart_rag),
    *(promptfoo_tests, *goldens.FORMATS),
)
"""The formats of released data sets and of evaluation tools; their rows are recognised by their keys."""


@dataclass(frozen=True)
class QuestionFile:
    """The questions of one file, in file order.

    `sha256` is that of the file. `lines` are the line numbers on which the questions begin. `ignored` lists
    the keys in the file that were ignored, such as `notes`, sorted. `released` says that the file has the
    format of a public data set, and its rows were converted. `derived` are the ids that do not stand in the
    file, but follow from category and position.
    """

    questions: tuple[Question, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()
    released: bool = False
    derived: frozenset[str] = frozenset()

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the questions, in order of first appearance."""
        return tuple(dict.fromkeys(question.category for question in self.questions))


def read_questions(path: Path, named: Mapping[str, str] | None = None) -> QuestionFile:
    """Read a `.json`, `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.xlsx` question file; `rows` describes the keys
    of a question. The files of the data sets that docs/data-sets.md describes are read as they were released,
    also in parquet, and for ViDoRe and VisRAG the folder with the tables. The question sets of evaluation
    tools (`goldens`, `promptfoo_tests`) are read too, promptfoo's also in YAML. `named` gives the columns of
    a table by the keys that they are.

    Raises UsageError if the file does not exist. Raises DataError for an unknown extension, for a file
    without questions, and for invalid questions; that one lists all of them, each with `file:line`.
    """
    if is_table(path):
        return _read_tables(path)
    data = _read(path)  # first, so that a file that is not there is called that, whatever its name ends in
    notes = Notes()
    if path.suffix.lower() in _YAML:
        tests = yaml_rows(decode(data, path), str(path), notes)
        converted = _converted(list(_to_first(tests)), tests, path, notes)
        return _question_file(path, converted or [], notes, sha256=_sha256(data))
    read, text, guessed = _reader(path, data, named)
    rows = read(notes)
    first = list(_to_first(rows))
    if (released := _converted(first, rows, path, notes)) is not None:
        return _question_file(path, released, notes, sha256=_sha256(data))
    passed = _Passed()
    try:
        questions, warnings = questions_of(passed.each(chain(first, rows)))
    except QuestionsError:  # now with the places of the answers, which take long to find
        found = list(read(Notes()))
        questions, warnings = questions_of(found, _answer_places(text, path, found) if text else [])
    warnings = (*([guessed] if guessed else []), *notes.warnings(), *warnings)
    if not questions:
        raise DataError(f"{path}: contains no questions")
    derived = frozenset(one.id for one, known in zip(questions, passed.has_id, strict=True) if not known)
    ignored = tuple(sorted(passed.ignored))
    return QuestionFile(questions, _sha256(data), warnings, tuple(passed.lines), ignored, derived=derived)


def _reader(
    path: Path, data: bytes, named: Mapping[str, str] | None
) -> tuple[Callable[[Notes], Iterator[Placed | DataError]], str, str | None]:
    """Return what reads the rows of a file, its text, and a warning where its encoding was guessed; a
    workbook has no text."""
    name = str(path)
    if path.suffix.lower() == workbook.SUFFIX:
        return lambda notes: row_questions(workbook.workbook_rows(path, notes), name, notes, named), "", None
    rows = FORMATS[format_of(path)]
    text, guessed = _decoded(data, path)
    if named and rows is not csv_rows:
        raise UsageError(f"{path}: columns are named for tables, in CSV, TSV or .xlsx")
    if named:
        return lambda notes: csv_rows(text, name, notes, named), text, guessed
    return lambda notes: rows(text, name, notes), text, guessed


def _to_first(rows: Iterator[Placed | DataError]) -> Iterator[Placed | DataError]:
    """Yield rows up to the first that could be read."""
    for row in rows:
        yield row
        if not isinstance(row, DataError):
            return


class _Passed:
    """What is known of the rows of a file after they were read one by one, without the rows themselves: the
    lines on which those begin that could be read, whether each has an id, and which keys were ignored."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.has_id: list[bool] = []
        self.ignored: set[str] = set()

    def each(self, rows: Iterable[Placed | DataError]) -> Iterator[Placed | DataError]:
        """Yield the rows as they are, and collect what is known of each."""
        for row in rows:
            if not isinstance(row, DataError):
                place, data = row
                self.lines.append(int(place.rpartition(":")[2]))
                self.has_id.append(bool(data.get("id")))
                self.ignored |= ignored_keys(data)
            yield row


def columns_in(path: Path) -> list[str]:
    """Return the names of the columns of a table in CSV, TSV or .xlsx; none for another file."""
    rows: Sequence[tuple[int, list[str]]] = ()
    if path.suffix.lower() == workbook.SUFFIX:
        rows = workbook.workbook_rows(path, Notes())
    elif path.suffix.lower() in _TABLES:
        text = decode_table(_read(path), path)[0]
        rows = table_rows(text, str(path), separator_of(text))
    return [column.strip() for column in rows[0][1]] if rows else []


def is_table(path: Path) -> bool:
    """Whether questions are in parquet or Arrow: a file of these formats, or a folder, which no other is."""
    return path.suffix.lower() in COLUMNAR or (path.is_dir() and path.suffix.lower() not in FORMATS)


def _read_tables(path: Path) -> QuestionFile:
    """Read the questions of a released data set that is in parquet or Arrow."""
    if not path.exists():
        raise UsageError(f"{path}: question file not found")
    files = [path]
    if path.is_dir():  # the parts of one table
        files = [one for one in sorted(path.iterdir()) if one.suffix.lower() in COLUMNAR]
    columns = [columns_of(one) for one in files]
    reader = next(
        (one for one in RELEASED if columns and all(set(names) >= one.KEYS for names in columns)), None
    )
    if reader is not None:
        notes = Notes()
        placed = [
            (f"{one}:{number}", question)
            for one in files
            for number, row in enumerate(rows_of(one), start=1)
            for question in reader.questions(row, f"{one}:{number}", notes)
        ]
        return _question_file(path, placed, notes, sha256=_sha256_of(files))
    if path.is_dir() and beir.is_beir(path):
        notes = Notes()
        placed = beir.rows(path, notes)
        packed = [one for one in path.rglob("*") if one.name.endswith((".jsonl", ".tsv", ".gz"))]
        return _question_file(path, placed, notes, sha256=_sha256_of(sorted(packed)))
    if path.is_file() and "query" not in columns[0]:
        raise DataError(f"{path}: no format of questions has the columns {', '.join(columns[0][:20])}")
    placed, notes, sha256 = vidore.rows(path)
    return _question_file(path, placed, notes, sha256=sha256)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sha256_of(files: Sequence[Path]) -> str:
    """Return the sha256 of a file, or a hash of those of several."""
    hashes = [sha256_file(one) for one in files]
    return hashes[0] if len(hashes) == 1 else fingerprint("the parts of a table", hashes)


def _converted(
    first: Sequence[Placed | DataError], others: Iterable[Placed | DataError], path: Path, notes: Notes
) -> list[Placed] | None:
    """Return the rows of a released format in the keys of `rows`, and note what they have wrong; `None` for
    rows of our own formats. `first` are those up to the first that could be read, which shows the format."""
    keys = first[-1][1].keys() if first and not isinstance(first[-1], DataError) else set()
    reader = next((one for one in RELEASED if keys >= one.KEYS), None)
    if reader is None:
        return None
    converted = []
    for row in chain(first, others):
        if isinstance(row, DataError):
            line = re.search(r":(\d+)", str(row).removeprefix(str(path)))
            notes.add(
                "entries left out, because they are not JSON objects", f"{path}:{line[1] if line else 1}"
            )
        else:
            place, data = row
            converted += [(place, question) for question in reader.questions(data, place, notes)]
    return converted


def _question_file(path: Path, placed: list[Placed], notes: Notes, *, sha256: str) -> QuestionFile:
    """Return the questions of converted rows. A row that breaks a rule of `rows` is left out and counted."""
    placed = with_unique_ids(placed, notes)
    try:
        questions, _ = questions_of(placed)
    except QuestionsError:
        placed = [row for row in placed if _is_sound(row, notes)]
        questions, _ = questions_of(placed)
    if not questions:
        raise DataError("\n".join([f"{path}: contains no questions", *notes.warnings()]))
    lines = tuple(int(place.rpartition(":")[2]) for place, _ in placed)
    return QuestionFile(questions, sha256, notes.warnings(), lines, released=True)


def _is_sound(row: Placed, notes: Notes) -> bool:
    """Return whether a row is a valid question; otherwise the reason is counted."""
    try:
        questions_of([row])
    except QuestionsError as error:
        notes.add(f"rows left out, because {error.complaints[0].partition(': ')[2][:200]}", row[0])
        return False
    return True


def find_places(path: Path, file: QuestionFile) -> Places:
    """Return the places of the values of a file that was read before; in the format of a public data set,
    only the lines of its questions.

    Raises DataError if the file has changed since it was read.
    """
    if file.released or path.suffix.lower() == workbook.SUFFIX:
        return Places(file.lines)
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise DataError(f"{path}: changed while it was read; try again")
    if format_of(path) in _TABLES:
        return Places(file.lines)
    find = json_places if format_of(path) == ".json" else jsonl_places
    return find(decode(data, path), file.lines)


def _answer_places(text: str, path: Path, rows: Sequence[Placed | DataError]) -> list[dict[Key, str]]:
    """Return the place (`file:line:col`) of every value in the answers and nuggets of each row that could be
    read; of those of a table, only where the answers begin."""
    lines = [int(row[0].rpartition(":")[2]) for row in rows if not isinstance(row, DataError)]
    if format_of(path) in _TABLES:
        columns = zip(lines, answer_columns(text, lines), strict=True)
        return [{("answers",): f"{path}:{line}:{at}"} if at else {} for line, at in columns]
    if format_of(path) == ".json" and len(lines) < len(rows):
        return []  # entries that are no questions make it unclear which entry a row is
    keys = (json_places if format_of(path) == ".json" else jsonl_places)(text, lines).keys
    return [
        {
            key: ":".join(map(str, (path, *place)))
            for key, place in known.items()
            if key[:1] in (("answers",), ("nuggets",))
        }
        for known in keys
    ]


def read_text(text: str, path: Path) -> tuple[Question, ...]:
    """Parse questions from a text, in the format of the extension of `path`; the file itself is not read.

    Raises DataError as `read_questions` does.
    """
    return questions_of(FORMATS[format_of(path)](text, str(path), Notes()))[0]


def format_of(path: Path) -> str:
    """Return the extension of a question file in lower case; raises DataError if no format has it."""
    if path.suffix.lower() == workbook.SUFFIX:
        raise DataError(f"{path}: workbooks are read but not written: 'fathoms questions convert' makes CSV")
    if path.suffix.lower() in (".xls", ".xlsb", ".ods"):
        raise DataError(f"{path}: this format is not read: save the workbook as .xlsx or CSV")
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
