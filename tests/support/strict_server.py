"""A server with OpenAI's API that answers in exactly the schema it was sent, as the contract of Structured
Outputs (`response_format: {type: json_schema}`, `strict: true`) has it, by the rules of a scripted model.

A choice therefore comes back as an object, never as a bare word. A schema that strict mode does not take is
refused with status 400. Without a schema, the text of the rule is the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema

from tests.support.http_stub import Stub, serving

CHAT = "/v1/chat/completions"
MODEL = "strict"
_KEYS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "description", "anyOf"}
    | {"minItems", "maxItems", "minimum", "maximum", "pattern", "const", "$ref", "$defs"}
)
Says = Callable[[str], str]
"""Returns what is said to the text of the last message."""


def by_patterns(patterns: dict[str, str], default: str) -> Says:
    """Return the rules of a scripted model: the reply of the first pattern that is found in the prompt."""

    def says(prompt: str) -> str:
        for pattern, reply in patterns.items():
            if found := re.search(pattern, prompt, re.DOTALL):
                return found.expand(reply)
        return default

    return says


@contextmanager
def strict_server(says: Says, *, finish: str = "stop") -> Iterator[Stub]:
    """A server that says what the rules say in the form that was sent, with `finish` as the reason why its
    replies end."""

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        content = body["messages"][-1]["content"]
        if isinstance(content, list):
            content = "\n".join(part.get("text", "") for part in content)
        said = says(content)
        if (form := body.get("response_format")) is not None:
            if complaint := refused(form):
                error = {"message": complaint, "type": "invalid_request_error", "param": "response_format"}
                return 400, {"error": {**error, "code": None}}
            said = in_schema(form["json_schema"]["schema"], said)
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": len(content) // 4, "completion_tokens": len(said) // 4 + 1}
        usage["total_tokens"] = sum(usage.values())
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL}
        return 200, {**head, "choices": [choice], "usage": usage}

    models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
    with serving({CHAT: answer, "/v1/models": models}) as stub:
        yield stub


def refused(form: dict[str, Any]) -> str | None:
    """Say why strict mode does not take a form; `None` if it does."""
    named = form.get("json_schema") or {}
    if form.get("type") != "json_schema" or named.get("strict") is not True:
        return "expected type json_schema with strict: true"
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", named.get("name", "")):
        return "json_schema.name: letters, digits, _ and - only"
    if named["schema"].get("type") != "object":
        return "the schema must be an object"
    return next(_complaints(named["schema"]), None)


def _complaints(schema: dict[str, Any]) -> Iterator[str]:
    """Yield what strict mode does not take in a schema."""
    if unknown := schema.keys() - _KEYS:
        yield f"{sorted(unknown)} is not permitted"
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield "'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            yield "'required' is required to be supplied and to be an array including every key in properties"
    for part in (*schema.get("properties", {}).values(), schema.get("items")):
        if isinstance(part, dict):
            yield from _complaints(part)


def in_schema(schema: dict[str, Any], said: str) -> str:
    """Return what is said as JSON that fits a schema: a word becomes the value of the key that may have it,
    and all else is as short as it may be. Raises ValidationError where nothing fits a rule."""
    try:
        data = json.loads(said)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        data = {name: _fitting(form, said) for name, form in schema["properties"].items()}
    jsonschema.validate(data, schema)
    return json.dumps(data)


def _fitting(schema: dict[str, Any], said: str) -> Any:
    """Return a value that fits a schema: what is said where it may be said, else the shortest one."""
    kind, words = schema["type"], schema.get("enum", ())
    if said in words:
        return said
    if kind == "object":
        return {
            name: _fitting(form, said if said in form.get("enum", ()) else "vital")
            for name, form in schema["properties"].items()
        }
    if kind == "array":
        return [_fitting(schema["items"], said)]
    return {"integer": (*words, 1)[0], "boolean": False}.get(kind, "none given")
