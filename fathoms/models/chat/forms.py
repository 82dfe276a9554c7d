"""How each API is asked for a reply of a given form, one of some choices or JSON that fits a schema, and how
a choice is read from the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from fathoms.types import Form

LABEL = "label"
"""The key under which a choice stands where an API knows only JSON."""
_TOP = 20


def form_options(form: Form | None) -> dict[str, Any]:
    """Return the fields of llama.cpp's chat API that hold a reply to a form: a grammar or a JSON schema."""
    if form is None:
        return {}
    if form.choices:
        grammar = "root ::= " + " | ".join(json.dumps(choice) for choice in form.choices)
        return {
            "grammar": grammar,
            **({"logprobs": True, "top_logprobs": _TOP} if form.probabilities else {}),
        }
    return {"response_format": {"type": "json_object", "schema": form.json_schema}}


def schema_of(form: Form) -> dict[str, Any]:
    """Return the JSON schema of a form; a choice becomes `{"label": CHOICE}`."""
    if form.json_schema is not None:
        return form.json_schema
    return {
        "type": "object",
        "properties": {LABEL: {"type": "string", "enum": list(form.choices)}},
        "required": [LABEL],
        "additionalProperties": False,
    }


def response_format(form: Form | None) -> dict[str, Any]:
    """Return the field of OpenAI's API that holds a reply to a form."""
    if form is None:
        return {}
    named = {"name": "reply", "strict": True, "schema": _without_lengths(schema_of(form))}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _without_lengths(schema: Any) -> Any:
    """Return a schema without the lengths of texts, which strict mode refuses, and which readers check."""
    if isinstance(schema, list):
        return [_without_lengths(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_lengths(one) for key, one in schema.items() if key not in ("minLength", "maxLength")
    }


def read_choice(reply: str, choices: Sequence[str]) -> str | None:
    """Read the choice from a reply: the value of `label` in JSON, the first word, or the only choice in it.

    Damaged JSON is repaired. Returns `None` if the reply names no choice, or several.
    """
    text = reply.strip()
    if "{" in text:
        from json_repair import repair_json

        found = repair_json(text[text.index("{") :], return_objects=True)
        label = str(found.get(LABEL)).strip().lower() if isinstance(found, dict) else ""
        if label in choices:
            return label
    pattern = r"\d+" if choices[0].isdecimal() else r"[a-z]+"
    words: list[str] = re.findall(pattern, text.lower())
    if words and words[0] in choices:
        return words[0]
    named = {word for word in words if word in choices}
    return named.pop() if len(named) == 1 else None
