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

NAMES = ("manifest", "question", "rating", "summary")
_LONGEST = 300


def schema(name: str) -> dict[str, Any]:
    """Load the schema of `manifest.json`, `summary.json`, `questions/<id>.json` (name `question`) or a line
    of `reviews.jsonl` (name `rating`). Raises ValueError for another name."""
    if name not in NAMES:
        raise ValueError(f"no schema '{name}' (available: {', '.join(NAMES)})")
    text = files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


_LARGEST = 1e300
"""Larger numbers, and infinite ones, are refused, because sums of them would be infinite."""


def complaint(name: str, value: Any) -> str | None:
    """What is wrong with the JSON value of a file, and where in it; `None` if it is valid."""
    from fastjsonschema import JsonSchemaValueException

    try:
        _validator(name)(value)
    except JsonSchemaValueException as error:
        return str(error.message).removeprefix("data").lstrip(". ")[:_LONGEST]
    return None


@cache
def _validator(name: str) -> Callable[[Any], Any]:
    """Compile the validator of a schema, in which every number has bounds."""
    from fastjsonschema import compile as compiled

    validator: Callable[[Any], Any] = compiled(_bounded(schema(name)), use_default=False)
    return validator


def _bounded(rule: Any) -> Any:
    """Add bounds to all types of a schema; they have no effect on values that are not numbers."""
    if isinstance(rule, list):
        return [_bounded(part) for part in rule]
    if not isinstance(rule, dict):
        return rule
    limits = {"minimum": -_LARGEST, "maximum": _LARGEST} if isinstance(rule.get("type"), str | list) else {}
    return limits | {key: _bounded(part) for key, part in rule.items()}
