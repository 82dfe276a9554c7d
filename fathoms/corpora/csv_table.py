"""The CSV question format: a header row, then one question per row, in double quotes where needed.

Commas, semicolons or tabs separate the columns; the header shows which. The columns are the question keys
that `rows` describes. In `answers`, ` | ` separates alternative variants, any one of which is enough, and
` & ` separates phrases of one variant, all of which are needed.
A phrase such as `{number: 41.5, unit: m}` is a richer form (`fathoms.types.GOLD_FORMS`), in YAML. A cell of
`answers`, `files` or `reference_claims` that begins with `[` is read as JSON, which allows phrases that
contain ` | ` or ` & `. `files` and `reference_claims` are separated with ` | `. `evidence` is a list such as
`docllm.pdf:7; docllm.pdf:9`, of names and pages, or JSON; `steps`, `nuggets`, `facts`, `quotes` and
`metadata` are always JSON. `options` are texts such as `red | green` or `A: red | B: green`, or JSON, and
`right` names one of them (`fathoms.corpora.options`).
An empty cell means that the key is absent.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from fathoms.config import parse_yaml
from fathoms.corpora import promptfoo_tests
from fathoms.corpora.fathoms_json import written
from fathoms.corpora.goldens import folded, gold_of
from fathoms.corpora.options import OPTIONS, RIGHT, in_cell
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import IGNORED, Placed, QuestionRow
from fathoms.errors import ConfigError, DataError, suggest
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
_INDEX = "_left_out"
"""The name of a column that is left out, such as the index of pandas."""
_EXCEL = re.compile(r"\ufeff?sep=([,;\t])\s*", re.IGNORECASE)
"""The first line that names the separator for Excel."""
SEPARATORS = (",", ";", "\t")
_KNOWN = (*QuestionRow.model_fields, "text", OPTIONS, RIGHT)
_JSON = ("evidence", "steps", "nuggets", "facts", "quotes", "metadata")
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
    "steps",
    "answerable",
    "reading",
    "short_answer",
    "long_answer",
    "reference_claims",
    "nuggets",
    "facts",
    "quotes",
    "metadata",
)
"""The columns that `dump_csv` writes, in this order."""


def csv_rows(
    text: str, name: str, notes: Notes, named: Mapping[str, str] | None = None
) -> Iterator[Placed | DataError]:
    """Yield each question of a CSV file with its place (`file:line`), or a DataError for a row in error.

    `named` gives the columns of a foreign table by the keys that they are, `answer` being an expected answer
    in any form. The tables of evaluation tools are known by their columns. Raises DataError if the file as a
    whole is not valid CSV or its header is wrong.
    """
    rows = table_rows(text, name, separator_of(text))
    yield from row_questions(rows, name, notes, named, lambda line: answer_columns(text, [line])[0])


def row_questions(
    rows: Sequence[tuple[int, list[str]]],
    name: str,
    notes: Notes,
    named: Mapping[str, str] | None = None,
    answers_at: Callable[[int], int | None] = lambda line: None,
) -> Iterator[Placed | DataError]:
    """Yield each question of a table as `csv_rows` does. `rows` are those that are not empty, by line, the
    header first, and `answers_at` says in which column of a line the answers begin."""
    header, *table = rows or [(1, [])]
    place = f"{name}:{header[0]}"
    columns = _without_index([column.strip() for column in header[1]], table, place, notes)
    foreign = None if named else _foreign(columns)
    if named:
        columns = _renamed(columns, named, place, notes)
    elif foreign is None:
        columns = _in_lower_case(columns, place, notes)
        _check_header(columns, place)
    for line, cells in table:
        if len(cells) != len(columns):
            yield DataError(f"{name}:{line}: {len(cells)} cells under a header of {len(columns)} columns")
            continue
        row = {column: cell for column, cell in zip(columns, cells, strict=True) if column != _INDEX}
        if foreign is not None:
            yield f"{name}:{line}", foreign(row) or {}
            continue
        filled = {column: cell for column, cell in row.items() if cell.strip()}
        values: dict[str, Any] = {}
        if named and "answer" in filled:
            values |= gold_of(filled.pop("answer"), f"{name}:{line}", notes)
        wrong: list[str] = []
        for column, cell in filled.items():
            try:
                values[column] = _value(column, cell)
            except _FormError as error:
                at = answers_at(line)
                wrong.append(f"{name}:{line}:{f'{at}:' if at else ''} {error}")
            except DataError as error:
                wrong.append(f"{name}:{line}: {column}: {error}")
        yield DataError("\n".join(wrong)) if wrong else (f"{name}:{line}", values)


def is_foreign(columns: Sequence[str]) -> bool:
    """Whether a table has no column of the questions, and is not of an evaluation tool that is known."""
    lower = [column.lower() for column in columns]
    return "question" not in lower and "text" not in lower and _foreign(columns) is None


def _foreign(columns: Sequence[str]) -> Callable[[dict[str, str]], dict[str, Any] | None] | None:
    """Return what makes a row of an evaluation tool of the cells under these columns, if any does."""
    empty = dict.fromkeys(columns, "")
    return next((one for one in (promptfoo_tests.of_table, folded) if one(empty) is not None), None)


def _without_index(
    columns: list[str], table: Sequence[tuple[int, list[str]]], place: str, notes: Notes
) -> list[str]:
    """Return the columns with a name for the index that pandas writes as a first one without a name."""
    if not columns or columns[0] not in ("", "Unnamed: 0"):
        return columns
    if [cells[0].strip() for _, cells in table] != [str(number) for number in range(len(table))]:
        return columns
    notes.add("the first column has no name and counts the rows, and is left out", place)
    return [_INDEX, *columns[1:]]


def _in_lower_case(columns: list[str], place: str, notes: Notes) -> list[str]:
    """Return the columns with the names of keys where they differ from them in case alone."""
    found = [one.lower() if one not in _KNOWN and one.lower() in _KNOWN else one for one in columns]
    if found != columns:
        notes.add("names of columns, read in lower case", place)
    return found


def _renamed(columns: list[str], named: Mapping[str, str], place: str, notes: Notes) -> list[str]:
    """Return the columns under the keys that `named` gives them; the others are named and left out."""
    if unknown := [key for key in named if key not in (*_KNOWN, "answer")]:
        hint = suggest(unknown[0], (*_KNOWN, "answer"))
        raise DataError(f"{place}: no key of a question is called '{unknown[0]}'{hint}")
    if missing := [column for column in named.values() if columns.count(column) != 1]:
        raise DataError(
            f"{place}: there is not one column '{missing[0]}'{suggest(missing[0], columns)}: the columns are"
            f" {', '.join(columns)}"
        )
    keys = {column: key for key, column in named.items()}
    for column in columns:
        if column not in keys and column != _INDEX:
            notes.add(f"the column '{column[:80]}' is left out", place)
    return [keys.get(column, _INDEX) for column in columns]


def add_csv_ids(text: str, name: str, ids: Sequence[str | None]) -> str:
    """Return the text of a valid CSV file with an id in each row that has one in `ids`. Without a column for
    them, it gets one, before the others; all other cells are as they were written."""
    separator = separator_of(text)
    header, *table = table_rows(text, name, separator)
    lines = io.StringIO(text, newline="").readlines()
    columns = [column.strip() for column in header[1]]
    if "id" not in columns:
        for (line, _), own_id in zip([header, *table], ["id", *ids], strict=True):
            lines[line - 1] = f"{own_id}{separator}{lines[line - 1]}"
        return "".join(lines)
    ends = [*(line for line, _ in table[1:]), len(lines) + 1]
    for (line, cells), end, own_id in zip(table, ends, ids, strict=True):
        if own_id is None:
            continue
        cells[columns.index("id")] = own_id
        row = io.StringIO(newline="")
        after = lines[end - 2]
        ending = after[len(after.rstrip("\r\n")) :]
        csv.writer(row, delimiter=separator, lineterminator=ending).writerow(cells)
        lines[line - 1 : end - 1] = [row.getvalue(), *[""] * (end - line - 1)]
    return "".join(lines)


class _FormError(DataError):
    """A richer form of an answer is not valid YAML; the message has no place yet."""


def separator_of(text: str) -> str:
    """Return the character that separates columns: of comma, semicolon and tab, the one that finds most known
    columns in the header."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    if said := _EXCEL.match(header):
        return said[1]

    def known(separator: str) -> int:
        names = (name.strip().strip('"').lower() for name in header.split(separator))
        return sum(name in _KNOWN or name in IGNORED for name in names)

    return max(SEPARATORS, key=lambda one: (known(one), header.count(one)))


