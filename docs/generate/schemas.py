"""The JSON Schemas of the files of a run, from the types in `fathoms/types/run`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from settings import described

from fathoms.types import StoredValue
from fathoms.types.run import rows
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import ABSENT
from fathoms.types.run.summary import Summary

KINDS: dict[str, tuple[type[StoredValue], str]] = {
    "manifest": (Manifest, "manifest.json: what was run"),
    "question": (
        rows.QuestionFile,
        "questions/<id>.json: one question of a run, in large runs a line of questions/<number>.jsonl",
    ),
    "summary": (Summary, "summary.json: the scores of a run"),
}
"""The type of each file, and the title of its schema."""
_NO_MEANING = {"title", "default", *ABSENT}


def schema_of(name: str) -> dict[str, Any]:
    """The schema of a file, in which every key has its docstring as its description."""
    kind, title = KINDS[name]
    made = kind.model_json_schema(by_alias=True)
    whole = _Inlined(made.get("$defs", {})).node(made, kind)
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


def _below(kind: type[BaseModel]) -> list[type[BaseModel]]:
    """All types that are made of one."""
    return [kind, *(found for sub in kind.__subclasses__() for found in _below(sub))]


def _first(model: type[Any]) -> str:
    return " ".join((model.__doc__ or "").split())


class _Inlined:
    """Writes a schema without references, titles and defaults."""

    def __init__(self, defs: dict[str, Any]) -> None:
        self._defs = defs
        self._kinds = {
            kind.__name__: kind
            for kind in (*_below(StoredValue), *vars(rows).values())
            if isinstance(kind, type)
        }
        self._open: list[str] = []

    def node(self, node: Any, kind: Any = None) -> Any:
        """A part of a schema; `kind` is the type that it is of, if that has keys."""
        if "$ref" in node:
            return _sorted(self._of_type(node["$ref"].rpartition("/")[2]) | _without(node, "$ref"))
        absent = any(node.get(key) for key in ABSENT)
        found = _without(node, "$defs", "discriminator")
        choices = found.pop("anyOf", None) or found.pop("oneOf", None)
        if choices:
            choices = [self.node(each) for each in choices]
            null = {"type": "null"} in choices and not absent
            first, *others = (each for each in choices if each != {"type": "null"})
            if others:
                return _sorted(found | {"anyOf": [first, *others, *([{"type": "null"}] if null else [])]})
            return _sorted(({**_or_null(first), **found}) if null else {**first, **found})
        for key in ("items", "additionalProperties"):
            if isinstance(found.get(key), dict):
                found[key] = self.node(found[key])
        if "prefixItems" in found:
            found["prefixItems"] = [self.node(each) for each in found["prefixItems"]]
        if "properties" in found and kind is not None:
            found |= self._keys(found, kind)
        for bound in ("minimum", "maximum"):
            if abs(found.get(bound, 0)) >= 1e299:
                del found[bound]
        return _sorted(found)

    def _of_type(self, name: str) -> dict[str, Any]:
        """The schema of a type; of one that holds itself, only that it is an object."""
        if name in self._open:
            return {"type": "object"}
        self._open.append(name)
        found: dict[str, Any] = self.node(self._defs[name], self._kinds.get(name))
        self._open.pop()
        return found

    def _keys(self, found: dict[str, Any], kind: Any) -> dict[str, Any]:
        """The description of a type and of its keys, and the keys that it must have."""
        about = described(kind)
        names = {field.alias or name: name for name, field in getattr(kind, "model_fields", {}).items()}
        keys = {
            name: self.node({**one, "description": about.get(names.get(name, name), "")})
            for name, one in found["properties"].items()
        }
        needed = [*getattr(kind, "NEEDED", ()), *found.get("required", ())]
        made = {"description": _first(kind), "properties": keys, "additionalProperties": True}
        return made | ({"required": list(dict.fromkeys(needed))} if needed else {})


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    """The same part of a schema, which may be null as well."""
    if "const" in node:
        node = {**_without(node, "const"), "enum": [node["const"]]}
    return (
        node
        | ({"enum": [*node["enum"], None]} if "enum" in node else {})
        | ({"type": [node["type"], "null"]} if "type" in node else {})
    )


def _without(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A part of a schema without some keys, and without what has no meaning here."""
    return {key: value for key, value in node.items() if key not in _NO_MEANING | {*keys}}


def _sorted(found: dict[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in _ORDER if key in found}


_ORDER = ["description", "type", "enum", "const", "anyOf", "required", "properties", "additionalProperties"]
_ORDER += ["items", "minItems", "maxItems", "prefixItems", "minimum", "maximum", "exclusiveMinimum"]
_ORDER += ["minLength", "pattern", "format"]
