"""A run that was stopped goes on in its own place, or says what has changed since."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fathoms.config import Source, validate
from fathoms.experiment import Experiment, load_experiment
from tests.support.project import Project, write_pdf
from tests.support.raw_service import answer, service

pytestmark = pytest.mark.slow  # processes of their own

ROOT = Path(__file__).parents[2]

SLOW = "generate.latency=1"
SERVED = """\
name: served
data: {{questions: questions.json, documents: pdfs}}
pipeline: {{kind: http, url: "{address}/ask", max_concurrency: 1}}
"""


def journal(run: Path) -> list[dict]:
    """The whole lines."""
    lines = (run / "journal.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[:-1] if line]


@contextmanager
def started(project: Project, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command line, running."""
    with project.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_answers(project: Project, number: int) -> Path:
    """Wait until a run holds so many answers."""
    for _ in range(2400):
        for run in project.runs():
            if (run / "journal.jsonl").is_file() and len(journal(run)) >= number:
                return run
        time.sleep(0.05)
    raise AssertionError("no answers came")


@contextmanager
def second_in_flight(project: Project) -> Iterator[tuple[subprocess.Popen[str], threading.Event]]:
    """A run of which the second question is in flight, until the event lets it be answered."""
    wanted: list[str] = []
    came, go_on = threading.Event(), threading.Event()

    def act(connection: socket.socket, sent: Any) -> None:
        wanted.append(sent["question"])
        if len(wanted) == 2:
            came.set()
            go_on.wait(120)
        connection.sendall(answer({"answer": "It is 41.5 m tall."}))

    with service(act) as server:
        project.write("served.yaml", SERVED.format(address=server.address))
        with started(project, "run", "served.yaml") as process:
            assert came.wait(120)
            yield process, go_on
            go_on.set()


def is_stopping(process: subprocess.Popen[str]) -> bool:
    """Wait until a run says that it stops."""
    assert process.stderr is not None
    words = "stopping: waiting for the questions in flight; interrupt again to stop at once"
    return any(words in line for line in process.stderr)


@pytest.mark.slow
def test_failed_questions_are_asked_again(project: Project) -> None:
    broken = project.fathoms("run", "tiny.yaml", "--set", 'generate.fail_on={"How tall": "boom"}')
    assert broken.returncode == 1
    (run,) = project.runs()
    # the same pipeline, mended by hand, as a server would be
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["totals"]["errors"] == 1
    again = project.fathoms("run", "--resume")
    assert again.returncode == 1  # it fails on still: what was asked again is the one question
    assert "1 of 4 questions have no answer yet" in again.stderr
    assert [line["question"]["id"] for line in journal(run)].count(journal(run)[-1]["question"]["id"]) == 2
    assert len(journal(run)) == 5
    assert project.runs() == [run]


