"""`fathoms agree`: the classifier of abstention beside people's labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "labels.jsonl"


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", str(EXAMPLE)]) == 0
    out = capsys.readouterr().out
    assert out.split("\n")[1].split()[:2] == ["accuracy", "1.000"]
    assert "not counted: 1 hedged" in out


def test_a_difference_is_shown_with_the_clause_that_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.jsonl"
    row = {
        "id": "1",
        "answer": "It is 12 m. The text does not say when it was measured.",
        "label": "abstention",
    }
    labels.write_text(json.dumps(row) + "\n")
    assert main(["agree", str(labels)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1: labelled abstention, classified statement: reads as an answer" in shown
    assert "'it is 12 m.'" in shown


def test_json_and_another_kind(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["agree", str(EXAMPLE), "--abstention", "nearest-neighbour", "--set", "unit=answer", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"accuracy", "precision", "recall", "f1", "kappa", "n", "intervals"} <= found.keys()
    assert (found["n"], found["classifier"]["unit"]) == (7, "answer")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--abstention", "cue"], 2, "unknown kind 'cue'"),
        (["--set", "embd={}"], 2, "did you mean 'embed'?"),
        (["--set", "exemplars=nowhere.yaml"], 2, "nowhere.yaml: no such file"),
    ],
)
def test_agree_reports_wrong_arguments_with_exit_codes(
    arguments: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "1", "answer": "The wall does not reveal its age.", "label": "statement"}\n')
    assert main(["agree", str(labels), *arguments]) == code
    assert message in capsys.readouterr().err
