"""Reads files with one JSON object per line, each about one question, and lists all mistakes at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import did_you_mean
from fathoms.safety.inputs import json_lines

_Row = TypeVar("_Row", bound=BaseModel)


def read_rows(path: Path, kind: type[_Row], needed: str) -> list[tuple[int, _Row]]:
    """Return the rows with their line numbers; `needed` is the key that each must have.

    Raises a single QuestionsError that lists all invalid rows.
    """
    rows: list[tuple[int, _Row]] = []
    values, complaints = json_lines(path)
    for number, data in values:
        try:
            rows.append((number, _parse(data, f"{path}:{number}", kind, needed)))
        except DataError as error:
            complaints.append(str(error))
    if complaints:
        raise QuestionsError(sorted(complaints, key=lambda text: int(text[len(f"{path}:") :].split(":")[0])))
    return rows


def unknown_keys(path: Path, rows: Sequence[tuple[int, BaseModel]]) -> list[str]:
    """Return a warning for each key that means nothing here, with its first line. Keys that begin with an
    underscore are meant to be ignored."""
    lines: dict[str, list[int]] = {}
    for line, row in rows:
        for key in row.model_extra or {}:
            if not key.startswith("_"):
                lines.setdefault(key, []).append(line)
    known = type(rows[0][1]).model_fields if rows else {}
    return [
        f"{path}:{found[0]}: the key '{key[:80]}'{did_you_mean(key, known)} is ignored"
        + (f", as in {len(found) - 1} other rows" if len(found) > 1 else "")
        for key, found in lines.items()
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
