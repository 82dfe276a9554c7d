"""What a list shows of a damaged run: each key that can be used, and a sentence about each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.runs.listing import followed, listed
from fathoms.runs.order import Place, place_of

MANIFEST = {
    "schema": 1,
    "run": "r",
    "name": "a name",
    "model": "m",
    "sequence": 3,
    "created": "2026-01-02T03:04:05+00:00",
    "repeats": 2,
    "data": {"name": "d", "questions": 5, "asked": 4},
    "sweep": {"id": "s", "cell": {"top_k": 5}},
    "totals": {"answers": 8, "errors": 1, "seconds": 2.5, "cost": 0.25, "prompt_tokens": None},
}
SUMMARY = {
    "schema": 1,
    "profile": "fathoms",
    "complete": True,
    "incomplete": [],
    "counts": {"searched": 0, "asked": 4},
    "profiles": {
        "fathoms": {
            "overall": {
                "correctness": 0.5,
                "hallucination": 0,
                "n": 4,
                "errors": 1,
                "intervals": {"correctness": {"low": 0.25, "high": 0.75}, "abstention": None},
            }
        }
    },
    "metrics": {"recall@10": {"overall": {"value": 0.75}}, "other": 7},
}
ROW = {
    "run": "r",
    "name": "a name",
    "model": "m",
    "profile": "fathoms",
    "correctness": 0.5,
    "hallucination": 0,
    "n": 4,
    "errors": 1,
    "searched": 0,
    "retrieval_only": False,
    "recall@10": 0.75,
    "cost": 0.25,
    "seconds": 2.5,
    "complete": True,
    "sweep": "s",
    "cell": {"top_k": 5},
}


def run(tmp_path: Path, **changed: Any) -> Path:
    """A run with other values in its manifest, and in its summary where they are named so."""
    folder = tmp_path / "r"
    folder.mkdir()
    summary = changed.pop("summary", {})
    (folder / "manifest.json").write_text(json.dumps(MANIFEST | changed))
    (folder / "summary.json").write_text(json.dumps(SUMMARY | summary))
    return folder


def test_a_sound_run_is_shown_as_its_files_have_it(tmp_path: Path) -> None:
    folder = run(tmp_path)
    assert listed(folder) == (ROW, None)
    found = followed(folder)
    assert (found["low"], found["high"], found["expected"], found["data"]) == (0.25, 0.75, 8, "d")
    assert (found["status"], found["sequence"], found["created"]) == ("part failed", 3, MANIFEST["created"])


@pytest.mark.parametrize(
    ("changed", "rest", "said"),
    [
        ({"model": 7}, {"model": None}, "manifest.json: 'model'"),
        ({"name": ["x"]}, {"name": "r"}, "manifest.json: 'name'"),
        ({"sweep": {"id": "s", "cell": 7}}, {"cell": {}}, "manifest.json: 'cell'"),
        ({"sweep": 7}, {"sweep": None, "cell": {}}, "manifest.json: 'sweep'"),
        ({"totals": {**MANIFEST["totals"], "cost": "free"}}, {"cost": None}, "manifest.json: 'cost'"),
        ({"summary": {"complete": "yes"}}, {"complete": None}, "summary.json: 'complete'"),
        ({"summary": {"counts": []}}, {"searched": None}, "summary.json: 'counts'"),
        (
            {"summary": {"metrics": {"recall@10": {"overall": {"value": "x"}}}}},
            {"recall@10": None},
            "'recall'",
        ),
        (
            {"summary": {"profiles": {"fathoms": {"overall": {"correctness": "x", "n": 4, "errors": 1}}}}},
            {"correctness": None, "hallucination": None},
            "summary.json: 'correctness'",
        ),
    ],
)
def test_a_damaged_key_is_unknown_and_said(
    changed: dict[str, Any], rest: dict[str, Any], said: str, tmp_path: Path
) -> None:
    folder = run(tmp_path, **changed)
    row, flaw = listed(folder)
    assert row == ROW | rest
    assert said in str(flaw)
    assert " cannot be used: Input should be " in str(flaw)
    assert followed(folder)["status"] == "damaged"


@pytest.mark.parametrize("changed", [{"sequence": "x"}, {"sequence": -1}, {"created": 7}, {"created": None}])
def test_a_run_without_a_usable_place_has_none(changed: dict[str, Any], tmp_path: Path) -> None:
    assert place_of(run(tmp_path, **changed)) is None


def test_the_place_is_read_from_a_manifest_on_one_line(tmp_path: Path) -> None:
    assert place_of(run(tmp_path)) == Place(3, str(MANIFEST["created"]), "r")
    assert "\n" not in (tmp_path / "r" / "manifest.json").read_text()
