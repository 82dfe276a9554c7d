"""Correctness by a judge beside phrase recall: scored, on the page, and mended in the question file."""

from __future__ import annotations

import json

import pytest

from fathoms.cli import main
from fathoms.report.html import report_html
from fathoms.runs.run import Run
from tests.support.project import Project
from tests.support.report_page import unpacked

QUESTIONS = [
    {
        "id": "stages",
        "question": "How many stages does the framework have?",
        "answers": [["6 stages in the framework"]],
        "reference": "It has six stages.",
    },
    {"id": "tower", "question": "How tall is the tower?", "answers": [["41.5 m"]], "files": ["varn.pdf"]},
    {"id": "door", "question": "What of the door?", "answers": [["green"]], "files": ["varn.pdf"]},
    {"id": "mine", "question": "Who owns the mine?", "answers": [], "answerable": False},
]
CONFIG = """\
name: judged
data: {questions: q.json, documents: pdfs}
retrieve: {kind: none}
generate:
  kind: scripted
  replies:
    the framework have: The framework has 6 stages.
    tall is the tower: It is 4150 cm tall.
    of the door: It is not green at all.
metrics: [fathoms, RUBRIC]
judge: {kind: scripted, labels_by: {6 stages: "9", "4150": "7", not green: "6"}}
"""


@pytest.fixture
def judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A run with three answers that phrase recall and the judge see differently."""
    monkeypatch.chdir(project.path)
    project.write("q.json", json.dumps(QUESTIONS))
    project.write("judged.yaml", CONFIG.replace("RUBRIC", "correctness-judged"))
    assert main(["run", "judged.yaml"]) == 0
    return project


def test_the_bounds_are_those_of_double_bench(judged: Project) -> None:
    # not lower than 7 is correct, not higher than 3 is wrong, and 6 is between them
    run = Run.scored(judged.runs()[0])
    found = {view.question.id: view.repeats[0].metrics["correctness-judged"] for view in run.questions()}
    assert {name: score["value"] for name, score in found.items()} == {
        "stages": 1,
        "tower": 1,
        "door": 0,
        "mine": None,
    }
    assert [found["door"]["parts"][name] for name in ("grade", "partly", "wrong")] == [6, 1, 0]
    assert run.metrics()["correctness-judged"].overall.value == pytest.approx(2 / 3)


def test_the_page_lists_the_disagreements(judged: Project) -> None:
    overview, _ = unpacked(report_html([Run.scored(judged.runs()[0])]))
    listed = overview["runs"][0]["disagreements"]
    assert {row["id"]: (row["correctness"], row["judged"]) for row in listed} == {
        "stages": ("0.00", "1.00"),
        "tower": ("0.00", "1.00"),
        "door": ("1.00", "0.00"),
    }


@pytest.mark.slow
def test_check_proposes_variants_that_mend_them(judged: Project, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    arguments = ["questions", "check", "q.json", "pdfs", "--from-run", "judged", "--json"]
    assert main(arguments) == 0
    found = json.loads(capfd.readouterr().out)["findings"]
    reported = {one["question"]: one["message"] for one in found if one["code"] == "disagrees"}
    assert reported == {
        "stages": "'The framework has 6 stages.' scores 0, but the judge calls it correct; a further variant:"
        " {near: [{number: 6}, stages]}",
        "tower": "'It is 4150 cm tall.' scores 0, but the judge calls it correct; a further variant:"
        " {number: 41.5, unit: m}",
        "door": "'It is not green at all.' scores 1, but the judge does not call it correct",
    }
    mended = json.loads(json.dumps(QUESTIONS))
    mended[0]["answers"].append([{"near": [{"number": 6}, "stages"]}])
    mended[1]["answers"].append([{"number": 41.5, "unit": "m"}])
    judged.write("q.json", json.dumps(mended))
    assert main(arguments) == 0
    found = json.loads(capfd.readouterr().out)["findings"]
    assert [one["question"] for one in found if one["code"] == "disagrees"] == ["door"]


@pytest.mark.slow
def test_a_run_without_a_judge_cannot_mend(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    done = project.fathoms("questions", "check", "questions.json", "pdfs", "--from-run", "tiny")
    assert (done.returncode, "--metric correctness-judged --judge FILE" in done.stderr) == (2, True)


@pytest.mark.slow
def test_the_binary_rubric_asks_for_yes_or_no(judged: Project) -> None:
    config = CONFIG.replace("RUBRIC", "{kind: correctness-judged, rubric: binary}")
    config = config.replace('"9"', "supported").replace('"7"', "supported").replace('"6"', "unsupported")
    judged.write("binary.yaml", config.replace("name: judged", "name: binary"))
    assert main(["run", "binary.yaml"]) == 0
    run = Run.scored(judged.runs()[1])
    values = [view.repeats[0].value("correctness-judged", "fathoms") for view in run.questions()]
    assert sorted(value for value in values if value is not None) == [0, 1, 1]
