"""What is a secret, and how it is taken out: of configurations by its name, and of what a server or a
pipeline says, should it say what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_LEAST = 8
"""Characters of a secret: shorter values would be found in any text."""
HIDDEN = "***"
_NAME = re.compile(
    r"(^|[_-])(api[_-]?keys?|keys?|tokens?|secrets?|passwords?|passwd|credentials?|authorization|cookies?)$",
    re.I,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_PARAMETER = re.compile(r"(?<=[?&])([^=&#\s]+)=([^&#\s]+)")


def is_secret_name(name: str) -> bool:
    """Whether a text of this name is a secret: `api_key`, `accessToken`, `Authorization`. Names of variables
    that hold one (`api_key_env`) are none."""
    return bool(_NAME.search(_CAMEL.sub("_", name)))


def without_logins(text: str) -> str:
    """A text with `***` for users and passwords in its addresses, and for parameters that are secrets."""
    return _PARAMETER.sub(_parameter, _LOGIN.sub(HIDDEN, text))


def _parameter(found: re.Match[str]) -> str:
    """A parameter of an address; a secret is hidden."""
    return f"{found[1]}={HIDDEN}" if is_secret_name(found[1]) else found[0]


class Mask:
    """Puts `***` in the place of secrets, also where they are escaped as in JSON or in an address."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long = sorted({secret for secret in secrets if len(secret) >= _LEAST}, key=len, reverse=True)
        self._found = re.compile("|".join("".join(map(_escaped, secret)) for secret in long))
        self._is_empty = not long

    def text(self, text: str) -> str:
        """A text without them."""
        return text if self._is_empty else self._found.sub(HIDDEN, text)

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
