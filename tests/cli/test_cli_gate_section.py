"""The section `gate:` of a config, from the command line: it is stored with a run and used to judge it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.stats.power import smallest_margin
from tests.support.extras import needs_extra
from tests.support.project import Project, write_pdf

CONFIG = """\
name: night
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, default: It is seven.}
"""
SECTION = (
    "gate: {metric: [hallucination], margin: 0.3, alpha: 0.05, by_category: true, min: {correctness: 0.6}}\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Two categories of 12 questions, of which the pipeline answers those about seven."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pdfs").mkdir()
    write_pdf(tmp_path / "pdfs" / "a.pdf", ["It is seven, they say."])
    one_project = Project(tmp_path)
    rows = {
        name: [
            {"question": f"What is {name} {number}?", "files": ["a.pdf"], "answers": [[answer]]}
            for number in range(12)
        ]
        for name, answer in (("Known", "seven"), ("Unknown", "eight"))
    }
    one_project.write("questions.json", json.dumps(rows))
    return one_project


def run(project: Project, section: str = SECTION) -> None:
    project.write("night.yaml", CONFIG + section)
    assert main(["run", "night.yaml"]) == 0


def judged(capsys: pytest.CaptureFixture[str], code: int, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["gate", "night", "--json", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_the_newest_run_brings_its_settings(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project)
    run(project)
    found = judged(capsys, 100, "--baseline", "night~1")  # every second answer is right, 0.6 is asked for
    assert (found["margin"], found["alpha"]) == (0.3, 0.05)
    assert [(check["metric"], check["category"]) for check in found["checks"]] == [
        ("hallucination", None),
        ("hallucination", "Known"),
        ("hallucination", "Unknown"),
    ]
    assert [(each["category"], each["found"], each["kept"]) for each in found["limits"]] == [
        (None, 0.5, False),
        ("Known", 1.0, True),
        ("Unknown", 0.0, False),
    ]
    assert found["section"] == {"run": project.runs()[-1].name, "overridden": []}
    assert judged(capsys, 100)["checks"] == []  # a limit in the section needs no baseline
    assert main(["gate", "night"]) == 100
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "note  settings: section 'gate' of the run's config" in said


@pytest.mark.slow
def test_options_win_over_the_section(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project)
    run(project)
    options = ["--metric", "correctness", "--margin", "0.4", "--alpha", "0.1", "--no-by-category"]
    found = judged(capsys, 0, "--baseline", "night~1", *options, "--min", "correctness=0.5")
    assert (found["verdict"], found["margin"], found["alpha"]) == ("PASS", 0.4, 0.1)
    assert [(check["metric"], check["category"]) for check in found["checks"]] == [("correctness", None)]
    assert [each["limit"]["value"] for each in found["limits"]] == [0.5]
    assert found["section"]["overridden"] == ["metric", "margin", "alpha", "by_category", "min"]
    assert main(["gate", "night", "--margin", "0.4", "--max-rate", "hallucination=0.9"]) == 100
    settings = "settings: section 'gate' of the run's config; given as options: --margin, --max-rate"
    assert settings in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_without_a_section_nothing_is_said_of_one(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project, "")
    assert judged(capsys, 0, "--min", "correctness=0.4")["section"] is None
    assert main(["gate", "night", "--min", "correctness=0.4"]) == 0
    assert "settings:" not in capsys.readouterr().out


@pytest.mark.slow
def test_how_many_changed_questions_the_section_allows(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of 24 questions are 12.5 %: less than the default, a half."""
    run(project, "")
    assert main(["gate", "night", "--save-baseline", "baseline.json"]) == 0
    rows = json.loads((project.path / "questions.json").read_text())
    for row in rows["Known"][:3]:
        row["answers"] = [["It is seven"]]
    project.write("questions.json", json.dumps(rows))
    run(project, "")
    assert len(judged(capsys, 0, "--baseline", "baseline.json")["changed"]) == 3
    run(project, "gate: {changed: 2}\n")
    assert main(["gate", "night", "--baseline", "baseline.json"]) == 1
    run(project, "gate: {changed: 3}\n")
    assert len(judged(capsys, 0, "--baseline", "baseline.json")["changed"]) == 3
    assert main(["gate", "night", "--baseline", "baseline.json", "--changed", "10%"]) == 1
    assert "more than --changed allows" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_section_is_in_no_fingerprint(project: Project) -> None:
    run(project, "")
    run(project)
    one, two = (json.loads((folder / "manifest.json").read_text()) for folder in project.runs())
    assert one["fingerprints"] == two["fingerprints"]
    assert one["config"]["gate"] is None
    assert two["config"]["gate"]["margin"] == 0.3


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("gate: {metric: [correctnes]}", "night.yaml:7:17: no metric of this configuration is called"),
        ("gate: {metric: [correctnes]}", "(did you mean 'correctness'?)"),
        ("gate: {min: {corectness: 0.6}}", "night.yaml:7:14: no metric"),
        ("gate: {max_rate: {rouge-1: 0.6}}", "night.yaml:7:19: no metric"),
        (
            "gate: {metric: [correctness, latency]}",
            "night.yaml:7:30: latency is measured in seconds, and the margin of a gate is a difference of"
            " shares; can be gated: correctness, hallucination, ",
        ),
        ("gate: {metric: [cost]}", "night.yaml:7:17: cost is measured in "),
        ("gate: {metric: [correctnes]}", "; can be gated: correctness, hallucination, abstention, "),
        ("gate: {changed: -1}", "night.yaml:7:8: gate.changed: expected a count"),
        ("gate: {margin: 1.5}", "night.yaml:7:8: gate.margin: "),
        ("gate: {alpha: 0.5}", "night.yaml:7:8: gate.alpha: "),
        ("gate: {metric: []}", "night.yaml:7:8: gate.metric: "),
        ("gate: {fail_on_error: some}", "night.yaml:7:8: gate.fail_on_error: expected a count"),
        ("gate: {fail_on_error: -1}", "night.yaml:7:8: gate.fail_on_error: expected a count"),
        ("gate: {baseline: b.json}", "night.yaml:7:8: unknown key 'baseline'"),
        ("gate: {by_category: 1}", "night.yaml:7:8: "),
    ],
)
def test_mistakes_in_the_section(
    section: str, said: str, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write("night.yaml", CONFIG + section + "\n")
    assert main(["validate", "night.yaml"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_damaged_section_of_a_stored_run(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project)
    path = project.runs()[-1] / "manifest.json"
    manifest = json.loads(path.read_text())
    for section, said in (
        ({"margin": "wide"}, "config.gate"),
        ({"baseline": "/etc/passwd"}, "unknown key"),
        ([], "mapping"),
    ):
        path.write_text(json.dumps({**manifest, "config": {**manifest["config"], "gate": section}}))
        capsys.readouterr()
        assert main(["gate", "night", "--min", "correctness=0.1"]) in (1, 2)
        assert said in " ".join(capsys.readouterr().err.split())


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    capsys.readouterr()
    assert main(list(command)) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["validate", "doctor"])
def test_a_margin_that_the_questions_cannot_resolve(
    command: str, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    margin = math.ceil(1000 * smallest_margin((12, 12), 0.025)) / 1000
    project.write("night.yaml", CONFIG)
    said = printed(capsys, command, "night.yaml")
    assert f"needs a margin of {margin:.3f} to pass an unchanged pipeline on 80 % of nights" in said
    assert "The default margin of 0.02 is smaller" in said
    assert "With so few questions, use 'gate: {preset: small}', which needs no margin." in said
    project.write("night.yaml", CONFIG + "gate: {preset: small}\n")
    said = printed(capsys, command, "night.yaml")
    assert "With preset 'small', the gate counts the right answers that were lost" in said
    assert "margin of 0.02" not in said
    project.write("night.yaml", CONFIG + "gate: {margin: 0.05}\n")
    said = printed(capsys, command, "night.yaml")
    assert "warning: gate.margin, 0.05, is smaller" in said
    project.write("night.yaml", CONFIG + f"gate: {{margin: {margin}}}\n")
    said = printed(capsys, command, "night.yaml")
    assert "With 24 answerable questions" in said
    assert "is smaller" not in said
    project.write("night.yaml", CONFIG + f"gate: {{margin: {margin}, by_category: true}}\n")
    said = printed(capsys, command, "night.yaml")
    assert "in the smallest category (Known, 12)" in said
    assert "warning: gate.margin" in said


@needs_extra("questions")
def test_the_margin_of_a_question_file(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(capsys, "questions", "stats", "questions.json", "pdfs")
    assert "The default margin of 0.02 is smaller" in said
    found = json.loads(printed(capsys, "questions", "stats", "questions.json", "pdfs", "--json"))
    assert found["overall"]["margin"] == smallest_margin((12, 12), 0.025)
    assert found["categories"]["Known"]["margin"] == smallest_margin((12,), 0.025)
    project.write("night.yaml", CONFIG)
    report = json.loads(printed(capsys, "doctor", "night.yaml", "--json"))
    assert report["configs"][0]["checks"][-1]["name"] == "gate"
