"""Secrets taken out of what a server or a pipeline says, should it say what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_LEAST = 8
"""Characters of a secret: shorter values would be found in any text."""
_HIDDEN = "***"


class Mask:
    """Puts `***` in the place of secrets, also where they are escaped as in JSON or in an address."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long = sorted({secret for secret in secrets if len(secret) >= _LEAST}, key=len, reverse=True)
        self._found = re.compile("|".join("".join(map(_escaped, secret)) for secret in long))
        self._is_empty = not long

    def text(self, text: str) -> str:
        """A text without them."""
        return text if self._is_empty else self._found.sub(_HIDDEN, text)

    def inside(self, value: Any) -> Any:
        """A value with the same in all its texts; keys and numbers stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.inside(child) for key, child in value.items()}
        return [self.inside(child) for child in value] if isinstance(value, list) else value


def _escaped(letter: str) -> str:
    """A pattern of one letter, however often it was escaped."""
    code = ord(letter)
    return rf"(?:\\*{re.escape(letter)}|\\+u(?i:{code:04x})|%(?i:{code:02x}))"
