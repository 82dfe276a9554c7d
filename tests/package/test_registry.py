"""The registry: every line leads to a component, and moving one keeps what is in caches."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from fathoms.component import Component, kind_of
from fathoms.registry import ROOMS, Room, built_in
from fathoms.text.fingerprints import fingerprint

# fingerprints of the options as of 26 November 2026, without the versions of packages
PINNED: list[tuple[Room, dict[str, Any], str]] = [
    ("retrievers", {"kind": "dense"}, "c8a10be325daf5c7b3ec2521b7722420"),
    ("retrievers", {"kind": "bm25"}, "26e098c5c2befb9894136aebbf8f366e"),
    (
        "retrievers",
        {"kind": "hybrid", "of": [{"kind": "dense"}, {"kind": "bm25"}]},
        "a945100aa4762449500b58c7e7965814",
    ),
    ("retrievers", {"kind": "oracle"}, "614987fdd1dbd3039a7b2446f7380114"),
    # renewed on purpose for revision 3 of pdfium and 2 of pymupdf (`join_lines`)
    ("parsers", {"kind": "pdfium"}, "167f731cbe6de57603f0f8932670924e"),
    ("parsers", {"kind": "pymupdf"}, "3b05e21827a1de0b22954304443e3065"),
    (
        "parsers",
        {
            "kind": "docling",
            "ocr": {"kind": "none"},
            "layout": {"kind": "cdla"},
            "tables": {"kind": "geometric"},
        },
        "75c8c466bf98dc66a5f4ebc0c30308ad",
    ),
    ("chunkers", {"kind": "sentence"}, "3ffd16aedf4403fbb5927a3a63e60073"),
    ("chunkers", {"kind": "page"}, "47a56f47ae889aa54bde78fb76b215df"),
    ("embedders", {"kind": "onnx"}, "eafaa11fc9c387d1194f12c90c8dc021"),
    ("embedders", {"kind": "lexical"}, "b875af5fd5bb1324a3b6615227fd8cea"),
    ("models", {"kind": "scripted"}, "f21918e4a14ef0d49a8ce555b6fcd008"),
    ("models", {"kind": "embedded"}, "a55ab19ea61b6b7168f91225e0b8235f"),
    (
        "models",
        {"kind": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
        "22bfa4ca82870e8fbfbfb7a037c32abd",
    ),
    ("judges", {"kind": "scripted"}, "32f8baac230a26d555e80df42eeae9ac"),
    ("judges", {"kind": "llm", "model": {"kind": "scripted"}}, "d5357f735951f25c3bb80ed2af11b661"),
    ("metrics", {"kind": "token-f1"}, "951d3cc4a05b1e4d6c7e4a1e5ff4c032"),
    ("metrics", {"kind": "faithfulness"}, "7b49a19d77a7f8c4100a806725d406b9"),
]


@pytest.mark.parametrize("room", ROOMS)
def test_every_line_leads_to_components_with_kinds_of_their_own(room: Room) -> None:
    found: list[type[Component]] = []
    for line in ROOMS[room]:
        module, _, name = line.partition(":")
        named = getattr(import_module(module), name)
        found += named if isinstance(named, tuple) else (named,)
    assert all(map(kind_of, found))
    assert [kind_of(one) for one in found] == list(built_in(room))
    assert tuple(ROOMS) == get_args(Room)


@pytest.mark.parametrize(("room", "options", "expected"), PINNED, ids=lambda value: str(value)[:40])
def test_a_component_keeps_its_fingerprint_wherever_its_module_is(
    room: Room, options: dict[str, Any], expected: str
) -> None:
    component = TypeAdapter(built_in(room)[options["kind"]]).validate_python(options)
    identity = component.identity()
    del identity["versions"]
    assert fingerprint(without_versions(identity)) == expected


def without_versions(identity: Any) -> Any:
    """An identity of which no part says which versions of packages are installed here."""
    if isinstance(identity, list):
        return [without_versions(part) for part in identity]
    if not isinstance(identity, dict):
        return identity
    return {name: {} if name == "versions" else without_versions(part) for name, part in identity.items()}


def test_the_classes_that_a_package_extends_are_where_the_page_says(root: Path) -> None:
    page = (root / "docs" / "extending.md").read_text()
    rows = dict(re.findall(r"^\| `fathoms\.(\w+)` \| (.*?) \|", page, flags=re.MULTILINE))
    assert rows.keys() == {*ROOMS, "commands"}
    for room in ROOMS:
        bases = [
            getattr(import_module(place), name) for place, name in re.findall(r"`([\w.]+):(\w+)`", rows[room])
        ]
        assert bases
        assert all(issubclass(one, tuple(bases)) for one in built_in(room).values())
