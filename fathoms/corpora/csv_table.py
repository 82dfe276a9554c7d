"""CSV: a header, then one question a row; comma, double quotes, UTF-8.

The columns are the keys of a question. In `answers`, ` | ` stands between variants of which any will
do and ` & ` between phrases that are all needed; a cell that begins with `[` is read as JSON instead,
which is how to write a phrase that holds one of these. `files` is a list with ` | `, or JSON;
`evidence` is JSON. An empty cell is a key that is not given.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fathoms.config import suggest
from fathoms.corpora.fathoms_json import written
from fathoms.corpora.rows import IGNORED, Placed, Row
from fathoms.errors import DataError
from fathoms.safety.inputs import parse_json
from fathoms.types import Question

LONGEST_CELL = 64 * 2**20
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}
COLUMNS = (
    "id",
    "category",
    "question",
    "answers",
    "files",
    "evidence",
    "reference",
    "hops",
    "answerable",
)
"""What `dump_csv` writes, in this order."""


def csv_rows(text: str, name: str) -> Iterator[Placed | DataError]:
    """The questions of a CSV file, each with the line it begins on, and what is wrong with the other rows."""
    header, *table = _table(text, name) or [(1, [])]
    columns = [column.strip() for column in header[1]]
    _check_header(columns, f"{name}:{header[0]}")
    for line, cells in table:
        if len(cells) != len(columns):
            yield DataError(f"{name}:{line}: {len(cells)} cells under a header of {len(columns)} columns")
            continue
        filled = {column: cell for column, cell in zip(columns, cells, strict=True) if cell.strip()}
        try:
            yield (
                f"{name}:{line}",
                {column: _value(column, cell, name, line) for column, cell in filled.items()},
            )
        except DataError as error:
            yield error


def _table(text: str, name: str) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line it begins on."""
    rows: list[tuple[int, list[str]]] = []
    before = csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    first = 1
    try:
        for cells in reader:
            if any(cells):
                rows.append((first, cells))
            first = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}:{first}: not valid CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
    return rows


def _check_header(header: list[str], place: str) -> None:
    """Raise DataError for a header that is empty, has a column twice, or one that nobody knows."""
    known = [*Row.model_fields, "text"]
    if not header:
        raise DataError(f"{place}: want a header with the columns 'question' and 'answers'")
    for column in header:
        if header.count(column) > 1:
            raise DataError(f"{place}: the column '{column}' stands twice")
        if column not in known and column not in IGNORED and not column.startswith("_"):
            raise DataError(
                f"{place}: unknown column '{column}'{suggest(column, known)}; a comma parts columns"
            )


def _value(column: str, cell: str, name: str, line: int) -> Any:
    """What a cell means in its column."""
    if column == "evidence" or (column in ("answers", "files") and cell.lstrip().startswith("[")):
        return parse_json(cell, name, first_line=line)
    if column == "answers":
        return [variant.split(" & ") for variant in cell.split(" | ")]
    if column == "files":
        return [file.strip() for file in cell.split(" | ")]
    if column == "hops" and _COUNT.fullmatch(cell.strip()):
        return int(cell)
    if column == "answerable":
        return _TRUTH.get(cell.strip().lower(), cell)
    return cell


def dump_csv(questions: Iterable[Question]) -> str:
    """Some questions as CSV, with their ids; columns that none of them fills are left out.

    Reading it gives the same, but for a `reference` of nothing but white space: an empty cell says nothing.
    """
    rows = [{"category": question.category, **written(question)} for question in questions]
    return dump_rows(rows, [column for column in COLUMNS if any(column in row for row in rows)])


def dump_rows(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> str:
    """A table of rows as files write them."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    """How a value is written: a list with ` | ` and ` & ` where it reads back as it is, else as JSON."""
    if value is None or value == () or value == []:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        short = _short(value)
        return json.dumps(value, ensure_ascii=False) if short is None else short
    return json.dumps(value)


def _short(items: Sequence[Any]) -> str | None:
    """A list of names, or of variants, as people write it; `None` where that would say something else."""
    if any(isinstance(item, dict) for item in items):
        return None
    parts = [item if isinstance(item, str) else " & ".join(item) for item in items]
    cell = " | ".join(parts)
    if cell.lstrip().startswith("["):
        return None
    column = "files" if isinstance(items[0], str) else "answers"
    same = cell.strip() and _value(column, cell, "", 0) == [
        item if isinstance(item, str) else list(item) for item in items
    ]
    return cell if same else None
