"""`fathoms tune` from the shell: a race of real runs, its end, an interruption, and what it prints."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from fathoms.api import load, tune
from fathoms.errors import UsageError
from tests.support.project import Project

pytestmark = pytest.mark.slow

QUESTIONS = 24
LONGEST = 1800
"""So many seconds a race may take on a busy machine."""
CONFIG = """\
name: race
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, patterns: {'number (\\d+)': 'It is \\1.'}, max_concurrency: 2}
"""


def prepare(project: Project, latency: float = 0.0) -> None:
    rows = [
        {
            "question": f"Which is number {number}?",
            "files": ["varn.pdf"],
            "answers": [[str(number)]],
        }
        for number in range(100, 100 + QUESTIONS)
    ]
    project.write(
        "questions.json", json.dumps({"Text-Only": rows[: QUESTIONS // 2], "Tables": rows[QUESTIONS // 2 :]})
    )
    half = ", ".join(f"'number 1{number:02d}': '1{number:02d}'" for number in range(0, QUESTIONS, 2))
    models = [
        CONFIG,
        CONFIG.replace("patterns: {'number (\\d+)': 'It is \\1.'}", f"replies: {{{half}}}"),
        CONFIG.replace("patterns: {'number (\\d+)': 'It is \\1.'}", "default: No idea."),
    ]
    for name, text in zip(("good", "half", "bad"), models, strict=True):
        slow = text.replace("max_concurrency", f"latency: {latency}, max_concurrency")
        project.write(f"{name}.yaml", slow.replace("name: race", f"name: {name}"))


CONFIGS = ("good.yaml", "half.yaml", "bad.yaml")


def test_the_best_is_found_with_few_calls(project: Project) -> None:
    prepare(project)
    done = project.fathoms("tune", *CONFIGS, "--write", "best.yaml")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "best on these questions: good (correctness 1.00)"
    assert "half" in done.stdout
    assert ", out" in done.stdout
    assert len(lines) <= 25
    assert project.fathoms("validate", "best.yaml").returncode == 0
    (page,) = (project.path / "runs" / "reports").glob("tune-*/tune.html")
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert text.count("<svg") == 2  # no axis differs but the config
    assert "<script" not in text
    # every candidate is an ordinary run with a part of the answers
    answers = [len((run / "journal.jsonl").read_text().splitlines()) for run in project.runs()]
    assert len(answers) == 3
    assert sum(answers) < 2 * QUESTIONS
    shown = project.fathoms("show", "bad")
    assert shown.returncode == 0
    assert "bad" in shown.stdout
    again = project.json("tune", "--replay", "good", "--replay", "good")
    assert again["right"] == again["draws"]


def test_what_is_written_is_a_config_as_a_person_writes_it(project: Project) -> None:
    """It has what the base says and the values of the best, no defaults, and is the same pipeline."""
    prepare(project)
    matrix = ("--matrix", "generate.default=No idea.,It is 107.")
    done = project.fathoms("tune", "bad.yaml", *matrix, "--set", "retrieve.top_k=2", "--write", "best.yaml")
    assert done.returncode == 0, done.stderr
    base = yaml.safe_load((project.path / "bad.yaml").read_text())
    written = yaml.safe_load((project.path / "best.yaml").read_text())
    assert written == {
        **base,
        "name": "bad default=It is 107.",
        "retrieve": {"kind": "dense", "top_k": 2},
        "generate": {**base["generate"], "default": "It is 107."},
    }
    assert project.fathoms("tune", "--resume", "latest", "--write", "again.yaml").returncode == 0
    assert (project.path / "again.yaml").read_text() == (project.path / "best.yaml").read_text()
    assert project.fathoms("run", "best.yaml", "--reuse-replies").returncode == 0
    *candidates, alone = [json.loads((run / "manifest.json").read_text()) for run in project.runs()]
    (best,) = (one for one in candidates if one["config"]["name"] == written["name"])
    assert alone["fingerprints"] == best["fingerprints"]
    assert alone["config"] == best["config"]
    answers = [
        json.loads(line)["answer"] for line in (project.runs()[-1] / "journal.jsonl").read_text().splitlines()
    ]
    assert all(answer["cached"] for answer in answers)


def _answers(project: Project) -> int:
    """How many answers of all runs are on disk."""
    journals = [run / "journal.jsonl" for run in project.runs()]
    return sum(len(path.read_text().splitlines()) for path in journals if path.exists())


def _killed_twice(project: Project, command: Sequence[str], more: int) -> Any:
    """The result of a race that was killed twice, each time after so many more answers."""
    answers = 0
    for arguments in (command, ("--resume", "latest")):
        started, deadline, least = (
            project.start("tune", *arguments),
            time.monotonic() + LONGEST,
            answers + more,
        )
        while time.monotonic() < deadline and (answers := _answers(project)) < least:
            time.sleep(0.05)
        assert started.poll() is None
        started.send_signal(signal.SIGKILL)
        started.wait()
    return _raced(project, "--resume", "latest")


def _raced(project: Project, *command: str) -> Any:
    """The result of a race, which may take long."""
    done = project.fathoms("tune", *command, "--json", timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _decided(found: Any) -> dict[str, tuple[float, int | None]]:
    """The figure of each candidate, and after how many questions it was dropped."""
    return {one["candidate"]["name"]: (one["value"], one["dropped_at"]) for one in found["standings"]}


def test_a_race_that_was_killed_ends_as_an_undisturbed_one(project: Project) -> None:
    prepare(project)
    whole = project.json("tune", *CONFIGS, "--seed", "5", "--out", "undisturbed")
    prepare(project, latency=0.4)
    found = _killed_twice(project, (*CONFIGS, "--seed", "5"), 2)
    assert found["best"]["candidate"]["name"] == whole["best"]["candidate"]["name"] == "good"
    assert _decided(found) == _decided(whole)


SAMPLE = """\
data: sample
chunk: {kind: sentence, size: 96, overlap: 0}
retrieve: {kind: bm25, top_k: 1}
generate: {kind: scripted, echo: true, latency: LATENCY, max_concurrency: 2}
"""


@pytest.mark.long
def test_24_candidates_on_the_sample_that_were_killed_end_as_undisturbed(project: Project) -> None:
    axes = ("retrieve.top_k=1,2,4", "chunk.size=96,192", "generate.max_tokens=24,48,96,400")
    command = ["echo.yaml", *(part for axis in axes for part in ("--matrix", axis)), "--seed", "3"]
    project.write("echo.yaml", SAMPLE.replace("LATENCY", "0"))
    whole = _raced(project, *command, "--out", "undisturbed")
    assert len(whole["standings"]) == 24
    assert whole["calls"] < 0.7 * whole["whole"]
    project.write("echo.yaml", SAMPLE.replace("LATENCY", "0.1"))
    found = _killed_twice(project, command, 100)
    assert found["best"]["candidate"]["name"] == whole["best"]["candidate"]["name"]
    assert _decided(found) == _decided(whole)
    assert found["calls"] == whole["calls"]


def test_calls_that_run_out_leave_the_others_with_intervals(project: Project) -> None:
    prepare(project)
    done = project.fathoms("tune", "good.yaml", "half.yaml", "--max-calls", "6")
    assert done.returncode == 3
    assert done.stdout.startswith("leading on these questions: ")
    assert "fathoms tune --resume" in done.stderr
    # the limit is that of one command
    assert project.json("tune", "--resume", "latest")["stopped"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "missing argument CONFIG"),
        (("good.yaml",), "one candidate is no choice"),
        (("good.yaml", "half.yaml", "--metric", "height"), "--metric height: the runs have"),
        (("good.yaml", "half.yaml", "--within", "2"), "--within 2: expected a number from 0"),
        (("--resume", "latest"), "holds no race"),
    ],
)
def test_what_is_wrong_is_said(project: Project, arguments: tuple[str, ...], says: str) -> None:
    prepare(project)
    done = project.fathoms("tune", *arguments)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr


def test_the_same_pipeline_twice_is_one_candidate(project: Project) -> None:
    prepare(project)
    done = project.fathoms("tune", "good.yaml", "bad.yaml", "--matrix", "generate.max_concurrency=2,3")
    assert done.returncode == 0
    assert "are the same pipeline" in done.stderr


def test_the_front_has_the_cheap_ones_too(project: Project) -> None:
    """The good model takes longest, so the one that knows half stays; the worst is dropped, as it takes as
    long as that one."""
    prepare(project)
    for name, latency in (("good", "0.3"), ("half", "0.0"), ("bad", "0.2")):
        text = (project.path / f"{name}.yaml").read_text().replace("latency: 0.0", f"latency: {latency}")
        project.write(f"{name}.yaml", text)
    found = project.json("tune", *CONFIGS, "--front", "latency")
    left = {one["candidate"]["name"] for one in found["standings"] if one["dropped_at"] is None}
    assert left == {"good", "half"}


def test_from_python(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(project)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(project.path / "cache"))
    candidates = [load(project.path / name) for name in CONFIGS]
    race = tune(candidates, out=project.path / "runs")
    assert race.best.candidate.name == "good 1"
    assert race.calls < race.whole
    with pytest.raises(UsageError, match="two or more"):
        tune(candidates[:1], out=project.path / "runs")


def test_a_dead_model_has_no_winner(project: Project) -> None:
    prepare(project)
    for name in CONFIGS:
        text = (
            (project.path / name).read_text().replace("latency: 0.0", "fail_on: {number: gone}, latency: 0.0")
        )
        project.write(name, text)
    done = project.fathoms("tune", *CONFIGS)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "all calls failed: gone" in done.stderr


def test_a_limit_that_lets_nothing_be_asked_is_said(project: Project) -> None:
    prepare(project)
    done = project.fathoms("tune", *CONFIGS, "--max-calls", "2")
    assert done.returncode == 2
    assert "nothing was answered" in done.stderr


def test_what_failed_before_is_asked_again_when_a_race_goes_on(project: Project) -> None:
    prepare(project)
    project.write(
        "rag.py",
        "from pathlib import Path\n"
        "def good(question):\n"
        "    if Path('down').exists():\n"
        "        raise ValueError('gone')\n"
        "    return question.split('number ')[1].strip('?')\n"
        "def bad(question):\n"
        "    good(question)\n"
        "    return 'no idea'\n",
    )
    for name in ("good", "bad"):
        pipeline = f'pipeline: {{kind: python, target: "rag:{name}"}}'
        project.write(f"{name}.yaml", f"name: {name}\ndata: {{questions: questions.json}}\n{pipeline}\n")
    project.write("down", "")
    assert project.fathoms("tune", "good.yaml", "bad.yaml").returncode != 0
    (project.path / "down").unlink()
    found = project.json("tune", "--resume", "latest")
    assert found["best"]["candidate"]["name"] == "good"
    assert found["best"]["value"] == pytest.approx(1.0)
    assert found["best"]["candidate"]["failed"] == 0


WAVERS = """\
from collections import Counter