@pytest.mark.slow
def test_a_run_that_is_whole_has_nothing_to_ask(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    (run,) = project.runs()
    before = (run / "journal.jsonl").read_bytes()
    done = project.fathoms("run", "--resume", "tiny")
    assert done.returncode == 0
    assert "0 of 4 questions have no answer yet" in done.stderr
    assert (run / "journal.jsonl").read_bytes() == before


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(project: Project) -> None:
    whole = project.fathoms("run", "tiny.yaml", "--set", "name=whole", "-j", "1")
    assert whole.returncode == 0
    reference = json.loads((project.runs()[0] / "summary.json").read_text())
    for run in project.runs():
        run.rename(project.path / "reference")
    with started(project, "run", "tiny.yaml", "--set", SLOW, "-j", "1") as process:
        run = wait_for_answers(project, 2)
        process.send_signal(signal.SIGKILL)
    count = len(journal(run))
    assert count < 4
    with (run / "journal.jsonl").open("ab") as file:
        file.write(b'{"question": {"id": "half a l')  # as a writer that was killed leaves it
    done = project.fathoms("run", "--resume", "latest")
    assert done.returncode == 0, done.stderr
    assert f"{4 - count} of 4 questions have no answer yet" in done.stderr
    summary = json.loads((run / "summary.json").read_text())
    assert summary["profiles"] == reference["profiles"]
    assert summary["counts"] == reference["counts"]
    lines = (run / "journal.jsonl").read_bytes().splitlines()
    assert len(lines) == 5  # four answers, each asked once, and the half line


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_what_is_in_flight_finish(project: Project, number: signal.Signals, code: int) -> None:
    with second_in_flight(project) as (process, go_on):
        process.send_signal(number)
        assert is_stopping(process)
        go_on.set()
        _, said = process.communicate(timeout=120)
        (run,) = project.runs()
        assert process.returncode == code
        assert f"continue with: fathoms run --resume {run.relative_to(project.path)}" in said
        assert (run / "summary.json").is_file()
        assert len(journal(run)) == 2  # the one that was in flight was finished, no other was begun
        done = project.fathoms("run", "--resume")
    assert done.returncode == 0
    assert len({line["question"]["id"] for line in journal(run)}) == len(journal(run)) == 4


@pytest.mark.slow
def test_a_second_signal_stops_at_once_and_leaves_nothing_unwritten(project: Project) -> None:
    with second_in_flight(project) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert is_stopping(process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert process.returncode == 143
    (run,) = project.runs()
    assert len(journal(run)) == 1
    assert json.loads((run / "manifest.json").read_bytes())["totals"]["stopped"] == "signal"


def resumable(project: Project) -> Path:
    """A run with a failed question."""
    project.fathoms("run", "tiny.yaml", "--set", 'generate.fail_on={"How tall": "boom"}')
    (run,) = project.runs()
    return run


@pytest.mark.slow
def test_a_changed_document_is_refused(project: Project) -> None:
    run = resumable(project)
    write_pdf(project.path / "pdfs" / "varn.pdf", ["The Varn tower is 43 m tall."])
    done = project.fathoms("run", "--resume")
    assert done.returncode == 2
    assert "varn.pdf has changed" in done.stderr
    assert "lune.pdf" not in done.stderr
    assert len(journal(run)) == 4


@pytest.mark.slow
def test_a_run_that_was_stopped_before_its_documents_were_stored_has_them_when_it_goes_on(
    project: Project,
) -> None:
    run = resumable(project)
    manifest = json.loads((run / "manifest.json").read_text())
    before = manifest["data"].pop("documents")
    assert before["varn.pdf"]["text"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert project.fathoms("run", "--resume").returncode == 1  # the question fails again
    assert json.loads((run / "manifest.json").read_text())["data"]["documents"] == before


@pytest.mark.slow
def test_changed_questions_are_refused(project: Project) -> None:
    resumable(project)
    path = project.path / "questions.json"
    path.write_text(path.read_text().replace("How tall", "How very tall"))
    done = project.fathoms("run", "--resume")
    assert done.returncode == 2
    assert "changed since: the questions of questions" in done.stderr


@pytest.mark.slow
def test_another_version_of_the_parser_is_refused(project: Project) -> None:
    run = resumable(project)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["fingerprints"]["parse"] = "0" * 32
    manifest["versions"]["pypdfium2"] = "4.0"
    (run / "manifest.json").write_text(json.dumps(manifest))
    done = project.fathoms("run", "--resume")
    assert done.returncode == 2
    assert "pypdfium2 was 4.0, is " in done.stderr


@pytest.mark.slow
def test_a_second_writer_is_refused(project: Project) -> None:
    with started(project, "run", "tiny.yaml", "--set", "generate.latency=3", "-j", "1") as process:
        for _ in range(2400):
            if any((run / ".writer").is_file() for run in project.runs()):
                break
            time.sleep(0.05)
        second = project.fathoms("run", "--resume")
        process.kill()
    assert second.returncode == 2
    assert f"is being written by process {process.pid} on " in second.stderr
    # the lock went with the process
    assert project.fathoms("run", "--resume", "--no-score").returncode == 0


@pytest.mark.parametrize("arguments", [("-j", "2"), ("--set", "a=b"), ("--limit", "1"), ("--dry-run",)])
def test_what_would_change_the_run_is_refused(project: Project, arguments: tuple[str, ...]) -> None:
    done = project.fathoms("run", "--resume", *arguments)
    assert done.returncode == 2
    assert "--resume keeps the settings of the run" in done.stderr


CONFIGS = sorted(path for path in (ROOT / "configs").glob("**/*.yaml") if path.stem != "build")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_is_read_back_from_its_manifest(path: Path) -> None:
    experiment = load_experiment(path)
    stored = json.loads(json.dumps(experiment.model_dump(mode="json")))
    again = validate(Experiment, Source("manifest.json", stored)).at(path.parent)
    assert again == experiment
    assert isinstance(experiment, Experiment)
    assert again.fingerprints({"a.pdf": "1"}) == experiment.fingerprints({"a.pdf": "1"})
