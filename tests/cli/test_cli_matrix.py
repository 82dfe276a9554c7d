"""A run a combination of settings."""

from __future__ import annotations

import json

import pytest
import yaml

from fathoms.cli import main
from fathoms.cli.run import combinations
from fathoms.errors import UsageError
from tests.support.project import Project

CHOSEN = ["--matrix", "found=two", "--matrix", "generate.model=small,large"]


def test_every_combination_once() -> None:
    assert list(combinations([])) == [{}]
    assert list(combinations(["a=1,x:2", "b=[1, 2],null"])) == [
        {"a": 1, "b": [1, 2]},
        {"a": 1, "b": None},
        {"a": "x:2", "b": [1, 2]},
        {"a": "x:2", "b": None},
    ]


def test_names_of_cells_are_text() -> None:
    result = combinations(["depth=3, yes,1.0,null", "k=3"], {"depth": {}})
    assert list(result) == [{"depth": name, "k": 3} for name in ("3", "yes", "1.0", "null")]
    with pytest.raises(UsageError, match="expected KEY=V1,V2"):
        list(combinations(["depth= ,"], {"depth"}))


@pytest.mark.parametrize("axis", ["a", "a=", "=1,2", "a=[1,2"])
def test_a_malformed_axis_is_refused(axis: str) -> None:
    with pytest.raises(UsageError, match="expected KEY=V1,V2"):
        list(combinations([axis]))


@pytest.mark.slow
def test_every_combination_of_the_matrix_is_a_run(project: Project) -> None:
    done = project.fathoms(
        "run", "tiny.yaml", "--matrix", "retrieve.top_k=1,2", "--matrix", "generate.model=small,large"
    )
    assert done.returncode == 0, done.stderr
    manifests = [json.loads((run / "manifest.json").read_text()) for run in project.runs()]
    cells = [(m["config"]["retrieve"]["top_k"], m["config"]["generate"]["model"]) for m in manifests]
    assert cells == [(1, "small"), (1, "large"), (2, "small"), (2, "large")]
    # each has its values in its name, so that the table can be read and the next night finds its own
    assert [m["name"] for m in manifests][:2] == ["tiny top_k=1 model=small", "tiny top_k=1 model=large"]
    assert "top_k=2" in done.stdout
    assert project.json("show", "tiny top_k=2 model=large")["manifest"]["name"] == manifests[3]["name"]
    assert all(m["totals"]["answers"] == 4 for m in manifests)


