"""The FATHOMS JSON question format.

A file is either `{category: [{question, files, answers}, ...], ...}` or a plain list of question objects; the
questions of WebQA are an object by their ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fathoms.config import Key, parse_yaml
from fathoms.corpora import goldens, promptfoo_tests, webqa
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import Placed
from fathoms.errors import ConfigError, DataError
from fathoms.safety.inputs import parse_json
from fathoms.types import Question

# Strings are matched so that brackets inside them are not counted.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]')


def json_rows(text: str, name: str, notes: Notes) -> Iterator[Placed | DataError]:
    """Yield each question of a JSON file with its place (`file:line`), or a DataError for an entry in error.

    Raises DataError if the text is not valid JSON or neither an object nor a list.
    """
    data = parse_json(text, name)
    if (tests := promptfoo_tests.tests_of(data)) is not None and isinstance(data, dict):
        yield from _tests(tests, name, {}, notes)
        return
    if isinstance(data, dict) and (wrapped := _wrapped(data)):
        key, data = wrapped
        before = text.find(f'"{key}"')
        lines = _object_lines(text[before:], depth=1)
        yield from _objects(data, name, "entry", (text.count("\n", 0, before) + line for line in lines))
        return
    if isinstance(data, list):
        yield from _objects(data, name, "entry", _object_lines(text, depth=1))
        return
    if not isinstance(data, dict):
        raise DataError(f"{name}:1: expected {{category: [questions]}} or a list of questions")
    if any(isinstance(entry, dict) and entry.keys() >= webqa.KEYS for entry in data.values()):
        by_id = [{"Guid": key, **entry} if isinstance(entry, dict) else entry for key, entry in data.items()]
        yield from _objects(by_id, name, "entry", _object_lines(text, depth=1))
        return
    lines = _object_lines(text, depth=2)
    for category, entries in data.items():
        if not isinstance(entries, list):
            yield DataError(f"{name}: '{category}' has to be a list of questions")
            continue
        for found in _objects(entries, name, f"'{category}', entry", lines):
            if isinstance(found, DataError):
                yield found
                continue
            place, row = found
            if row.get("category", category) != category:
                yield DataError(f"{place}: category '{row['category']}' is listed under '{category}'")
            else:
                yield place, {**row, "category": category}


def yaml_rows(text: str, name: str, notes: Notes) -> Iterator[Placed | DataError]:
    """Yield each test case of a file of promptfoo in YAML; raises DataError for any other YAML."""
    try:
        data, places = parse_yaml(text, name)
    except ConfigError as error:
        raise DataError(str(error)) from error
    tests = promptfoo_tests.tests_of(data)
    if tests is None:
        raise DataError(f"{name}: YAML is read for tests of promptfoo alone: write questions as JSON or CSV")
    at: Key = ("tests",) if isinstance(data, dict) else ()
    lines: dict[Any, int] = {}
    for key, place in places.items():
        if key[: len(at)] == at and len(key) > len(at):
            lines.setdefault(key[len(at)], int(place.split(":")[-2]))
    tests = json.loads(json.dumps(tests, default=str))  # YAML reads a day as a date
    yield from _tests(tests, name, lines, notes)


def _tests(
    tests: list[Any], name: str, lines: Mapping[Any, int], notes: Notes
) -> Iterator[Placed | DataError]:
    """Yield the tests of a configuration of promptfoo; those that lie in other files are named."""
    for number, test in enumerate(tests):
        place = f"{name}:{lines.get(number, 1)}"
        if isinstance(test, dict) and "path" not in test:
            yield place, {"vars": {}, **test}
        else:
            file = test.get("path") if isinstance(test, dict) else test
            notes.add(
                "tests left out, because they lie in other files, to be converted themselves",
                place,
                str(file),
            )


def _wrapped(data: dict[str, Any]) -> tuple[str, list[Any]] | None:
    """Return the rows of an evaluation tool that an object holds, and their key; `None` for other objects."""
    inner = data["data"] if isinstance(data.get("data"), dict) else data
    for key in ("examples", "data", "items", "goldens", "samples"):
        rows = inner.get(key)
        first = rows[0] if isinstance(rows, list) and rows else None
        if isinstance(first, dict) and any(first.keys() >= one.KEYS for one in goldens.FORMATS):
            return key, list(rows or ())
    return None


def dump_fathoms_json(questions: Iterable[Question]) -> str:
    """Return questions in the FATHOMS format, with their ids, grouped by category.

    Categories are in order of first appearance. Reading the text back gives equal questions; their order is
    the same only if they were already grouped by category.
    """
    data: dict[str, list[dict[str, Any]]] = {}
    for question in questions:
        data.setdefault(question.category, []).append(written(question))
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def written(question: Question) -> dict[str, Any]:
    """Return a question as a file entry, without its category and without keys at their default value."""
    row = question.model_dump(mode="json", exclude_defaults=True, exclude={"text", "category"})
    return {"question": question.text, "answers": row.pop("answers", []), **row}


def _objects(entries: list[Any], name: str, noun: str, lines: Iterator[int]) -> Iterator[Placed | DataError]:
    """Yield each object of a list with its place, and a DataError for every entry that is not an object. The
    list is empty afterwards, so that a row can be freed as soon as a question is made of it."""
    entries.reverse()
    for number in range(1, len(entries) + 1):
        row = entries.pop()
        if isinstance(row, dict):
            yield f"{name}:{next(lines, 1)}", row
        else:
            yield DataError(f"{name}: {noun} {number} is not an object with a question")


def _object_lines(text: str, depth: int) -> Iterator[int]:
    """Yield the line on which each object at nesting depth `depth` begins; `text` must be valid JSON."""
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
