"""The JSON Schemas of the files of a run, from the types in `fathoms/types/run`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from settings import described

from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import ABSENT, Part
from fathoms.types.run.summary import Summary

KINDS: dict[str, tuple[type[Part], str]] = {
    "manifest": (Manifest, "manifest.json: what was run"),
    "summary": (Summary, "summary.json: the scores of a run"),
}
"""The type of each file, and the title of its schema."""
_NO_MEANING = {"title", "default", *ABSENT}


def schema_of(name: str) -> dict[str, Any]:
    """The schema of a file, in which every key has its docstring as its description."""
    kind, title = KINDS[name]
    made = kind.model_json_schema(by_alias=True)
    models = {model.__name__: model for model in _parts(kind)}
    whole = _node(made, made.get("$defs", {}), models, kind)
    whole["properties"]["schema"]["const"] = 1
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fathoms:schema:{name}:1",
        "title": title,
        "description": _first(kind),
        "type": "object",
    }
    return {**head, **{key: value for key, value in whole.items() if key not in head}}


def schema_text(name: str) -> bytes:
    """The file of a schema."""
    return (json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n").encode()


def _parts(kind: type[BaseModel]) -> set[type[BaseModel]]:
    """All types of parts that are known."""
    return {kind, *(part for sub in Part.__subclasses__() for part in (sub, *sub.__subclasses__()))}


def _first(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _node(node: Any, defs: dict[str, Any], models: dict[str, type[BaseModel]], kind: Any = None) -> Any:
    """A part of a schema without references, titles and defaults."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return _sorted(_node(defs[name], defs, models, models[name]) | _without(node, "$ref"))
    absent = any(node.get(key) for key in ABSENT)
    found = _without(node, "$defs")
    if "anyOf" in found:
        choices = [_node(each, defs, models) for each in found.pop("anyOf")]
        null = {"type": "null"} in choices
        (first, *others) = [each for each in choices if each != {"type": "null"}]
        if others:
            found["anyOf"] = [first, *others, *([{"type": "null"}] if null and not absent else [])]
        else:
            found = {**first, **found}
            if null and not absent:
                found["type"] = [found["type"], "null"]
        return _sorted(found)
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _node(found[key], defs, models)
    if "properties" in found:
        about = described(kind) if kind else {}
        names = {field.alias or name: name for name, field in kind.model_fields.items()} if kind else {}
        found["properties"] = {
            name: _node({**one, "description": about.get(names.get(name, name), "")}, defs, models)
            for name, one in found["properties"].items()
        }
        found["description"] = _first(kind)
        if needed := kind and [
            *kind.NEEDED,
            *(key for key in found.get("required", ()) if key not in kind.NEEDED),
        ]:
            found["required"] = needed
    for bound in ("minimum", "maximum"):
        if abs(found.get(bound, 0)) >= 1e299:
            del found[bound]
    return _sorted(found)


def _without(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A part of a schema without some keys, and without what has no meaning here."""
    return {key: value for key, value in node.items() if key not in _NO_MEANING | {*keys}}


def _sorted(found: dict[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in sorted(found, key=_ORDER.index)}


_ORDER = ["description", "type", "enum", "const", "anyOf", "required", "properties", "additionalProperties"]
_ORDER += ["items", "minItems", "maxItems", "prefixItems", "minimum", "maximum", "exclusiveMinimum"]
_ORDER += ["minLength", "pattern"]
