"""The configuration of a run as lines to compare, without what nobody should read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

HIDDEN = "***"
_SECRET = re.compile(
    r"(?i)(^|[_-])(api[_-]?key|token|secret|password|passwd|authorization|cookie|credentials?)$"
)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def flat(config: Any) -> list[list[str]]:
    """Dotted keys and values, in the order of the file. Values of keys that name a secret are masked, and so
    are logins in addresses; keys like `api_key_env` name a variable, which is no secret."""
    return [[key, value] for key, value in _lines("", config) if key]


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """The lines of one value."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            name = f"{prefix}.{key}" if prefix else str(key)
            yield from [(name, HIDDEN)] if _SECRET.search(str(key)) and child else _lines(name, child)
    elif isinstance(value, list) and any(isinstance(child, dict | list) for child in value):
        for number, child in enumerate(value):
            yield from _lines(f"{prefix}.{number}", child)
    else:
        yield prefix, _text(value)


def _text(value: Any) -> str:
    """A value as YAML would say it."""
    if isinstance(value, list):
        return ", ".join(map(_text, value)) if value else "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return _LOGIN.sub(HIDDEN, str(value)) if value != {} else "none"