def wavering(right):
    seen = Counter()
    def answer(question):
        seen[question] += 1
        return question.split("number ")[1].strip("?") if seen[question] <= right else "no idea"
    return answer

good, bad = wavering(2), wavering(1)
"""


WAVERING = """\
name: {name}
data: {{questions: questions.json}}
pipeline: {{kind: python, target: "rag:{name}"}}
metrics: [fathoms, correctness-judged]
judge: {{kind: scripted, labels_by: {{no idea: "2", "1": "9"}}}}
tune: {{repeats: 3, metric: {metric}}}
"""


@pytest.mark.parametrize("metric", ["correctness", "correctness-judged"])
def test_repeats_are_asked_and_their_mean_decides(project: Project, metric: str) -> None:
    """Of three answers to each question, two of the one candidate are right, and one of the other."""
    prepare(project)
    project.write("rag.py", WAVERS)
    for name in ("good", "bad"):
        project.write(f"{name}.yaml", WAVERING.format(name=name, metric=metric))
    done = project.fathoms("tune", "good.yaml", "bad.yaml", "--max-calls", "35")
    assert done.returncode == 3, done.stderr
    assert "each score is the mean of 3 answers" in done.stdout
    assert f"30 of {QUESTIONS * 6} calls" in done.stdout  # five questions: a sixth would take 36
    found = project.json("tune", "--resume", "latest")
    assert found["best"]["candidate"]["name"] == "good"
    assert found["best"]["value"] == pytest.approx(2 / 3)
    assert found["whole"] == QUESTIONS * 6
    assert found["calls"] % 6 == 0
    assert 6 * found["asked"] <= found["calls"] < found["whole"]


def test_a_question_without_all_of_its_repeats_is_not_scored(project: Project) -> None:
    """A race was killed after the first answers to three questions."""
    prepare(project)
    assert project.fathoms("tune", "good.yaml", "bad.yaml", "--repeats", "2").returncode == 0
    for run in project.runs():
        lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
        first = [line for line in lines if json.loads(line).get("repeat", 0) == 0]
        (run / "journal.jsonl").write_text("".join(first[:3]))
    found = project.json("tune", "--resume", "latest", "--max-calls", "1", code=3)
    assert found["asked"] == 0
    assert found["stopped"] == "calls"


SEARCH = """\
data: {questions: questions.json, documents: pdfs}
chunk: {kind: sentence, size: 16, overlap: 0}
embed: {kind: lexical}
generate: {kind: scripted, patterns: {'number (\\\\d+)': 'It is \\\\1.'}, max_concurrency: 2}
"""


def test_candidates_are_screened_by_what_they_retrieve(project: Project) -> None:
    """One candidate finds it, the other never searches.
    All is decided by the section of the config; the race goes on with the same figures."""
    prepare(project)
    rows = json.loads((project.path / "questions.json").read_text())
    for row in (row for group in rows.values() for row in group):
        row["evidence"] = [{"document": "varn.pdf", "page": 1}]
    project.write("questions.json", json.dumps(rows))
    section = "tune: {screen: retrieval, max_calls: 8, seed: 3}\n"
    project.write("found.yaml", SEARCH + "retrieve: {kind: dense, top_k: 9}\n" + section)
    project.write("closed.yaml", SEARCH + "retrieve: {kind: none}\n" + section)
    found = project.json("tune", "found.yaml", "closed.yaml", code=3)
    assert found["stopped"] == "calls"
    assert found["settings"]["seed"] == 3
    by_name = {one["candidate"]["name"]: one["candidate"]["retrieval"] for one in found["standings"]}
    assert by_name["closed"] is None
    assert 0.3 < by_name["found"] <= 1
    whole = project.json("tune", "--resume", "latest")
    assert {one["candidate"]["name"]: one["candidate"]["retrieval"] for one in whole["standings"]} == by_name
    project.write("closed.yaml", SEARCH + "retrieve: {kind: none}\ntune: {seed: 4}\n")
    refused = project.fathoms("tune", "found.yaml", "closed.yaml")
    assert refused.returncode == 2
    assert "different sections 'tune'" in refused.stderr
