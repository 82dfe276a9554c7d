"""Comparisons of runs whose documents were parsed by different revisions of the parser."""

from __future__ import annotations

import json

import pytest

from fathoms.ingest import Pdfium
from tests.support.project import Project

pytestmark = pytest.mark.slow  # whole commands

CAN_DIFFER = "their text, and so what is retrieved, can differ with the same configuration"


def test_gate_and_compare_name_the_revisions(project: Project) -> None:
    for _ in range(2):
        assert project.fathoms("run", "tiny.yaml").returncode == 0
    older, newer = project.runs()
    now = Pdfium.revision
    assert json.loads((newer / "manifest.json").read_text())["parser"] == {"kind": "pdfium", "revision": now}
    for command in ("compare", "gate"):
        assert CAN_DIFFER not in said(project, command, older.name, newer.name)
    saved = ("gate", older.name, "--save-baseline", "old.json")
    assert project.fathoms(*saved).returncode == 0
    baseline = json.loads((project.path / "old.json").read_text())
    del baseline["parsers"]  # as in baselines of earlier versions
    (project.path / "old.json").write_text(json.dumps(baseline))
    manifest = json.loads((older / "manifest.json").read_text())
    for revision, reported in ((now - 1, f"revision {now - 1}"), (None, "an unknown revision")):
        manifest["parser"] = {"kind": "pdfium", "revision": revision}
        if revision is None:
            del manifest["parser"]  # as in runs of earlier versions
        (older / "manifest.json").write_text(json.dumps(manifest))
        sentence = f"read the documents by pdfium of {reported}, {newer.name} by pdfium of revision {now}"
        for command in ("compare", "gate"):
            printed = said(project, command, older.name, newer.name)
            assert sentence in printed
            assert CAN_DIFFER in printed
    assert "by pdfium of an unknown revision" in said(project, "gate", "old.json", newer.name)


def said(project: Project, command: str, older: str, newer: str) -> str:
    """What a command prints of two runs, in one line."""
    call = (command, newer, "--baseline", older, "--all") if command == "gate" else (command, older, newer)
    done = project.fathoms(*call)
    assert done.returncode == 0, done.stderr
    return " ".join((done.stdout + done.stderr).split())
