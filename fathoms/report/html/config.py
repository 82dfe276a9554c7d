"""The configuration of a run as lines to compare, without what nobody should read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathoms.safety.masking import HIDDEN, is_secret_name, without_logins


def flat(config: Any) -> list[list[str]]:
    """Dotted keys and values, in the order of the file. Values of keys that name a secret are masked, and so
    are logins and secrets in addresses; keys like `api_key_env` name a variable, which is no secret."""
    return [[key, value] for key, value in _lines("", config) if key]


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """The lines of one value."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            name = f"{prefix}.{key}" if prefix else str(key)
            yield from [(name, HIDDEN)] if _is_secret(str(key), child) else _lines(name, child)
    elif isinstance(value, list) and any(isinstance(child, dict | list) for child in value):
        for number, child in enumerate(value):
            yield from _lines(f"{prefix}.{number}", child)
    else:
        yield prefix, _text(value)


def _is_secret(key: str, value: Any) -> bool:
    """Whether a value is hidden: numbers are none, such as `max_tokens`."""
    return bool(value) and not isinstance(value, int | float) and is_secret_name(key)


def _text(value: Any) -> str:
    """A value as YAML would say it."""
    if isinstance(value, list):
        return ", ".join(map(_text, value)) if value else "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return without_logins(str(value)) if value != {} else "none"
