"""The FATHOMS format: `{category: [{question, files, answers}]}`; or a plain list of such objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fathoms.corpora.rows import Placed
from fathoms.errors import DataError
from fathoms.types import Question

_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]')


def json_rows(text: str, name: str) -> Iterator[Placed]:
    """The questions of a JSON file, each with the line it begins on."""
    data = parse_json(text, name)
    if isinstance(data, list):
        yield from _objects(data, name, "entry", _object_lines(text, depth=1))
        return
    if not isinstance(data, dict):
        raise DataError(f"{name}:1: want {{category: [questions]}} or a list of questions")
    lines = _object_lines(text, depth=2)
    for category, entries in data.items():
        if not isinstance(entries, list):
            raise DataError(f"{name}: '{category}' has to be a list of questions")
        for place, row in _objects(entries, name, f"'{category}', entry", lines):
            if row.get("category", category) != category:
                raise DataError(f"{place}: category '{row['category']}' stands under '{category}'")
            yield place, {**row, "category": category}


def parse_json(text: str, name: str, first_line: int = 1) -> Any:
    """Parse JSON strictly; raises DataError with file:line:col, or the key that stands twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"{name}:{first_line + error.lineno - 1}:{error.colno}"
        raise DataError(f"{place}: not valid JSON: {error.msg}") from error
    except RecursionError as error:
        raise DataError(f"{name}:{first_line}: nested too deep") from error
    except ValueError as error:
        raise DataError(f"{name}:{first_line}: {error}") from error


def dump_fathoms_json(questions: Iterable[Question]) -> str:
    """The FATHOMS format of some questions, with their ids, grouped by category as each first appears.

    Reading it gives the same questions, in the same order if they were grouped by category before.
    """
    data: dict[str, list[dict[str, Any]]] = {}
    for question in questions:
        data.setdefault(question.category, []).append(written(question))
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def written(question: Question) -> dict[str, Any]:
    """A question as files write it, without its category: what is at its default is left out."""
    row = question.model_dump(mode="json", exclude_defaults=True, exclude={"text", "category", "answers"})
    return {"question": question.text, "answers": question.answers, **row}


def _objects(entries: list[Any], name: str, noun: str, lines: Iterator[int]) -> Iterator[Placed]:
    """The objects of a list, each with its place."""
    for number, row in enumerate(entries, start=1):
        if not isinstance(row, dict):
            raise DataError(f"{name}: {noun} {number} is not an object with a question")
        yield f"{name}:{next(lines)}", row


def _object_lines(text: str, depth: int) -> Iterator[int]:
    """The line of each object that opens inside `depth` brackets; `text` is known to be valid JSON."""
    level, line, counted = 0, 1, 0
    for match in _STRING_OR_BRACKET.finditer(text):
        if match[0] in "{[":
            if match[0] == "{" and level == depth:
                line += text.count("\n", counted, match.start())
                counted = match.start()
                yield line
            level += 1
        elif match[0] in "}]":
            level -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, if no key of it stands twice: JSON would silently drop the first."""
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice}' stands twice in one object")
    return data


def _no_constant(constant: str) -> Any:
    """JSON has no NaN and no infinity."""
    raise ValueError(f"not valid JSON: {constant}")
