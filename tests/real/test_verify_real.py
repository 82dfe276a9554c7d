"""`make verify-real` with paths that can run here: a small model in a process of its own, and faults."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms.cli.doctor_findings import findings
from fathoms.cli.verification import FILE, Kind, RealRun, read_verified, verification_lines
from fathoms.experiment import load_experiment
from tests.real.__main__ import PAGE, main
from tests.real.page import with_chapter
from tests.real.paths import LIST, lacking, read_paths
from tests.support.project import Project

SCRIPTED = "data: sample\nretrieve: {kind: bm25, top_k: 5}\ngenerate: {kind: scripted}\n"
EMBEDDED = """\
data: sample
retrieve: {kind: none}
generate: {kind: embedded, model: smollm2-135m, n_ctx: 512, max_tokens: 4, price: {input: 1, output: 1}}
"""
FOLDER = {"folder": "f", "writable": True, "free_gb": 9}
MACHINE = {"python": "3.11", "cpus": 2, "memory_gb": 8, "cache": FOLDER, "runs": FOLDER}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a record of two kinds that were never run."""
    kinds = {name: {"what": "something real", "run": None} for name in ("chat/embedded", "chat/scripted")}
    (tmp_path / "record.json").write_text(json.dumps(kinds))
    return tmp_path


def verify(files: Path, paths: list[dict[str, Any]], *words: str) -> int:
    (files / "paths.yaml").write_text(yaml.safe_dump(paths))
    own = ("--paths", files / "paths.yaml", "--record", files / "record.json", "--page", files / "page.md")
    return main([*map(str, own), *words])


def path(name: str, config: str = SCRIPTED, **more: Any) -> dict[str, Any]:
    verifies = ["chat/embedded" if config is EMBEDDED else "chat/scripted"]
    return {"name": name, "verifies": verifies, "cost": 0, "minutes": 1, "config": config, **more}


@pytest.mark.slow
def test_a_path_that_runs_is_written_with_model_date_and_figures(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = path(
        "small", EMBEDDED, model="smollm2-135m", commands=["run config.yaml --limit 1 --max-cost {cost}"]
    )
    assert verify(files, [small]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.startswith("verified  small: {'questions': 1, 'errors': 0, 'correctness'")
    record = json.loads((files / "record.json").read_text())
    run = RealRun.model_validate(record["chat/embedded"]["run"])
    assert (run.path, run.model, run.date) == ("small", "smollm2-135m", f"{datetime.now(UTC):%Y-%m-%d}")
    assert run.figures["questions"] == 1
    assert run.seconds > 0
    assert run.cost is not None
    assert 0 < run.cost < 0.01, "at the price in the configuration"
    assert record["chat/scripted"]["run"] is None
    written = (files / "page.md").read_text()
    assert f"| `chat/embedded` | `smollm2-135m` | {run.date} |" in written.partition("## Never run")[0]
    assert "| `chat/scripted` | something real |" in written.partition("## Never run")[2]


@pytest.mark.slow
def test_what_does_not_run_as_expected_is_named_and_not_written(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    failing = SCRIPTED.replace("scripted}", 'scripted, fail_on: {"?": "no such model"}}')
    paths = [
        path("keyless", needs={"keys": ["SOME_KEY"], "modules": ["no_such_module"]}),
        path("dear", cost=0.6),
        path("long", minutes=11),
        path("low", commands=["run config.yaml --limit 2"], expect={"hit@5": 1.1}),
        path("failing", failing, commands=["run config.yaml --limit 1"]),
        path("dear-too", cost=0.3),
    ]
    assert verify(files, paths, "--max-cost", "0.5") == 1
    *left_out, low, failed, _ = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in left_out] == [
        "left out  keyless: no key in SOME_KEY, no module no_such_module",
        "left out  dear: expected to cost $0.60, and $0.50 is left to spend",
        "left out  long: expected to take 11 minutes, and 10.0 are left",
    ]
    assert low.startswith("FAILED    low: hit@5 is ")
    assert low.endswith("and at least 1.1 was expected")
    assert failed.startswith("FAILED    failing: 'fathoms run config.yaml --limit 1' ended with 1: ")
    assert all(kind.run is None for kind in read_verified(files / "record.json").values())
    assert verify(files, paths, "--only", "low", "failing", "--plan") == 0
    reported = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in reported] == ["would run low", "would run failing"]
    assert "Nothing was run yet." in (files / "page.md").read_text()


def test_no_more_than_a_dollar_is_planned(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [path("first", cost=0.7), path("second", cost=0.7), path("third", cost=0.3)]
    assert verify(files, paths, "--plan") == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        "would run first",
        "left out  second",
        "would run third",
    ]
    for words in (["--max-cost", "1.01"], ["--minutes", "11"], ["--only", "fourth"]):
        with pytest.raises(SystemExit):
            verify(files, paths, *words)
    assert "there is no path fourth: first, second, third" in capsys.readouterr().err


def test_the_hub_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    (path,) = (path for path in read_paths() if path.name == "nli")
    assert list(lacking(path.needs)) == ["no hub"]


def test_every_path_of_the_list_can_be_loaded_and_all_cost_less_than_a_dollar(tmp_path: Path) -> None:
    paths, kinds = read_paths(), read_verified()
    assert sum(path.cost for path in paths) <= 1
    assert {name for path in paths for name in path.verifies} <= set(kinds)
    for path in paths:
        assert all(command.startswith(("run ", "data pull ", "doctor ")) for command in path.commands)
        assert path.config is not None
        file = tmp_path / f"{path.name}.yaml"
        file.write_text(path.config)
        lines = [line for line, _ in verification_lines(load_experiment(file), kinds)]
        assert [line.split(":")[0].split(" ")[0] for line in lines] == list(path.verifies), path.name


def test_the_page_says_what_the_record_holds() -> None:
    text = PAGE.read_text()
    assert text == with_chapter(text, read_paths(LIST), read_verified(FILE)), "run python -m tests.real"


@pytest.mark.slow
def test_doctor_marks_what_never_ran(project: Project) -> None:
    judge = "judge: {kind: llm, model: {kind: openai, model: gpt-4o}}\nmetrics: [faithfulness, bertscore]\n"
    project.write("judged.yaml", project.config.read_text() + judge)
    experiment = load_experiment(project.path / "judged.yaml")
    printed = project.fathoms("doctor", "judged.yaml").stdout
    lines = [line for line, _ in verification_lines(experiment, read_verified())]
    assert len(lines) == 2
    assert all(line in printed for line in lines), printed
    assert "verified" not in project.fathoms("doctor", "tiny.yaml").stdout
    run = RealRun(path="o", model="gpt-4.1", date="2026-01-02", version="1", seconds=1, cost=0.1, figures={})
    ran = Kind(what="the API of OpenAI", run=run)
    kinds = {"metric/bertscore": Kind(what="trained weights", run=None), "chat/openai": ran}
    found = list(verification_lines(experiment, kinds))
    assert found == [
        ("metric/bertscore (roberta-large): never run with trained weights", False),
        ("chat/openai (gpt-4o): run on 2026-01-02 with gpt-4.1", True),
    ]
    notes = [
        {"name": "verified", "ok": True, "detail": line, "unverified": int(not ran)} for line, ran in found
    ]
    report = {
        "machine": MACHINE,
        "extras": [],
        "plugins": [],
        "configs": [{"config": "judged.yaml", "checks": notes}],
    }
    assert [line[:9] for line in findings(report)][-2:] == ["  note   ", "  ok     "]
