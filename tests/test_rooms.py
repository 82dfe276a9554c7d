"""Imports go down only: the test that keeps the rooms apart."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LEVELS = [
    {"types", "errors", "limits", "children"},
    {
        "config",
        "inputs",
        "paths",
        "schemas",
        "folder",
        "blobs",
        "cache",
        "stats",
        "journal",
        "ratings",
        "trust",
        "store",
        "identity",
        "stopping",
        "outage",
        "patience",
        "masking",
        "transport",
        "committing",
        "events",
        "prices",
        "budget",
    },
    {"models", "dev"},
    {"corpora", "ingest", "retrieve", "prompt", "answers", "parsed"},
    {"attachments", "project"},
    {"answering"},
    {"estimating"},
    {"pipeline", "external", "metrics", "construct"},
    {"experiment"},
    {"manifest", "questions"},
    {"resuming", "purse", "question_scores"},
    {"asking"},
    {"runner", "plan", "scoring", "importers", "comparing", "gating"},
    {"reproducing"},
    {"report", "review"},
    {"cli", "api"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# the ground floor is one level whose modules may build on one another, in this order only
GROUND = [
    "limits",
    "types",
    "errors",
    "transport",
    "events",
    "stopping",
    "outage",
    "patience",
    "masking",
    "paths",
    "inputs",
    "schemas",
    "folder",
    "blobs",
    "identity",
    "config",
    "prices",
    "budget",
    "cache",
    "stats",
    "journal",
    "ratings",
    "trust",
    "store",
    "committing",
]
# `metrics` scores on a laptop: it sees no parser, no retriever and no run store
METRICS = {"types", "errors", "limits", "config", "inputs", "paths", "cache", "stats", "models"}
PACKAGE = Path(__file__).parent.parent / "fathoms"


def imported(path: Path) -> set[str]:
    """The rooms that a module imports, at its head or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "fathoms":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return
    for other in imported(path) - {room}:
        if room in GROUND:
            assert GROUND.index(other) < GROUND.index(room), f"{room} -> {other}"
        else:
            assert LEVEL[other] < LEVEL[room], f"{room} -> {other}"
        if room == "metrics":
            assert other in METRICS, f"metrics -> {other}"


def test_the_breach_would_be_seen(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from fathoms.runner.runner import run\n    from fathoms import report\n")
    assert imported(module) == {"runner", "report"}
    assert LEVEL["runner"] > LEVEL["metrics"]
