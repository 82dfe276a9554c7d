"""JSON Schemas (2020-12) of the files in a run directory.

They allow unknown keys, and readers must too: a later version may add keys under the same `schema` number,
which increases only when a key changes its meaning or is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

NAMES = ("manifest", "question", "rating", "summary")


def schema(name: str) -> dict[str, Any]:
    """Load the schema of `manifest.json`, `summary.json`, `questions/<id>.json` (name `question`) or a line
    of `reviews.jsonl` (name `rating`). Raises ValueError for another name."""
    if name not in NAMES:
        raise ValueError(f"no schema '{name}' (available: {', '.join(NAMES)})")
    text = files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


_Check = Callable[[Any], str | None]
"""Checks a value; returns what is wrong, preceded by its place (`.repeats[0]: `), or `None` if valid."""
_MOST = 1e300
"""Numbers beyond this, and infinite ones, are refused, because sums of them would be infinite."""
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == int(value),
}


def complaint(name: str, value: Any) -> str | None:
    """What is wrong with the JSON value of a file, and where in it; `None` if it is valid.

    Supports only the keywords of JSON Schema that our own schemas use. Files are checked as they are read,
    thousands at a time, and this takes a tenth of the time of a general validator.
    """
    wrong = _checker(name)(value)
    return wrong and wrong.lstrip(".: ")


@cache
def _checker(name: str) -> _Check:
    whole = schema(name)
    known: dict[str, _Check] = {}

    def referred(reference: str) -> _Check:
        if reference not in known:
            known[reference] = lambda value: known[reference](value)  # placeholder, for recursive schemas
            known[reference] = _compiled(whole["$defs"][reference.rpartition("/")[2]], referred)
        return known[reference]

    return _compiled(whole, referred)


def _compiled(rule: Mapping[str, Any], referred: Callable[[str], _Check]) -> _Check:
    """Compile the check of one schema."""
    if "$ref" in rule:
        return referred(rule["$ref"])
    checks = [*_scalar_checks(rule)]
    if "items" in rule:
        checks.append(_items(_compiled(rule["items"], referred)))
    properties = {key: _compiled(part, referred) for key, part in rule.get("properties", {}).items()}
    other = rule.get("additionalProperties")
    if properties or isinstance(other, dict):
        checks.append(_members(properties, _compiled(other, referred) if isinstance(other, dict) else None))

    def check(value: Any) -> str | None:
        for one in checks:
            if (wrong := one(value)) is not None:
                return wrong
        return None

    return check


def _scalar_checks(rule: Mapping[str, Any]) -> list[_Check]:
    """The checks that do not look inside a value."""
    checks: list[_Check] = []
    if "type" in rule:
        names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
        tests = [_TYPES[name] for name in names]
        wanted = " or ".join(names)
        checks.append(
            lambda value: None if any(t(value) for t in tests) else f": expected {wanted}, not {_kind(value)}"
        )
    if "required" in rule:
        keys = rule["required"]
        checks.append(
            lambda value: (
                next((f": '{key}' is missing" for key in keys if key not in value), None)
                if isinstance(value, dict)
                else None
            )
        )
    if "enum" in rule or "const" in rule:
        choices = rule.get("enum", [rule.get("const")])
        checks.append(lambda value: None if value in choices else f": expected one of {choices}")
    if "minimum" in rule or "maximum" in rule or "exclusiveMinimum" in rule:
        low, high = rule.get("minimum", -_MOST), rule.get("maximum", _MOST)
        above = rule.get("exclusiveMinimum", -2 * _MOST)
        checks.append(
            lambda value: (
                None
                if not _is_number(value) or (low <= value <= high and value > above)
                else f": {value} is out of range"
            )
        )
    if "minItems" in rule or "maxItems" in rule or "minLength" in rule:
        least, most = rule.get("minItems", rule.get("minLength", 0)), rule.get("maxItems", _MOST)
        checks.append(
            lambda value: (
                None
                if not isinstance(value, list | str) or least <= len(value) <= most
                else f": has the length {len(value)}"
            )
        )
    return checks


def _items(check: _Check) -> _Check:
    """A check of every item of a list."""

    def checked(value: Any) -> str | None:
        if isinstance(value, list):
            for number, item in enumerate(value):
                if (wrong := check(item)) is not None:
                    return f"[{number}]{wrong}"
        return None

    return checked


def _members(properties: Mapping[str, _Check], other: _Check | None) -> _Check:
    """A check of every member of an object."""

    def checked(value: Any) -> str | None:
        if isinstance(value, dict):
            for key, item in value.items():
                check = properties.get(key, other)
                if check is not None and (wrong := check(item)) is not None:
                    return f".{key[:100]}{wrong}"
        return None

    return checked


def _is_number(value: Any) -> bool:
    """Whether a value is a number that is finite and not enormous."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def _kind(value: Any) -> str:
    """The type of a value, as JSON names it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number" if _is_number(value) else "a number as large as this"
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds[type(value)]
