"""Options that go to somebody else's constructor: no secrets in them, `${NAME}` from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator

from fathoms.errors import ConfigError
from fathoms.safety.masking import is_key_in_path, is_secret_name, looks_like_key, remember, without_logins

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LONG_WORD = 20
"""Characters from which on lower-case letters with digits are taken for a key and not for a name."""
_REFERENCE = re.compile(r"\$\{(\w+)\}")


def _no_secrets(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a secret that stands in the configuration, where manifests and logs would repeat it."""
    for name, value in _texts(options):
        if _is_secret(name, value) and not _REFERENCE.search(value):
            raise ValueError(
                f"'{name}' looks like a secret, which has no place in a config:"
                f" write {name}: ${{NAME}} and set the environment variable NAME"
            )
    return options


Options = Annotated[dict[str, Any], AfterValidator(_no_secrets)]
"""Keyword arguments. `${NAME}` in a text is replaced by that environment variable when they are used, and
only there; keys and passwords must be given so."""


def http_address(address: str) -> str:
    """Refuse (ValueError) what is no address of a server, or names a user; a slash at the end goes."""
    if re.match(r"(?:https?:/{0,2})?[^/\s]*@", address):
        raise ValueError("a user or password has no place in an address")
    if without_logins(address) != address:
        raise ValueError("a key has no place in the query of an address")
    if is_key_in_path(address):
        raise ValueError("a part of its path looks like a key, which has no place in an address")
    if not (re.match(r"https?://[^/\s]", address) and _has_host_and_port(address)):
        raise ValueError("want an address such as http://127.0.0.1:8000")
    return address.rstrip("/")


def _has_host_and_port(address: str) -> bool:
    """Whether there is a host, and a port that can be one."""
    try:
        parts = urlsplit(address)
        name = (parts.hostname or "").encode("idna")  # as a connection will
        return bool(name) and parts.port != 0
    except ValueError:
        return False


Address = Annotated[str, AfterValidator(http_address)]
"""The address of a server, by http or https."""


def _variable_name(name: str) -> str:
    """Refuse (ValueError) a key that stands where the name of its variable belongs, without repeating it."""
    letters = name.replace("_", "")
    pasted = looks_like_key(name) or (len(letters) >= _LONG_WORD and not name.isupper() and _has_digit(name))
    if pasted or not _NAME.fullmatch(name):
        raise ValueError(
            "this is the name of an environment variable, such as OPENAI_API_KEY, and what stands here cannot"
            " be one; set the variable to the key, and write the name of the variable here"
        )
    return name


def _has_digit(text: str) -> bool:
    """Whether there is a digit, as in random keys."""
    return any(map(str.isdigit, text))


VariableName = Annotated[str, AfterValidator(_variable_name)]
"""The name of an environment variable that holds a key."""


def env_key(variable: str) -> str:
    """The key that an environment variable holds; raises ConfigError for none, or what no header takes."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"the environment variable {variable} is not set: it holds the key")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the environment variable {variable} holds what no key can be")
    remember(key)
    return key


def without_secrets(options: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts of the options as they are used, but for what looks like a secret; for fingerprints."""
    return [
        (name, _REFERENCE.sub(lambda match: os.environ.get(match[1], ""), value))
        for name, value in _texts(options)
        if not _is_secret(name, value)
    ]


def secret_values(options: Any) -> list[str]:
    """The values of the environment variables named in texts that are secret; those not set are left out.
    They are remembered: nothing that is written may hold them."""
    found = [
        os.environ[variable]
        for name, value in _texts(options)
        if _is_secret(name, _REFERENCE.sub(lambda match: os.environ.get(match[1], ""), value))
        for variable in _REFERENCE.findall(value)
        if variable in os.environ
    ]
    remember(*found)
    return found


def _is_secret(name: str, value: str) -> bool:
    """Whether a name is that of a secret, or a value holds one."""
    return is_secret_name(name) or without_logins(value) != value or looks_like_key(value)


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text inside the options, with the nearest key above it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _texts(child, str(key))
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child, name)


def resolved(value: Any) -> Any:
    """The options with every `${NAME}` replaced; raises ConfigError for a variable that is not set."""
    if isinstance(value, str):
        return _REFERENCE.sub(_variable, value)
    if isinstance(value, dict):
        return {key: resolved(child) for key, child in value.items()}
    return [resolved(child) for child in value] if isinstance(value, list) else value


def _variable(match: re.Match[str]) -> str:
    """The value of one environment variable."""
    try:
        return os.environ[match[1]]
    except KeyError:
        raise ConfigError(
            f"the environment variable {match[1]} is not set, and the options ask for it"
        ) from None
