"""JSON Schemas (2020-12) of the files in a run directory.

They allow unknown keys, and readers must too: a later version may add keys under the same `schema` number,
which increases only when a key changes its meaning or is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

NAMES = ("question", "rating")
_LONGEST = 300


def schema(name: str) -> dict[str, Any]:
    """Load the schema of `questions/<id>.json` (name `question`) or a line
    of `reviews.jsonl` (name `rating`). Raises ValueError for another name."""
    if name not in NAMES:
        raise ValueError(f"no schema '{name}' (available: {', '.join(NAMES)})")
    text = files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


LARGEST = 1e300
"""Larger numbers, and infinite ones, are refused, because sums of them would be infinite."""


def complaint(name: str, value: Any) -> str | None:
    """What is wrong with the JSON value of a file, and where in it; `None` if it is valid."""
    from fastjsonschema import JsonSchemaValueException

    try:
        _validator(name, explains=False)(value)
        return None
    except JsonSchemaValueException:
        pass
    try:
        _validator(name, explains=True)(value)
    except JsonSchemaValueException as error:
        return str(error.message).removeprefix("data").lstrip(". ")[:_LONGEST]
    return None


@cache
def _validator(name: str, *, explains: bool) -> Callable[[Any], Any]:
    """Compile the validator of a schema, in which every number has bounds.

    Without explanations in its errors this takes a quarter of the time, which every start of a command that
    reads a run would wait for.
    """
    from fastjsonschema import compile as compiled

    validator: Callable[[Any], Any] = compiled(
        _bounded(schema(name)), use_default=False, detailed_exceptions=explains
    )
    return validator


def _bounded(rule: Any) -> Any:
    """Add bounds to all numbers of a schema, and write `const` as an `enum` of one value, because the
    compiler fails on `const` where errors need no explanations."""
    if isinstance(rule, list):
        return [_bounded(part) for part in rule]
    if not isinstance(rule, dict):
        return rule
    kinds = rule.get("type", ())
    numeric = not {"number", "integer"}.isdisjoint([kinds] if isinstance(kinds, str) else kinds)
    limits = {"minimum": -LARGEST, "maximum": LARGEST} if numeric else {}
    parts = {key: _bounded(part) for key, part in rule.items() if key != "const"}
    return limits | parts | ({"enum": [rule["const"]]} if "const" in rule else {})
