"""A metric that is added by one file and one name in a configuration is found in every output."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.support.project import Project, write_project

pytestmark = pytest.mark.slow  # two runs and a report

METRIC = '''
from fathoms.types import Score

def brevity(record):
    """1 for an answer of at most four words."""
    words = len(record.answer.text.split())
    return Score(metric="", value=float(words <= 4), n=words, parts={"words": words}, why={"limit": 4})
'''


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write_project(tmp_path_factory.mktemp("everywhere"))
    project.write("own_metric.py", METRIC)
    project.config.write_text(project.config.read_text() + "metrics: ['own_metric:brevity']\n")
    for name in ("one", "two"):
        done = project.fathoms("run", "tiny.yaml", "--set", f"name={name}", "--junit", f"{name}.xml")
        assert done.returncode == 0, done.stderr
    assert project.fathoms("report", "one", "two", "--to", "both").returncode == 0
    return project


def figures(project: Project) -> dict[str, object]:
    (shown,) = project.json("report", "one")
    found: dict[str, object] = shown["metrics"]["brevity"]
    return found


def test_its_figures_are_in_the_json(scored: Project) -> None:
    # "Nobody can say." has three words, and two of the four answers are that
    found = figures(scored)
    assert found["overall"]["value"] == 0.5
    assert found["overall"]["n"] == 4
    assert found["categories"]["Tables"]["value"] == 1
    assert found["direction"] == "higher"


def test_it_is_in_the_tables(scored: Project) -> None:
    shown = scored.fathoms("report", "one", "two").stdout
    assert re.search(r"\nmetric +brevity\none +0.50 \[.*\]\ntwo +0.50 \[", shown)
    assert "| brevity ↑ | 0.50 \\[" in (scored.path / "both" / "report.md").read_text()
    assert r"brevity $\uparrow$" in (scored.path / "both" / "table.tex").read_text()
    rows = list(csv.DictReader((scored.path / "both" / "scores.csv").read_text().splitlines()))
    assert [row["brevity"] for row in rows if row["question"] == "tables-01"] == ["1.0", "1.0"]


def test_runs_are_compared_and_gated_by_it(scored: Project) -> None:
    (test,) = scored.json("compare", "one", "two", "--metric", "brevity")["tests"]
    assert test["overall"]["difference"] == 0
    done = scored.fathoms("gate", "two", "--baseline", "one", "--metric", "brevity", "--margin", "0.9")
    assert done.returncode == 0
    assert "PASS" in done.stdout
    refused = scored.fathoms("gate", "two", "--baseline", "one", "--metric", "prompt-tokens")
    assert refused.returncode == 2
    assert "prompt-tokens is measured in tokens" in refused.stderr
    assert scored.json("compare", "one", "two", "--metric", "prompt-tokens")["tests"][0]["ties"] == 4


def test_a_baseline_file_holds_it(scored: Project) -> None:
    assert scored.fathoms("gate", "one", "--save-baseline", "base.json").returncode == 0
    assert json.loads((scored.path / "base.json").read_text())["metrics"]["brevity"]["unit"] == "share"
    done = scored.fathoms("gate", "two", "--baseline", "base.json", "--metric", "brevity", "--margin", "0.9")
    assert done.returncode == 0
    unknown = scored.fathoms("gate", "two", "--baseline", "base.json", "--metric", "brevty")
    assert unknown.returncode == 2
    assert "has no metric 'brevty' (did you mean 'brevity'?)" in unknown.stderr


def test_it_is_shown_with_an_answer_and_in_the_junit_file(scored: Project) -> None:
    shown = scored.fathoms("show", "one", "--question", "tables-01").stdout
    assert "brevity: 1 (words 3; limit: 4)" in shown
    assert "brevity 1.00" in (scored.path / "one.xml").read_text()


def test_a_run_from_elsewhere_runs_none_of_its_code(scored: Project) -> None:
    run = scored.runs()[0]
    manifest = json.loads((run / "manifest.json").read_text())
    content = (run / "manifest.json").read_bytes()
    try:
        (run / "manifest.json").write_text(json.dumps({**manifest, "signature": "0" * 64}))
        refused = scored.fathoms("score", "one")
        assert refused.returncode == 2
        assert "imports and runs own_metric:brevity" in refused.stderr
        assert scored.fathoms("score", "one", "--trust").returncode == 0
    finally:
        Path(run / "manifest.json").write_bytes(content)
