"""Building requests to a service from a template with the question and environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, JsonValue, TypeAdapter

from fathoms.errors import ConfigError, not_set
from fathoms.models.options import Options, http_address, secret_values
from fathoms.safety.masking import Mask, register_secrets
from fathoms.types import Question

_PLACE = re.compile(r"\$\{(?P<variable>\w+)\}|\{(?P<part>question|files|id|category|model)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_without_secrets = TypeAdapter(Options).validate_python


def _service(url: str) -> str:
    """Refuse a text that is not an HTTP address. A slash at its end is kept."""
    if "${" in url:
        raise ValueError(
            "an address cannot contain ${NAME}: write it out, or set it when you run: --set pipeline.url=..."
        )
    http_address(url)
    return url


def refuse_secrets(url: str) -> None:
    """Raise ValueError for a secret in the query of a URL.

    This is not part of the field's validation, because a validation message would show the value.
    """
    _without_secrets(dict(parse_qsl(urlsplit(url).query)))


def _template(value: Any) -> Any:
    """Refuse a secret that is written into the configuration."""
    _without_secrets({"request": value})
    return value


def _headers(headers: dict[str, str]) -> dict[str, str]:
    """Refuse a secret that is written into the configuration, and invalid header names."""
    for name in headers:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"'{name}' cannot be the name of a header")
    _without_secrets(headers)
    return headers


ServiceUrl = Annotated[str, AfterValidator(_service)]
"""The full http or https URL of a service."""
Template = Annotated[JsonValue, AfterValidator(_template)]
"""Any JSON value with placeholders."""
Headers = Annotated[dict[str, str], AfterValidator(_headers)]
"""Headers by name; `${NAME}` is replaced by that environment variable when they are sent."""


def parts_of(question: Question, model: str | None) -> dict[str, str | list[str]]:
    """The values for a template's placeholders. None of them reveals the gold answer."""
    return {
        "question": question.text,
        "files": list(question.files),
        "id": question.id,
        "category": question.category,
        "model": model or "",
    }


def filled(template: Any, parts: Mapping[str, str | list[str]]) -> Any:
    """Fill in all placeholders of a template in one pass, so that inserted text is never expanded again.

    The text `{files}` alone becomes a list; inside other text the file names are joined by commas.
    """
    if template == "{files}":
        return parts["files"]
    if isinstance(template, str):

        def value(match: re.Match[str]) -> str:
            if match["variable"]:
                return _variable(match["variable"])
            part = parts[match["part"]]
            return part if isinstance(part, str) else ", ".join(part)

        return _PLACE.sub(value, template)
    if isinstance(template, dict):
        return {key: filled(value, parts) for key, value in template.items()}
    return [filled(value, parts) for value in template] if isinstance(template, list) else template


def places(template: Any) -> set[str]:
    """The names of the placeholders that a template uses."""
    return {match["part"] for match in _matches(template) if match["part"]}


def variables(template: Any) -> list[str]:
    """The values of all environment variables in a template; raises ConfigError for one that is not set."""
    names = {match["variable"] for match in _matches(template)} - {None}
    return [_variable(name) for name in sorted(names)]


def mask(headers: Mapping[str, str], template: Any) -> Mask:
    """Make the mask for a request: all variables in its headers, and the values of keys with secret names."""
    found = variables(dict(headers))
    register_secrets(*found)
    return Mask([*found, *secret_values({"request": template})])


def _matches(template: Any) -> Iterator[re.Match[str]]:
    """Every placeholder in the texts of a template."""
    if isinstance(template, str):
        yield from _PLACE.finditer(template)
    elif isinstance(template, dict | list):
        for value in template.values() if isinstance(template, dict) else template:
            yield from _matches(value)


def sent_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with variables filled in; raises ConfigError for an invalid value, without showing it."""
    found: dict[str, str] = filled(dict(headers), {})
    for name, value in found.items():
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise ConfigError(f"headers.{name} has an invalid value: use ASCII without white space around it")
    return found


def _variable(name: str) -> str:
    """The value of an environment variable; raises ConfigError where it is not set."""
    try:
        return os.environ[name]
    except KeyError:
        raise ConfigError(not_set(name, ", and the pipeline needs it")) from None