def table_rows(text: str, name: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows, each with the number of the line it begins on."""
    rows: list[tuple[int, list[str]]] = []
    before = csv.field_size_limit(LONGEST_CELL)  # a global setting of the csv module, restored below
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    first = 1
    try:
        for cells in reader:
            if any(cells) and (rows or not _EXCEL.fullmatch(separator.join(cells))):
                rows.append((first, cells))
            first = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}:{first}: not valid CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
    return rows


_OTHER_NAMES = {
    **dict.fromkeys(("answer", "gold", "expected", "ground_truth"), "'answers'"),
    **dict.fromkeys(("document", "documents", "pdf", "source"), "'files', or 'evidence' with NAME.pdf:PAGE"),
    **dict.fromkeys(("page", "pages"), "'evidence' with NAME.pdf:PAGE"),
}
"""What people call columns, and what the columns are named."""


def _check_header(header: list[str], place: str) -> None:
    """Raise DataError for a header that is empty, or that has a duplicate or an unknown column."""
    if not header:
        raise DataError(f"{place}: expected a header with the columns 'question' and 'answers'")
    for column in header:
        if header.count(column) > 1:
            raise DataError(f"{place}: the column '{column}' appears twice")
        if column not in _KNOWN and column not in IGNORED and not column.startswith("_"):
            known = _OTHER_NAMES.get(column.strip().lower())
            meant = f" (did you mean {known}?)" if known else suggest(column, _KNOWN)
            raise DataError(
                f"{place}: unknown column '{column}'{meant}; columns are separated by commas, semicolons or"
                " tabs"
            )


def _value(column: str, cell: str) -> Any:
    """Parse a cell according to its column; raises DataError. Some values that do not parse are left to
    `QuestionRow`."""
    if column == "evidence" and not cell.lstrip().startswith(("[", "{")):
        return [_page(place) for place in re.split(r";| \| ", cell) if place.strip()]
    if column == OPTIONS and not cell.lstrip().startswith(("[", "{")):
        return in_cell(cell)
    if column in (*_JSON, OPTIONS) or (column in _LISTS and cell.lstrip().startswith("[")):
        return _json(cell)
    if column == "answers":
        return [[read_phrase(part) for part in variant.split(" & ")] for variant in cell.split(" | ")]
    if column in _LISTS:
        return [file.strip() for file in cell.split(" | ")]
    if column == "hops" and _COUNT.fullmatch(cell.strip()):
        return int(cell)
    if column == "answerable":
        return _TRUTH.get(cell.strip().lower(), cell)
    return cell


def _json(cell: str) -> Any:
    """Parse a cell as JSON; raises DataError that says where in the cell the mistake is."""
    try:
        return parse_json(cell, "")
    except DataError as error:
        place, _, what = str(error).partition(": ")
        column = place.rpartition(":")[2]
        raise DataError(
            f"{what} (at character {column} of the cell)" if place.count(":") == 2 else what
        ) from error


def _page(place: str) -> dict[str, Any]:
    """Parse a piece of evidence such as `docllm.pdf:7`; raises DataError."""
    document, _, page = place.strip().rpartition(":")
    if not document.strip() or not _COUNT.fullmatch(page.strip()):
        raise DataError(
            f"'{place.strip()[:60]}' names no page: write NAME.pdf:PAGE, several separated by ';', or JSON"
        )
    return {"document": document.strip(), "page": int(page)}


def answer_columns(text: str, lines: Sequence[int]) -> list[int | None]:
    """Return the column in the file, from 1, at which the answers of each row begin; `None` for a row without
    answers, or with a line break before them. `lines` are the lines on which the rows begin."""
    separator = separator_of(text)
    _, header = table_rows(text, "", separator)[0]
    names = [column.strip() for column in header]
    written = text.split("\n")
    found: list[int | None] = []
    for line in lines:
        starts = cell_starts(written[line - 1], separator)
        place = names.index("answers") if "answers" in names else len(starts)
        found.append(starts[place] + 1 if place < len(starts) else None)
    return found


def cell_starts(line: str, separator: str) -> list[int]:
    """Return the places in a line of the file, from 0, at which its cells begin."""
    starts, quoted = [0], False
    for at, character in enumerate(line, start=1):
        quoted ^= character == '"'
        if character == separator and not quoted:
            starts.append(at)
    return starts


def read_phrase(text: str) -> Any:
    """Return a phrase, or the richer form that a phrase such as `{number: 41.5, unit: m}` stands for. Raises
    DataError for a form that is not valid YAML."""
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
        if cell.strip() and not cell.lstrip().startswith("[") and _value(column, cell) == same:
            return cell
    return json.dumps(value, ensure_ascii=False)
