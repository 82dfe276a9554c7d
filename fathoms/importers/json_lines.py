"""Reads files with one JSON object per line, each about one question, and lists all mistakes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import did_you_mean
from fathoms.safety.inputs import each_line

_Row = TypeVar("_Row", bound=BaseModel)


class JsonRows(Generic[_Row]):
    """The rows of a file with their line numbers, read one at a time; invalid rows are collected.

    `needed` is the key that each row must have.
    """

    def __init__(self, path: Path, kind: type[_Row], needed: str) -> None:
        self._path = path
        self._kind = kind
        self._needed = needed
        self._complaints: list[str] = []
        self._unknown: dict[str, list[int]] = {}

    def __iter__(self) -> Iterator[tuple[int, _Row]]:
        for found in each_line(self._path):
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

    def finish(self) -> Sequence[str]:
        """Return a warning for each key that means nothing here, with its first line; call it after the rows.

        Raises a single QuestionsError that lists all invalid rows.
        """
        if self._complaints:
            raise QuestionsError(self._complaints)
        return [
            f"{self._path}:{lines[0]}: the key '{key[:80]}'{did_you_mean(key, self._kind.model_fields)} is"
            " ignored" + (f", as in {len(lines) - 1} other rows" if len(lines) > 1 else "")
            for key, lines in self._unknown.items()
        ]


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
