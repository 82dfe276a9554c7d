"""The files of a run, from their JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from schemas import KINDS, schema_of
from texts import MADE, code, join, table


def files_page() -> str:
    """Every key of every file that has a schema."""
    head = (
        "[A run on disk](../run-format.md) explains what each file is for, and the rules that apply to all of"
        " them."
    )
    parts = ["# The files of a run, key by key", MADE, head]
    for name in sorted(KINDS):
        whole = schema_of(name)
        link = f"[{name}.schema.json](../schemas/{name}.schema.json)"
        rows = [(code(path), kind, what) for path, kind, what in _entries(whole, whole, "")]
        parts += [f"## {whole['title']}", f"{whole['description']} JSON Schema: {link}."]
        parts.append(table(("key", "type", "what"), rows))
    return join(parts)


def _entries(node: dict[str, Any], whole: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Path, type and description of everything below a node of a schema."""
    for name, child in node.get("properties", {}).items():
        yield from _entry(child, whole, f"{path}.{name}".lstrip("."))
    if isinstance(node.get("additionalProperties"), dict):
        yield from _entry(node["additionalProperties"], whole, f"{path}.*".lstrip("."))
    for choice in node.get("anyOf", []):
        yield from _entries(_resolved(choice, whole), whole, path)
    if isinstance(node.get("items"), dict):
        yield from _entries(_resolved(node["items"], whole), whole, f"{path}[]")


def _entry(node: dict[str, Any], whole: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    resolved = _resolved(node, whole)
    if what := node.get("description") or resolved.get("description"):
        yield path, _kind(resolved, whole), what
    yield from _entries(resolved, whole, path)


def _resolved(node: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """What a `$ref` points at."""
    while "$ref" in node:
        found: Any = whole
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = {**found, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _kind(node: dict[str, Any], whole: dict[str, Any]) -> str:
    """The type of a value in a schema, in words."""
    if "enum" in node or "const" in node:
        return ", ".join(code(json.dumps(value)) for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_kind(_resolved(each, whole), whole) for each in node["anyOf"]))
    kinds = node.get("type", "any")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)
