"""Numbers, yes and no, and words near one another as gold answers, from the question file to the report."""

from __future__ import annotations

import json

import pytest

from fathoms.cli import main
from tests.support.project import Project

QUESTIONS = """\
question,category,files,answers
How tall is the Varn tower?,Numbers,varn.pdf,"{number: 4150, unit: cm}"
What does ore cost in Lune?,Numbers,lune.pdf,"{near: [ton, {number: 17}], within: 3}"
Is the Varn door red?,Words,varn.pdf,{yes_no: no}
"""
CONFIG = """\
name: forms
data: {questions: questions.csv, documents: pdfs}
chunk: {kind: page}
retrieve: {kind: whole-document}
generate:
  kind: scripted
  replies:
    How tall: It is forty-one and a half metres tall.
    does ore cost: 18 crowns a ton.
    door red: The door is not red.
"""


@pytest.fixture
def forms(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose answers say the same as the gold in other words."""
    monkeypatch.chdir(project.path)
    project.write("questions.csv", QUESTIONS)
    project.write("forms.yaml", CONFIG)
    return project


@pytest.mark.slow
def test_what_people_forgive_is_right_everywhere(forms: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["questions", "check", "forms.yaml", "--ignore", "few-questions"]) == 0
    assert capfd.readouterr().out == "0 errors, 0 warnings; 3 questions on 2 documents\n"
    assert main(["run", "forms.yaml"]) == 0
    (run,) = forms.runs()
    stored = [json.loads(path.read_text()) for path in sorted((run / "questions").glob("*.json"))]
    assert [{"yes_no": "no"}] in [variant for one in stored for variant in one["question"]["answers"]]
    scores = {one["question"]["id"]: one["repeats"][0]["scores"]["fathoms"] for one in stored}
    assert [scores[name]["correctness"] for name in ("numbers-01", "numbers-02", "words-01")] == [1, 0, 1]
    lost = scores["numbers-02"]["funnel"]
    assert (lost["documents"], lost["retrieved"], lost["answer"]) == (1, 1, 0)
    assert lost["missed"] == {"{near: [ton, {number: 17}], within: 3}": "answer"}
    assert scores["words-01"]["funnel"]["left_out"] == "yes-no"
    assert "{number: 4150, unit: cm}" in forms.fathoms("show", run.name, "--question", "numbers-01").stdout
    assert main(["report", run.name]) == 0
    assert main(["questions", "stats", "forms.yaml"]) == 0
    assert main(["questions", "convert", "questions.csv", "other.json"]) == 0


@pytest.mark.slow
def test_a_mistake_has_its_place(forms: Project, capfd: pytest.CaptureFixture[str]) -> None:
    forms.write("questions.csv", QUESTIONS.replace("unit: cm", "untis: cm"))
    assert main(["questions", "check", "questions.csv", "pdfs"]) == 1
    out = capfd.readouterr().out
    assert out.startswith("questions.csv:2:46: error invalid: answers.0.0.untis: unknown key 'untis' beside")
    assert main(["run", "forms.yaml"]) == 1
    assert "questions.csv:2:46" in capfd.readouterr().err