@pytest.mark.slow
def test_a_sweep_is_listed_as_a_grid(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    monkeypatch.setenv("COLUMNS", "120")
    priced = ["--set", "generate.price={input: 100, output: 100}"]
    assert main(["run", "tiny.yaml", "--no-score"]) == 0  # no part of any sweep
    axes = ["--matrix", "retrieve.top_k=1,2", "--matrix", "generate.max_tokens=1,64"]
    assert main(["run", "tiny.yaml", *axes, *priced, "--limit", "2"]) == 0
    rows = project.json("ls", "--sweep")
    assert len(rows) == 4
    assert len({row["sweep"] for row in rows}) == 1
    cells = [(row["cell"]["retrieve.top_k"], row["cell"]["generate.max_tokens"]) for row in rows]
    assert cells == [(1, 1), (1, 64), (2, 1), (2, 64)]
    assert all(row["cost"] > 0 and row["seconds"] >= 0 for row in rows)
    assert [row["correctness"] for row in rows] == [0.0, 0.5, 0.0, 0.5]
    shown = project.fathoms("ls", "--sweep", rows[0]["sweep"]).stdout.splitlines()
    assert shown[0] == f"sweep {rows[0]['sweep']}"
    heads = "retrieve.top_k generate.max_tokens correctness hallucination n failed cost time"
    assert " ".join(shown[1].split()) == heads
    assert shown[3].split()[:3] == ["1", "64", "0.50"]
    unknown = project.fathoms("ls", "--sweep", "nothing")
    assert (unknown.returncode, "no sweep 'nothing'" in unknown.stderr) == (2, True)
    assert project.fathoms("ls", rows[0]["sweep"]).returncode == 2


@pytest.mark.slow
def test_several_configs_are_a_sweep_too(project: Project) -> None:
    project.write("two.yaml", project.config.read_text().replace("name: tiny", "name: two"))
    assert project.fathoms("ls", "--sweep", "--out", "runs").returncode == 2
    assert project.fathoms("run", "tiny.yaml", "two.yaml", "--no-score").returncode == 0
    rows = project.json("ls", "--sweep")
    assert [row["cell"] for row in rows] == [{"config": "tiny"}, {"config": "two"}]


@pytest.mark.slow
def test_the_matrix_of_a_config_is_a_run_a_cell(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    text = project.config.read_text()
    project.write(
        "tiny.yaml", text + "matrix: {found: {one: {retrieve.top_k: 1}, two: {retrieve.top_k: 2}}}\n"
    )
    assert main(["run", "tiny.yaml", "--limit", "1", "--no-score"]) == 0
    assert main(["run", "tiny.yaml", "--limit", "1", "--no-score", *CHOSEN]) == 0
    manifests = [json.loads((run / "manifest.json").read_text()) for run in project.runs()]
    assert [(m["name"], m["config"]["retrieve"]["top_k"], m["sweep"]["cell"]) for m in manifests] == [
        ("tiny one", 1, {"config": "tiny", "found": "one"}),
        ("tiny two", 2, {"config": "tiny", "found": "two"}),
        ("tiny two model=small", 2, {"config": "tiny", "found": "two", "generate.model": "small"}),
        ("tiny two model=large", 2, {"config": "tiny", "found": "two", "generate.model": "large"}),
    ]
    assert main(["run", "tiny.yaml", "--matrix", "found=three"]) == 2
    assert "there is no 'three' (available: one, two)" in capsys.readouterr().err
    assert main(["validate", "tiny.yaml"]) == 0
    assert "the matrix has 2 cells: tiny one, tiny two" in capsys.readouterr().out
    assert main(["ingest", "tiny.yaml"]) == 0
    assert "tiny two:" in capsys.readouterr().out
    assert main(["doctor", "tiny.yaml", "--json"]) == 0
    checked = [entry["config"] for entry in json.loads(capsys.readouterr().out)["configs"]]
    assert checked == ["tiny.yaml one", "tiny.yaml two"]


@pytest.mark.slow
def test_a_cell_named_by_a_number_is_chosen(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    axes = "matrix: {depth: {'3': {retrieve.top_k: 3}, 'off': {}}}\n"
    project.write("tiny.yaml", project.config.read_text() + axes)
    for name in ("3", "off"):
        assert main(["run", "tiny.yaml", "--dry-run", "--matrix", f"depth={name}"]) == 0
        assert f"tiny {name}" in capsys.readouterr().out


def test_validate_shows_each_cell_of_a_config_that_is_complete_in_its_cells_only(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    text = (
        "data: {questions: questions.json, documents: pdfs}\nretrieve: {kind: bm25}\n"
        "matrix: {by: {a: {generate: {kind: scripted}}, b: {generate: {kind: scripted, model: large}}}}\n"
    )
    project.write("tiny.yaml", text)
    assert main(["validate", "tiny.yaml"]) == 0
    shown = capsys.readouterr().out
    items = list(yaml.safe_load_all(shown))
    assert [(one["name"], one["generate"]["model"]) for one in items] == [
        ("tiny a", "scripted"),
        ("tiny b", "large"),
    ]
    assert shown.count("# 4 questions") == 2
    assert main(["validate", "tiny.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == items
    project.write("tiny.yaml", text.replace("large}", "large, modle: x}"))
    assert main(["validate", "tiny.yaml"]) == 2
    assert "unknown key 'modle'" in capsys.readouterr().err
