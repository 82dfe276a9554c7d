"""Runs that earlier versions of fathoms made are read, scored and shown as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.types import Prompt

RUNS = Path(__file__).with_name("made_before")
"""Made by the commit before lines had checksums, manifests a signature, and modules their rooms."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the old run."""
    (source,) = RUNS.iterdir()
    shutil.copytree(source, tmp_path / source.name)
    return tmp_path / source.name


def figures(summary: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = summary["profiles"]["fathoms"]
    return found


def comparable(value: Any) -> Any:
    """Everything except hallucination, which counts answers to unanswerable questions now, the intervals,
    which had other methods, what was set aside (nothing), and the key of the classifier, whose cues
    changed."""
    if not isinstance(value, dict):
        return value
    return {
        key: comparable(item)
        for key, item in value.items()
        if "hallucination" not in str(key) and key not in ("intervals", "set_aside", "classifier_key")
    }


def test_scoring_again_gives_the_same_figures(old: Path) -> None:
    before = json.loads((old / "summary.json").read_text())
    run = Run(old)
    assert len(run.records.all()) == 8
    again = score_run(run).plain()
    assert comparable(figures(again)) == comparable(figures(before))
    new = {"searched": 0, "reasoned": 0, "empty": 0, "markup": 0, "same": 0, "unended": 0}
    assert again["counts"] == {**before["counts"], **new, "calls": 8, "retried": 0}
    assert "warnings" not in again or not again["warnings"]
    assert again["profiles"].keys() == {"fathoms"}  # three were always computed then


def test_its_prompts_would_be_stored_the_same_today(old: Path) -> None:
    lines = [json.loads(line) for line in (old / "journal.jsonl").read_text().splitlines()]
    prompts = [line["prompt"] for line in lines if "prompt" in line]
    assert len(prompts) == 8
    for prompt in prompts:
        assert Prompt.model_validate(prompt).model_dump(mode="json", exclude_defaults=True) == prompt


def test_it_is_reported_and_shown_without_being_scored_again(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((old / "report.json").read_text())
    assert main(["report", str(old), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    metrics = [run.pop("metrics") for run in found]
    assert [run.pop("rank") for run in found] == [None]  # of a single run
    assert [run.pop("ingest_seconds") for run in found] == [{}]  # times that old runs did not measure
    assert all(figure["n"] == 0 for run in found for figure in run.pop("seconds").values())
    assert found == expected
    for shown, run in zip(metrics, expected, strict=True):  # old runs have metrics too, with the same figures
        assert shown["correctness"]["overall"]["value"] == run["overall"]["correctness"]
        assert shown["hallucination"]["overall"]["value"] == run["overall"]["hallucination"]
    assert main(["report", str(old), "--scores", "paper", "--json"]) == 0
    assert main(["show", str(old), "--question", "text-only-01"]) == 0
    assert "41.5 m tall" in capsys.readouterr().out
