"""Whether a body is one that the vendor's API takes, by the request types of the vendor's own SDK.

Keys that the types do not know are refused, and nothing is read lazily.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

FILE_FIELDS = {"anthropic": {"file", "expires_in_seconds"}, "openai": {"file", "purpose", "expires_after"}}
_SAMPLING = {"temperature", "top_p"}
"""What the Messages API takes for the paper's models; the types of the SDK have left it out since."""


def complaint(api: str, body: Any) -> str | None:
    """What is wrong with a body, `None` where nothing is."""
    if api == "google":
        return _google(body)
    if not isinstance(body.get("stream", False), bool):
        return "stream: neither true nor false"
    aside = {"stream", *(_SAMPLING if api == "anthropic" else ())}
    try:
        _validator(api).validate_json(json.dumps({key: body[key] for key in body.keys() - aside}))
    except ValidationError as error:
        return _all(error)
    return None


def unknown_fields(api: str, names: set[str]) -> str | None:
    """What is wrong with the fields of an uploaded form."""
    unknown = {name.partition("[")[0] for name in names} - FILE_FIELDS[api]
    return f"unknown fields {sorted(unknown)}" if unknown or "file" not in names else None


@cache
def _validator(api: str) -> SchemaValidator:
    """The strict form of the SDK's type, but for `stream`, for which the SDK has a type of its own."""
    from anthropic.types import message_create_params as messages
    from openai.types.chat import completion_create_params as chat
    from openai.types.responses import response_create_params as responses

    kinds: dict[str, Any] = {
        "anthropic": messages.MessageCreateParamsBase,
        "chat": chat.CompletionCreateParamsBase,
        "responses": responses.ResponseCreateParamsBase,
    }
    return SchemaValidator(_strict(TypeAdapter(kinds[api]).core_schema))


def _strict(schema: Any) -> Any:
    """The schema with lists for lazy iterables, no unknown keys, and no models of answers among requests."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "model":
        ref = {"ref": schema["ref"]} if "ref" in schema else {}
        return {"type": "is-instance", "cls": BaseModel, **ref}
    result = {key: _strict(value) for key, value in schema.items() if key != "serialization"}
    if schema.get("type") == "generator":
        result["type"] = "list"
    elif schema.get("type") == "typed-dict":
        result["extra_behavior"] = "forbid"
        result.pop("config", None)
    return result


def _google(body: Any) -> str | None:
    """The body of generateContent: contents, a system instruction, and settings."""
    from google.genai import types

    kinds = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
        "safetySettings": list[types.SafetySetting],
    }
    for key, value in body.items():
        if key not in kinds:
            return f"unknown key '{key}'"
        try:
            TypeAdapter(kinds[key]).validate_python(value)
        except ValidationError as error:
            return f"{key}: {_all(error)}"
    return None if body.get("contents") else "contents is missing"


def _all(error: ValidationError) -> str:
    """The complaints in a line; a union has those of all its members."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in details)
