"""Reads files with one row per question, JSON lines or a table, and lists all mistakes at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from fathoms.config import dotted, misread
from fathoms.corpora.csv_table import separator_of, table_rows
from fathoms.corpora.released import Notes
from fathoms.corpora.workbook import SUFFIX, workbook_rows
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import did_you_mean
from fathoms.safety.inputs import LARGEST_IMPORT, decode_table, each_line, parse_json, read_file

_Row = TypeVar("_Row", bound=BaseModel)
_TABLES = (".csv", ".tsv", SUFFIX)
_LONGEST_PAGE = 10
_LISTS = ("files", "contexts", "citations", "hits", "rounds", "usage")
"""The columns of a table whose cells may be JSON; a text in any other column may begin with a bracket."""


class JsonRows(Generic[_Row]):
    """The rows of a file with their line numbers, read one at a time; invalid rows are collected.

    `needed` is the key that each row must have.
    """

    def __init__(self, path: Path, kind: type[_Row], needed: str) -> None:
        self._path = path
        self._kind = kind
        self._needed = needed
        self._complaints: list[str] = []
        self._warnings: list[str] = []
        self._unknown: dict[str, list[int]] = {}

    def __iter__(self) -> Iterator[tuple[int, _Row]]:
        table = self._path.suffix.lower() in _TABLES
        for found in self._table() if table else each_line(self._path):
            try:
                if isinstance(found, DataError):
                    raise found
                number, data = found
                row = _parse(data, f"{self._path}:{number}", self._kind, self._needed)
            except DataError as error:
                self._complaints.append(str(error))
                continue
            for key in row.model_extra or {}:
                if not key.startswith("_"):  # such keys are meant to be ignored
                    self._unknown.setdefault(key, []).append(number)
            yield number, row

    def _table(self) -> Iterator[tuple[int, Any] | DataError]:
        """Yield each row of a table in CSV, TSV or .xlsx as an object, without its empty cells."""
        if self._path.suffix.lower() == SUFFIX:
            notes = Notes()
            found = workbook_rows(self._path, notes)
            self._warnings += notes.warnings()
        else:
            text, guessed = decode_table(read_file(self._path, LARGEST_IMPORT), self._path)
            self._warnings += [guessed] if guessed else []
            found = table_rows(text, str(self._path), separator_of(text))
        (first, header), *rows = found or [(1, [])]
        columns = [column.strip() for column in header]
        for column in columns:
            if column and columns.count(column) > 1:
                raise DataError(f"{self._path}:{first}: the column '{column}' appears twice")
        if self._needed not in columns:
            meant = did_you_mean(self._needed, columns)
            raise DataError(f"{self._path}:{first}: there is no column '{self._needed}'{meant}")
        for number, cells in rows:
            place = f"{self._path}:{number}"
            try:
                if len(cells) > len(columns):
                    raise DataError(f"{place}: {len(cells)} cells, but {len(columns)} columns")
                row = {
                    column: _cell(column, cell, place)
                    for column, cell in zip(columns, cells, strict=False)
                    if column and cell.strip()
                }
                # a table cannot tell an empty answer from none
                yield number, {self._needed: None, **row}
            except DataError as error:
                yield error

    def finish(self) -> Sequence[str]:
        """Return the warnings about the file; call it after the rows.

        Raises a single QuestionsError that lists all invalid rows.
        """
        if self._complaints:
            raise QuestionsError(self._complaints)
        return [*self._warnings, *self._ignored()]

    def _ignored(self) -> list[str]:
        """Return a warning for each key that means nothing here, with its first line."""
        return [
            f"{self._path}:{lines[0]}: the key '{key[:80]}'{did_you_mean(key, self._kind.model_fields)} is"
            " ignored" + (f", as in {len(lines) - 1} other rows" if len(lines) > 1 else "")
            for key, lines in self._unknown.items()
        ]


def _cell(column: str, text: str, place: str) -> Any:
    """Return the value of a cell; raises DataError. What is no list is the only item of one, and hits may be
    places such as `a.pdf:7; b.pdf`, best first."""
    if column not in _LISTS:
        return text
    if text.lstrip().startswith(("[", "{")):
        found = parse_json(text, f"{place}: {column}")
        return [found] if isinstance(found, dict) and column != "usage" else found
    if column == "hits":
        return [_hit(one.strip()) for one in re.split(r"[;\n]", text) if one.strip()]
    return [text]


def _hit(place: str) -> dict[str, Any]:
    """Return a hit that is written as `NAME:PAGE`, or as the name of a document alone."""
    document, _, page = place.rpartition(":")
    is_page = bool(document) and page.isascii() and page.strip().isdigit() and len(page) < _LONGEST_PAGE
    return {"document": document, "page": int(page)} if is_page else {"document": place}


def _parse(data: Any, place: str, kind: type[_Row], needed: str) -> _Row:
    """Validate one row; raises DataError if it is invalid."""
    if not isinstance(data, dict):
        raise DataError(f"{place}: expected an object with '{needed}' and either 'id' or 'question'")
    try:
        row = kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}".removeprefix(": ")
        if first["type"] == "missing" and first["loc"] == (needed,):
            what = f"'{needed}' is missing{did_you_mean(needed, data)}"
        raise DataError(f"{place}: {what}") from error
    for key, what in misread(row, data):
        raise DataError(f"{place}: {dotted(key)}: {what}")
    if data.get("id") is None and data.get("question") is None:
        raise DataError(f"{place}: 'id' or 'question' is missing{did_you_mean('question', data)}")
    return row
