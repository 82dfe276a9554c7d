"""Flattens the configuration of a run into lines to compare, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathoms.safety.masking import HIDDEN, is_secret_name, without_logins


def flat(config: Any) -> list[list[str]]:
    """Return dotted keys with their values, in the order of the file.

    Values of keys that name a secret are masked, and so are logins and secrets in URLs. Keys such as
    `api_key_env` are shown, as they hold the name of an environment variable.
    """
    return [[key, value] for key, value in _lines("", config) if key]


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the lines of one value."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            name = f"{prefix}.{key}" if prefix else str(key)
            if child and is_secret_name(str(key)) and not isinstance(child, int | float):  # not max_tokens
                yield name, HIDDEN
            else:
                yield from _lines(name, child)
    elif isinstance(value, list) and any(isinstance(child, dict | list) for child in value):
        for number, child in enumerate(value):
            yield from _lines(f"{prefix}.{number}", child)
    else:
        yield prefix, _text(value)


def _text(value: Any) -> str:
    """Format a value roughly as in YAML."""
    if isinstance(value, list):
        return ", ".join(map(_text, value)) if value else "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return without_logins(str(value)) if value != {} else "none"
