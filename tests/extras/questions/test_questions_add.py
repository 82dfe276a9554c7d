"""The worst questions of a run become drafts of a set, with their answers and passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.extras.questions.making.drafts import Draft, read_drafts, write_drafts
from fathoms.types import Question
from tests.support.project import Project


@pytest.mark.slow
def test_the_worst_questions_become_drafts(project: Project) -> None:
    """Of four questions, a call failed, one is half supported, one is not, and one is fully supported."""
    answers = {
        "Failed?": None,
        "Half?": "It is red. It is old.",
        "Wrong?": "It is old.",
        "Right?": "It is red.",
    }
    passage = {"retrieved_contexts": ["It is red."], "retrieved_context_ids": ["a.pdf#page=3"]}
    rows = [{"user_input": text, "response": said, **passage} for text, said in answers.items()]
    project.write("answers.jsonl", "\n".join(map(json.dumps, rows)))
    project.write("set.json", json.dumps([{"id": "q", "question": "How tall?", "reference": "41.5 m."}]))
    project.write("judge.yaml", "{kind: scripted}")
    done = project.fathoms("import", "ragas", "answers.jsonl", "--name", "live")
    assert done.returncode == 0, done.stderr
    score = ("score", "live", "--metric", "faithfulness", "--judge", "judge.yaml")
    assert project.fathoms(*score).returncode == 0
    path = Path(project.path, "set.json")
    write_drafts(path, [Draft(question=Question(id="own", text="Mine?", category="A"))])
    before = path.read_text()
    done = project.fathoms("questions", "add", "live", "--to", "new.json", "--no-page")
    assert done.returncode == 0, done.stderr
    assert "new.json: 3 drafts of" in done.stdout
    assert [one.question.text for one in read_drafts(project.path / "new.json")] == [
        "Failed?",
        "Wrong?",
        "Half?",
    ]
    done = project.fathoms("questions", "edit", "new.json", "--summary")
    assert done.returncode == 0, done.stderr
    assert not Path(project.path, "new.json").exists()
    add = ("questions", "add", "live", "--to", "set.json", "--no-page")
    done = project.fathoms(*add, "--failed", "2")
    assert done.returncode == 0, done.stderr
    assert [one.question.text for one in read_drafts(path)] == ["Mine?", "Failed?", "Wrong?"]
    assert project.fathoms(*add).returncode == 0
    drafts = read_drafts(path)
    assert [one.question.text for one in drafts] == ["Mine?", "Failed?", "Wrong?", "Half?"]
    assert path.read_text() == before
    half = drafts[-1]
    assert half.checks[0].reason == "It is red. It is old."
    assert half.failed is not None
    assert half.failed.reason.startswith("faithfulness 0.50")
    (evidence,) = half.question.evidence
    assert (evidence.document, evidence.page, evidence.quote) == ("a.pdf", 3, "It is red.")


def test_a_set_that_cannot_be_written_is_refused(project: Project) -> None:
    done = project.fathoms("questions", "add", "live", "--to", "none/set.json", "--no-page")
    assert done.returncode == 2
    assert "none/set.json cannot be started: name a file in .json" in " ".join(done.stderr.split())
