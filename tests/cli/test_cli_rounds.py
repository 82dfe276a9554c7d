"""Rounds of retrieval that a pipeline reports: imported, stored, shown on the terminal and on the page."""

from __future__ import annotations

import json

import pytest

from fathoms.report.html import report_html
from fathoms.runs.run import Run
from tests.support.project import Project
from tests.support.report_page import detail_of, text_of, unpacked

pytestmark = pytest.mark.slow  # processes of their own

LONG = "The Varn tower is 41.5 m tall. " * 50
ROW = {
    "question": "How tall is the Varn tower?",
    "answer": "41.5 m",
    "rounds": [
        {"query": "the tower", "contexts": [{"text": "A mine.", "document": "lune.pdf", "page": 1}]},
        {
            "query": "height of the tower",
            "contexts": [{"text": LONG, "document": "varn.pdf", "page": 1}],
            "calls": 2,
        },
    ],
}


def test_imported_rounds_are_stored_and_shown(project: Project) -> None:
    questions = json.loads((project.path / "questions.json").read_text())
    files = ["varn.pdf", "lune.pdf"]
    questions["Text-Only"][0] |= {
        "files": files,
        "evidence": [{"document": name, "page": 1} for name in files],
    }
    project.write("questions.json", json.dumps(questions))
    project.write("mine.jsonl", json.dumps(ROW) + "\n")
    done = project.fathoms("import", "answers", "mine.jsonl", "--questions", "questions.json", "--partial")
    assert done.returncode == 0, done.stderr
    (path,) = project.runs()
    (record,) = Run(path).records.all()
    assert [(one.query, one.calls, one.hits[0].chunk.text) for one in record.rounds] == [
        ("the tower", None, "A mine."),
        ("height of the tower", 2, LONG),
    ]
    assert LONG not in (path / "journal.jsonl").read_text(), "long texts of rounds are in blobs"
    assert record.hits is not None
    assert [hit.chunk.document for hit in record.hits] == ["lune.pdf", "varn.pdf"]
    shown = project.fathoms("show", path.name, "--question", record.question.id).stdout
    assert "round 1: the tower (1 chunk)" in shown
    assert "round 2: height of the tower (1 chunk, 2 calls to models)" in shown
    view = project.json("show", path.name, "--question", record.question.id)
    assert [one["query"] for one in view["repeats"][0]["rounds"]] == ["the tower", "height of the tower"]
    scored = project.fathoms("score", path.name, "--metric", "recall-by-round")
    assert scored.returncode == 0, scored.stderr
    figures = json.loads((path / "summary.json").read_text())["metrics"]["recall-by-round"]
    assert figures["overall"]["value"] == 1
    assert {name: (part["value"], part["n"]) for name, part in figures["parts"].items()} == {
        "round 1": (0.5, 1),
        "round 2": (1, 1),
        "round 3": (1, 1),
    }
    assert "recall-by-round" in scored.stdout
    assert "round 1" in project.fathoms("show", path.name, "--only", "retrieval").stdout
    _, chunks = unpacked(report_html([Run.scored(path)]))
    detail, texts = detail_of(chunks, 0, record.question.id)
    first, second = detail["repeats"][0]["rounds"]
    assert (text_of(first["query"], texts), first["calls"]) == ("the tower", None)
    assert (second["calls"], second["hits"][0]["document"]) == (2, "varn.pdf")
