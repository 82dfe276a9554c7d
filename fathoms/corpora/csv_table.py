"""The CSV question format: a header row, then one question per row (comma, double quotes, UTF-8).

The columns are the question keys that `rows` describes. In `answers`, ` | ` separates alternative
variants, any one of which is enough, and ` & ` separates phrases of one variant, all of which are needed.
A phrase such as `{number: 41.5, unit: m}` is a richer form (`fathoms.types.GOLD_FORMS`), in YAML. A cell of
`answers`, `files` or `reference_claims` that begins with `[` is read as JSON, which allows phrases that
contain ` | ` or ` & `. `files` and `reference_claims` are separated with ` | `; `evidence`, `quotes` and
`metadata` are always JSON. An empty cell means that the key is absent.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from fathoms.config import parse_yaml, suggest
from fathoms.corpora.fathoms_json import written
from fathoms.corpora.rows import IGNORED, Placed, QuestionRow
from fathoms.errors import ConfigError, DataError
from fathoms.safety.inputs import parse_json
from fathoms.types import GOLD_FORMS, Question

# The default of the csv module, 131,072 characters, is too small for long evidence.
LONGEST_CELL = 64 * 2**20
_FORM = re.compile(r"\{\s*[\"']?(\w+)[\"']?\s*:")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}
_JSON = ("evidence", "quotes", "metadata")
_LISTS = ("answers", "files", "reference_claims")
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
    "short_answer",
    "long_answer",
    "reference_claims",
    "quotes",
    "metadata",
)
"""The columns that `dump_csv` writes, in this order."""


def csv_rows(text: str, name: str) -> Iterator[Placed | DataError]:
    """Yield each question of a CSV file with its place (`file:line`), or a DataError for a row in error.

    Raises DataError if the file as a whole is not valid CSV or its header is wrong.
    """
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
        except _FormError as error:
            (column,) = answer_columns(text, [line])
            yield DataError(f"{name}:{line}:{f'{column}:' if column else ''} {error}")
        except DataError as error:
            yield error


class _FormError(DataError):
    """A richer form of an answer is not valid YAML; the message has no place yet."""


def _table(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows, each with the number of the line it begins on."""
    rows: list[tuple[int, list[str]]] = []
    before = csv.field_size_limit(LONGEST_CELL)  # a global setting of the csv module, restored below
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
    """Raise DataError for a header that is empty, or that has a duplicate or an unknown column."""
    known = [*QuestionRow.model_fields, "text"]
    if not header:
        raise DataError(f"{place}: expected a header with the columns 'question' and 'answers'")
    for column in header:
        if header.count(column) > 1:
            raise DataError(f"{place}: the column '{column}' appears twice")
        if column not in known and column not in IGNORED and not column.startswith("_"):
            raise DataError(
                f"{place}: unknown column '{column}'{suggest(column, known)}; columns are separated by commas"
            )


def _value(column: str, cell: str, name: str, line: int) -> Any:
    """Parse a cell according to its column; `QuestionRow` rejects values that do not parse."""
    if column in _JSON or (column in _LISTS and cell.lstrip().startswith("[")):
        return parse_json(cell, name, first_line=line)
    if column == "answers":
        return [[_phrase(part) for part in variant.split(" & ")] for variant in cell.split(" | ")]
    if column in _LISTS:
        return [file.strip() for file in cell.split(" | ")]
    if column == "hops" and _COUNT.fullmatch(cell.strip()):
        return int(cell)
    if column == "answerable":
        return _TRUTH.get(cell.strip().lower(), cell)
    return cell


def answer_columns(text: str, lines: Sequence[int]) -> list[int | None]:
    """Return the column in the file, from 1, at which the answers of each row begin; `None` for a row without
    answers, or with a line break before them. `lines` are the lines on which the rows begin."""
    _, header = _table(text, "")[0]
    names = [column.strip() for column in header]
    written = text.split("\n")
    found: list[int | None] = []
    for line in lines:
        starts, quoted = [0], False
        for at, character in enumerate(written[line - 1], start=1):
            quoted ^= character == '"'
            if character == "," and not quoted:
                starts.append(at)
        place = names.index("answers") if "answers" in names else len(starts)
        found.append(starts[place] + 1 if place < len(starts) else None)
    return found


def _phrase(text: str) -> Any:
    """Return a phrase, or the richer form that a phrase such as `{number: 41.5, unit: m}` stands for."""
    form = _FORM.match(text.strip())
    if form is None or not get_close_matches(form[1], GOLD_FORMS, 1, 0.7):
        return text
    if not text.rstrip().endswith("}"):
        raise _FormError(f"answers: a ' | ' or ' & ' divides {text.strip()[:60]}: write the cell as JSON")
    try:
        value = parse_yaml(text.strip(), "")[0]
        return json.loads(json.dumps(value, default=str))  # YAML reads a day as a date
    except ConfigError as error:
        raise _FormError(f"answers: {str(error).partition(': ')[2]}: {text.strip()[:60]}") from error


def dump_csv(questions: Iterable[Question]) -> str:
    """Return questions as CSV text, with their ids and without columns that are empty for all of them.

    Reading the text back gives equal questions, except that a `reference`, `short_answer` or `long_answer` of
    only white space is lost: it reads as an empty cell.
    """
    rows = [{"category": question.category, **written(question)} for question in questions]
    return dump_rows(rows, [column for column in COLUMNS if any(column in row for row in rows)])


def dump_rows(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> str:
    """Return rows as CSV text with the given columns, each value in the notation of a question file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    """Return the text of a cell; a list uses ` | ` and ` & ` if that reads back unchanged, else JSON."""
    if value is None or value == () or value == []:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False)
    parts = [part for item in value for part in (item if isinstance(item, list | tuple) else (item,))]
    if not any(isinstance(part, dict) for part in parts):
        cell = " | ".join(item if isinstance(item, str) else " & ".join(item) for item in value)
        column = "files" if isinstance(value[0], str) else "answers"
        same = [item if isinstance(item, str) else list(item) for item in value]
        if cell.strip() and not cell.lstrip().startswith("[") and _value(column, cell, "", 0) == same:
            return cell
    return json.dumps(value, ensure_ascii=False)
