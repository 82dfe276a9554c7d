"""Options that are passed on to other libraries and servers, addresses of servers, and names of API keys.

Secrets must not stand in a config. `${NAME}` in an option is replaced by the environment variable NAME.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator

from fathoms.errors import ConfigError, not_set
from fathoms.safety.masking import (
    is_key_in_path,
    is_secret_name,
    looks_like_key,
    register_secrets,
    without_logins,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LONG_WORD = 20
"""Length from which a text with lower-case letters and digits is taken for a key, not for a variable name."""
_REFERENCE = re.compile(r"\$\{(\w+)\}")


def _no_secrets(options: dict[str, Any]) -> dict[str, Any]:
    """Raise ValueError if the options contain a secret, because manifests and logs repeat the
    configuration."""
    for name, value in _texts(options):
        if _is_secret(name, value) and not _REFERENCE.search(value):
            raise ValueError(
                f"'{name}' looks like a secret, which has no place in a config:"
                f" write {name}: ${{NAME}} and set the environment variable NAME"
            )
    return options


Options = Annotated[dict[str, Any], AfterValidator(_no_secrets)]
"""Keyword arguments from a config. `${NAME}` in a text is replaced by that environment variable when the
options are used, and is stored unreplaced. Keys and passwords must be given this way."""


def http_address(address: str) -> str:
    """Return the address without a slash at its end.

    Raises ValueError if it is not an HTTP address, or if it contains a user, a password or a key.
    """
    if re.match(r"(?:https?:/{0,2})?[^/\s]*@", address):
        raise ValueError("a user or password has no place in an address")
    if without_logins(address) != address:
        raise ValueError("a key has no place in the query of an address")
    if is_key_in_path(address):
        raise ValueError("a part of its path looks like a key, which has no place in an address")
    if not (re.match(r"https?://[^/\s]", address) and _has_host_and_port(address)):
        raise ValueError("expected an address such as http://127.0.0.1:8000")
    return address.rstrip("/")


def _has_host_and_port(address: str) -> bool:
    """Return whether the address has a valid host name and, if it names a port, a valid port."""
    try:
        parts = urlsplit(address)
        name = (parts.hostname or "").encode("idna")  # a connection encodes the name this way and may fail
        return bool(name) and parts.port != 0
    except ValueError:
        return False


Address = Annotated[str, AfterValidator(http_address)]
"""The `http://` or `https://` address of a server."""


def _variable_name(name: str) -> str:
    """Raise ValueError if a key was given instead of the name of its variable; the message does not repeat
    it."""
    letters = name.replace("_", "")
    pasted = looks_like_key(name) or (
        len(letters) >= _LONG_WORD and not name.isupper() and re.search(r"\d", name)
    )
    if pasted or not _NAME.fullmatch(name):
        raise ValueError(
            "this must be the name of an environment variable, such as OPENAI_API_KEY; set the variable to"
            " the key, and write only its name here"
        )
    return name


VariableName = Annotated[str, AfterValidator(_variable_name)]
"""The name of an environment variable that holds a key."""


def env_key(variable: str) -> str:
    """Return the key in an environment variable.

    Raises ConfigError if the variable is not set or if its value cannot be sent in an HTTP header.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(not_set(variable, ": it holds the key"))
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the environment variable {variable} holds what no key can be")
    register_secrets(key)
    return key


def without_secrets(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of all texts in the options, with variables replaced and without secrets.

    This is used for fingerprints.
    """
    return [
        (name, _REFERENCE.sub(lambda match: os.environ.get(match[1], ""), value))
        for name, value in _texts(options)
        if not _is_secret(name, value)
    ]


def secret_values(options: Any) -> list[str]:
    """Return the values of the environment variables that are used in secret options, if they are set.

    The values are also registered for masking, so that they appear in nothing that is written.
    """
    found = [
        os.environ[variable]
        for name, value in _texts(options)
        if _is_secret(name, _REFERENCE.sub(lambda match: os.environ.get(match[1], ""), value))
        for variable in _REFERENCE.findall(value)
        if variable in os.environ
    ]
    register_secrets(*found)
    return found


def _is_secret(name: str, value: str) -> bool:
    """Return whether the name suggests a secret or the value contains one."""
    return is_secret_name(name) or without_logins(value) != value or looks_like_key(value)


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, text) for every text in nested options; the name is the nearest key above it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _texts(child, str(key))
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child, name)


def resolved(value: Any) -> Any:
    """Return the options with every `${NAME}` replaced; raises ConfigError if a variable is not set."""
    if isinstance(value, str):
        return _REFERENCE.sub(_variable, value)
    if isinstance(value, dict):
        return {key: resolved(child) for key, child in value.items()}
    return [resolved(child) for child in value] if isinstance(value, list) else value


def _variable(match: re.Match[str]) -> str:
    """Return the value of one environment variable; raises ConfigError if it is not set."""
    try:
        return os.environ[match[1]]
    except KeyError:
        raise ConfigError(not_set(match[1], ", and the options ask for it")) from None
