"""Questions whose gold answer is only a text, with all else that a question can hold, through a whole run."""

from __future__ import annotations

import json

import jsonschema
import pytest

from fathoms.corpora import read_questions
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from tests.support.project import QUESTIONS, Project
from tests.support.schemas import schema

pytestmark = pytest.mark.slow  # runs of its own

RICH = {
    "id": "rich",
    "question": "Which coat has the door of the Varn tower, and what is its height?",
    "files": ["varn.pdf"],
    "reference": "It is green, and 41.5 m tall.",
    "reference_claims": ["The door is green.", "The tower is 41.5 m tall."],
    "short_answer": "green, 41.5 m",
    "evidence": [
        {"document": "varn.pdf", "page": 2, "step": 1},
        {"document": "varn.pdf", "page": 1, "step": 2},
    ],
    "hops": 2,
    "quotes": [{"id": "text1", "text": "painted green", "document": "varn.pdf", "page": 2, "gold": True}],
    "metadata": {"language": "en", "level": 2, "scan": False},
}


def test_a_gold_text_has_no_correctness_and_changes_no_other_figure(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    project.write("questions.json", json.dumps({**QUESTIONS, "Text-Only": [*QUESTIONS["Text-Only"], RICH]}))
    text = (project.path / "tiny.yaml").read_text()
    project.write(
        "tiny.yaml", text.replace("replies: {", 'replies: {"Which coat": "It is a door. [1] [7]", ')
    )
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    before, after = project.json("report", project.runs()[0].name) + project.json("report", "tiny")
    for key in ("correctness", "hallucination", "micro_correctness", "micro_hallucination", "n"):
        assert after["overall"][key] == before["overall"][key]
    for metric in ("correctness", "hallucination"):
        assert after["overall"]["intervals"][metric] == before["overall"]["intervals"][metric]
    assert after["categories"]["Text-Only"]["n"] == before["categories"]["Text-Only"]["n"] == 2
    assert after["funnel"]["left_out"]["no-phrases"] == 1

    run = project.runs()[1]
    view = json.loads((run / "questions" / "rich.json").read_text())
    jsonschema.validate(view, schema("question"))
    (repeat,) = view["repeats"]
    assert repeat["scores"]["fathoms"]["correctness"] is None
    assert repeat["scores"]["fathoms"]["hallucination"] is None
    assert view["question"]["metadata"] == RICH["metadata"]
    assert [(one["label"], one["ranks"], one["document"]) for one in repeat["citations"]] == [
        ("1", [1], repeat["hits"][0]["document"]),
        ("7", [], None),
    ]


def test_the_question_and_its_citations_come_back_from_the_run(project: Project) -> None:
    project.write("questions.json", json.dumps([RICH]))
    text = (project.path / "tiny.yaml").read_text()
    project.write(
        "tiny.yaml", text.replace("replies: {", 'replies: {"Which coat": "Green [varn.pdf, p. 2].", ')
    )
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    (wanted,) = read_questions(project.path / "questions.json").questions
    run = Run(project.runs()[0])
    (record,) = run.records.all()
    assert record.question == wanted
    assert record.citations is not None
    assert [(one.document, one.page) for one in record.citations] == [("varn.pdf", 2)]
    score_run(run).plain()  # scoring again needs nothing else
    shown = project.fathoms("show", "tiny", "--question", "rich").stdout
    assert "cited: varn.pdf, p. 2 (varn.pdf, page 2" in shown
    assert "metadata: language en, level 2, scan false" in shown
