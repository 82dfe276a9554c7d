"""Several runs of one command: what ends one of them frees and closes the others."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathoms import corpora
from fathoms.cli import main
from fathoms.errors import ConfigError, StoreError
from fathoms.experiment import load_experiment
from fathoms.experiment.reopening import reopen
from fathoms.models.calling.stop import Stop
from fathoms.runner import runner
from fathoms.runner.budget import Budget
from fathoms.runner.runner import Job
from fathoms.runs.cache import Cache
from fathoms.runs.finding import list_runs
from fathoms.runs.run import Run
from fathoms.types import Record
from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.project import Project

TEXTS = [f"What is <{number}>?" for number in range(8)]


@pytest.fixture
def servers() -> Iterator[list[ScriptedServer]]:
    found = [ScriptedServer(default=faulty.SAID, latency=0.1) for _ in range(2)]
    with found[0].running(), found[1].running():
        yield found


def jobs(path: Path, servers: list[ScriptedServer], provider: str = "http", **options: Any) -> list[Job]:
    """A run a server, named `a` and `b`."""
    project, found = faulty.faulty_project(path, TEXTS), []
    for name, server in zip("ab", servers, strict=False):
        text = faulty.config(provider, server.address, **options).replace("name: faulty", f"name: {name}")
        experiment = load_experiment(project.write(f"{name}.yaml", text))
        found.append(Job(experiment, corpora.load(experiment.data, path), path))
    return found


def limits(job: Job, **rules: Any) -> Job:
    """The same with other rules of `execution`."""
    execution = job.experiment.execution.model_copy(update=rules)
    return replace(job, experiment=job.experiment.model_copy(update={"execution": execution}))


def ends(work: Callable[[], object], seconds: float = 20) -> Any:
    """What it returns or raises, in a thread of its own, so that a hang is a failure."""
    said: list[object] = []

    def go() -> None:
        try:
            said.append(work())
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join(seconds)
    assert said, "it hangs"
    return said[0]


def run_jobs(path: Path, what: list[Job], **options: Any) -> Any:
    def go() -> object:
        with closing(Cache(path / "cache")) as cache:
            return runner.run(what, out=path / "runs", cache=cache, **options)

    return ends(go)


def stops_after(number: int, stop: Stop) -> Callable[[Record, int, int], None]:
    """Ask for a stop a second after so many questions were done in all: by then, others would be asked."""
    done: list[Record] = []

    def on_record(record: Record, *_: int) -> None:
        done.append(record)
        if len(done) == number:
            threading.Timer(1, stop.set).start()

    return on_record


@pytest.mark.slow
def test_a_run_that_breaks_off_holds_no_other_up(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    """What its question held of the budget is free, and every run is closed."""

    def on_record(record: Record, done: int, total: int) -> None:
        if record.answer is not None and record.answer.text == "Of a." and servers[0].requests == 2:
            raise StoreError("the disk is full")

    what = jobs(tmp_path, servers)
    (first,) = run_jobs(tmp_path, what[:1], selection=runner.Selection(limit=1))
    usage = first.run.records.all()[0].answer.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    first.run.path.rename(tmp_path / "first")
    servers[0].default = "Of a."
    servers[0].requests, servers[0].latency, servers[1].latency = 0, 0.3, 0.4
    # after one answer each, the second question of `a` is held for, and that of `b` waits for what it took
    found = run_jobs(tmp_path, what, on_record=on_record, budget=Budget(max_tokens=int(3.5 * tokens)))
    assert isinstance(found, StoreError)
    for run in list_runs(tmp_path / "runs"):
        totals = run.manifest.plain()["totals"]
        assert totals["stopped"] == "error"
        assert totals["answers"] == len(run.records.entries()) > 0


def test_every_run_is_closed(
    tmp_path: Path, servers: list[ScriptedServer], caplog: pytest.LogCaptureFixture
) -> None:
    def on_record(record: Record, done: int, total: int) -> None:
        if done == 3:
            raise StoreError("the disk is full")

    with caplog.at_level("INFO", "fathoms.run"):
        assert isinstance(run_jobs(tmp_path, jobs(tmp_path, servers), on_record=on_record), StoreError)
    events = Counter(record.facts["event"] for record in caplog.records)  # type: ignore[attr-defined]
    assert events["run-started"] == events["run-finished"] == 2


def test_a_stop_ends_waiting_for_a_rate_limit(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    """At two requests a minute, eight at a time: nothing is in flight, so nothing is waited for."""
    stop = Stop()
    started = time.perf_counter()
    limited = [limits(job, requests_per_minute=2) for job in jobs(tmp_path, servers[:1], at_once=8)]
    found = run_jobs(tmp_path, limited, stop=stop, on_record=stops_after(2, stop))
    assert time.perf_counter() - started < 25  # the next turn comes after 30 s
    (outcome,) = found
    assert outcome.stopped
    assert (outcome.done, outcome.errors) == (2, 0)
    assert outcome.run.manifest.plain()["totals"]["stopped"] == "signal"
    assert len(outcome.run.records.all()) == 2


def test_a_limit_holds_for_all_runs_on_a_provider(tmp_path: Path, servers: list[ScriptedServer]) -> None:
    """Two cells that differ in another key of `execution`."""
    (job,) = jobs(tmp_path, servers[:1], at_once=8)
    cells = [limits(job, requests_per_minute=8, max_attempts=attempts) for attempts in (1, 2)]
    stop = Stop()
    run_jobs(tmp_path, cells, stop=stop, on_record=stops_after(8, stop))
    assert servers[0].requests == 8


@pytest.mark.slow
def test_a_limit_holds_for_a_reranker_too(tmp_path: Path) -> None:
    """Two runs rerank with the same model, while a third run is not held up."""
    found = [ScriptedServer(default=faulty.said("reranker")) for _ in range(2)]
    stop = Stop()

    def stop_at_sixteen(record: Record, done: int, total: int) -> None:
        if done == 16:
            stop.set()

    with found[0].running(), found[1].running():
        several = [jobs(tmp_path / name, found[:1], "reranker", at_once=8)[0] for name in ("one", "two")]
        (other,) = jobs(tmp_path / "other", found[1:], at_once=8)
        limited = [limits(job, requests_per_minute=8) for job in several]
        outcomes = run_jobs(tmp_path, [*limited, other], stop=stop, on_record=stop_at_sixteen)
    assert [server.requests for server in found] == [8, 8]
    done = {Path(outcome.run.manifest.plain()["folder"]).name: outcome.done for outcome in outcomes}
    assert done == {"one": 8, "two": 0, "other": 8}


@pytest.mark.slow
def test_a_run_that_another_has_finished_meanwhile(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read what is missing before either goes on: nothing is paid for twice."""
    monkeypatch.chdir(project.path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(project.path / "cache"))
    assert main(["run", "tiny.yaml"]) == 0
    run = Run(project.runs()[0])
    lines = (run.path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "journal.jsonl").write_bytes(lines[0])
    first, late = reopen(run), reopen(run)
    with closing(Cache(project.path / "cache")) as cache:
        assert runner.resume(first, cache=cache).done == 4
        assert runner.resume(late, cache=cache).done == 4
    assert len((run.path / "journal.jsonl").read_bytes().splitlines()) == 4
    assert json.loads((run.path / "manifest.json").read_bytes())["totals"]["answers"] == 4


def test_a_limit_of_tokens_that_cannot_hold_is_refused(tmp_path: Path) -> None:
    text = faulty.config("http", "http://127.0.0.1:9").replace(
        "{max_attempts", "{tokens_per_minute: 9, max_attempts"
    )
    project = faulty.faulty_project(tmp_path, TEXTS)
    with pytest.raises(
        ConfigError,
        match=r"a\.yaml:4:1: execution: tokens_per_minute cannot be enforced: .* requests_per_minute",
    ):
        load_experiment(project.write("a.yaml", text))
