"""`gate --preset small` from the command line: good and bad nights of fifteen questions, an alarm that is
acknowledged, and a repair."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from tests.support.project import Project, copy_project, write_pdf

CONFIG = """\
name: night
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, default: It is seven.}
"""

LOST = ("number 04", "number 05", "number 07", "number 09", "number 11")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def four_nights(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Fifteen questions, of which three are always wrong and one is in every second night, and a baseline of
    four nights."""
    path = tmp_path_factory.mktemp("nights")
    (path / "pdfs").mkdir()
    write_pdf(path / "pdfs" / "a.pdf", ["It is seven, they say."])
    project = Project(path)
    rows = [
        {
            "id": f"q{number:02}",
            "question": f"What is number {number:02}?",
            "files": ["a.pdf"],
            "answers": [["eight" if number > 12 else "seven"]],
        }
        for number in range(1, 16)
    ]
    project.write("questions.json", json.dumps({"Numbers": rows}))
    project.write("night.yaml", CONFIG)
    with contextlib.chdir(path), pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOMS_CACHE_DIR", str(path / "cache"))
        for number in range(4):
            run(*(["number 12"] if number == 1 else []))
        before = [f"night~{number}" for number in range(1, 4)]
        assert main(["gate", "night", *before, "--save-baseline", "baseline.json"]) == 0
    return project


@pytest.fixture
def nights(four_nights: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of them, as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return copy_project(four_nights, tmp_path)


def run(*wrong: str, fails: int = 0, default: str = "It is seven.") -> None:
    """One night, in which the questions with some texts are answered wrongly."""
    replies = json.dumps(dict.fromkeys(wrong, "It is nine."))
    broken = json.dumps({f"number {number:02}": "HTTP 500" for number in range(1, fails + 1)})
    options = [f"generate.replies={replies}", f"generate.fail_on={broken}", f"generate.default={default}"]
    main(
        [
            "run",
            "night.yaml",
            "--fail-on-error",
            "100%",
            *(word for each in options for word in ("--set", each)),
        ]
    )


def gate(capsys: pytest.CaptureFixture[str], code: int, *options: str) -> list[str]:
    """The lines that the gate prints, which are at most eight, and last the one line of `--quiet`."""
    capsys.readouterr()
    command = ["gate", "night", "--preset", "small", "--baseline", "baseline.json", *options]
    assert main(command) == code
    printed = capsys.readouterr()
    if options:
        return printed.out.splitlines()
    assert len([*printed.out.splitlines(), *printed.err.splitlines()]) <= 8, printed
    assert main(["--quiet", *command]) == code
    return [*printed.out.splitlines(), *capsys.readouterr().out.splitlines()]


def small(capsys: pytest.CaptureFixture[str], code: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("\n".join(gate(capsys, code, "--json")))
    return found


def test_good_and_bad_nights(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    assert gate(capsys, 0)[-1] == "PASS: 0 of 12 right answers lost; FAIL at 5 steady answers"
    run("number 12")  # it wavers
    lines = gate(capsys, 0)
    assert lines[-1] == "PASS: 1 of 12 right answers lost (q12); FAIL at 5 steady answers"
    assert lines[0] == "PASS  correctness 0.78 -> 0.73 (-0.05) on 15 questions"
    assert lines[1].startswith("why   1 of 12 right answers were lost (p 0.")
    assert lines[2] == "lost  q12 (right in only some runs before: q12)"
    run(*LOST)
    lines = gate(capsys, 100)
    assert lines[-1] == (
        "FAIL: 5 right answers lost (q04 q05 q07 q09 q11); to accept this for 14 days: fathoms gate ..."
        " --acknowledge"
    )
    assert lines[-3] == "next  fathoms compare night~6 night     all figures: gate --all"
    assert lines[-2] == "      fathoms gate night --baseline baseline.json --preset small --acknowledge"
    (found,) = small(capsys, 100)["losses"]
    assert (found["right"], found["needed"], found["nights"], found["answers"]) == (12, 5, 4, 4)
    # six of the twelve have one wrong answer of five, and q12 is not lost: any five of them, or all
    assert found["p"] == pytest.approx((6 * 4 + 1) / 5**6)
    assert found["level"] == pytest.approx(0.05 / 30)
    run(default="I don't know.")
    assert gate(capsys, 100)[-1].startswith("FAIL: 12 right answers lost (q01 q02 ")
    run(fails=5)
    lines = gate(capsys, 100)
    assert lines[-1].startswith("FAIL: 5 of 15 calls failed (HTTP 500), and at most 2 % may")
    assert lines[:2] == [
        "FAIL  5 of 15 calls failed (HTTP 500)",
        "why   at most 2 % may fail; repair the service, then run again",
    ]
    run()
    assert gate(capsys, 0)[-1].startswith("PASS: ")  # repaired, and nothing is to be deleted


def test_an_alarm_is_acknowledged(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    lost = LOST
    run(*lost)
    before = small(capsys, 100)
    run(*lost, "number 01")
    result = json.loads((nights.runs()[-2] / "manifest.json").read_text())["created"][:10]
    assert small(capsys, 100)["losses"][0]["since"] == result
    assert " since " in gate(capsys, 100)[-1]
    gate(capsys, 0, "--acknowledge", "--until", "2999-01-01")
    run(*lost)
    said = gate(capsys, 0)[-1]
    assert said.startswith("PASS: 5 of 12 right answers lost (q04 q05 q07 q09 q11) since ")
    assert said.endswith(", acknowledged until 2999-01-01")
    after = small(capsys, 0)
    assert after["losses"][0]["p"] == before["losses"][0]["p"]  # figures are the same
    run(*lost, "number 02")  # another one
    assert gate(capsys, 100)[-1].startswith("FAIL: 6 right answers lost (q02 q04 ")
    run(*lost)
    gate(capsys, 0, "--acknowledge", "--until", "2001-01-01")  # a day that is over
    gate(capsys, 100)
    run()
    assert main(["gate", "night", "--preset", "small", "--baseline", "baseline.json", "--acknowledge"]) == 1
    assert "has no alarm" in capsys.readouterr().err
    (nights.path / "baseline.acknowledged.json").write_text("{}")
    assert main(["gate", "night", "--preset", "small", "--baseline", "baseline.json"]) == 1
    assert "delete it" in " ".join(capsys.readouterr().err.split())


def test_a_baseline_of_one_night_is_called_that(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "night", "--save-baseline", "baseline.json"]) == 0
    run("number 04", "number 07", "number 09", "number 11")
    lines = gate(capsys, 0)
    assert "one night does not show which answers change from run to run" in " ".join(" ".join(lines).split())
    (nights.path / "night.yaml").write_text(CONFIG + "gate: {preset: small, min: {correctness: 0.7}}\n")
    run("number 04", "number 07", "number 09", "number 11")
    assert main(["gate", "night", "--baseline", "baseline.json", "--junit", "night.xml"]) == 100  # the floor
    assert 'name="gate min correctness"' in (nights.path / "night.xml").read_text()
    for options, said in (
        (["--sequential"], "without --sequential"),
        (["--by-category"], "--by-category"),
        (["--until", "2026-01-01"], "give --acknowledge"),
        (["--preset", "large"], "the only preset is 'small'"),
    ):
        assert main(["gate", "night", "--preset", "small", "--baseline", "baseline.json", *options]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
