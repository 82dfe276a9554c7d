"""A cascade of real models: a small fact checker with random weights, and the smallest embedded model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.cli import main
from fathoms.paths import cache_dir
from tests.conftest import needs
from tests.support import fact_checkers

pytestmark = pytest.mark.slow  # real models

PREMISE = "The Varn tower was built in 1912 by Ada Lund. Its door is painted green."
CLAIMS = {
    "The door is green.": "supported",
    "Ada Lund built a tower.": "supported",
    "It has a lift.": "unsupported",
}

SMALL = {"n_ctx": 1024, "max_tokens": 8, "threads": 1}


def test_what_a_cascade_costs_and_how_far_it_agrees_with_each_of_its_judges_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("smollm2-135m")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "models").symlink_to(cache_dir() / "models")
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = fact_checkers.minicheck(tmp_path / "minicheck")
    labels = tmp_path / "labels.jsonl"
    rows = [
        {"claim": claim, "premise": PREMISE, "label": label, "group": claim}
        for claim, label in CLAIMS.items()
    ]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = {
        "kind": "cascade",
        "cheap": {"kind": "nli", "model": str(folder), "checker": "minicheck", "device": "cpu"},
        "dear": {"kind": "llm", "model": {"kind": "embedded", "model": "smollm2-135m", **SMALL}},
        "threshold": 0.55,
    }
    (tmp_path / "cascade.yaml").write_text(json.dumps(judge))
    assert main(["agree", str(labels), "--judge", str(tmp_path / "cascade.yaml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cheap, dear = found["others"]
    assert [one["asked"] for one in (cheap, dear)] == [1, 3]  # the fact checker reads all claims at once
    assert 0 <= found["to_dear"] <= 3
    assert found["seconds"] >= cheap["seconds"] - 1e-6  # the fact checker is asked about every claim
    assert found["seconds"] <= cheap["seconds"] + dear["seconds"] + 1e-6
    assert {one["with_judge"]["n"] for one in (cheap, dear)} == {3}

    assert main(["agree", str(labels), "--judge", str(tmp_path / "cascade.yaml")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name in ("cheap judge", "dear judge"):
        assert f"cascade and {name} say the same of" in shown
    assert f"cascade asks the dear judge about {found['to_dear']} claims" in shown
    assert "seconds of all" in shown  # a narrow column folds
    assert "cost of all" in shown
