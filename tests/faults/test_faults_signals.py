"""SIGINT and SIGTERM while something hangs: every command ends in time, with its exit code and no traceback,
and loses nothing that was answered."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.project import Project, write_pdf
from tests.support.raw_service import service

pytestmark = pytest.mark.slow
AGAIN = 60
"""Seconds until the test gives up; whatever hangs in it would hang for longer."""

EMBEDDER = 'kind: openai-compatible, base_url: "{address}/v1", model: scripted, request_timeout: 500'
MODEL = EMBEDDER + ", max_concurrency: 1"
CONFIG = "name: hung\ndata: {questions: questions.json, documents: pdfs}\nquestion_timeout: 500\n"
RUN = CONFIG + "retrieve: {kind: none}\ngenerate: {" + MODEL + "}\n"
JUDGE = "kind: llm\nclaims: sentences\nclaims_a_call: 1\nmodel: {" + MODEL + "}\n"
INGEST = CONFIG + "embed: {" + EMBEDDER + "}\ngenerate: {kind: scripted, default: It is.}\n"
BUILD = "documents: [long]\nn: 2\nmodel: {" + MODEL + "}\nembed: {kind: lexical}\n"
THREAD = CONFIG + "pipeline: {kind: python, target: 'hung:Pipeline', max_concurrency: 1}\n"
PIPELINE = """\
import pathlib, time
class Pipeline:
    asked = 0
    def answer(self, question):
        self.asked += 1
        pathlib.Path(f"asked-{self.asked}").touch()
        time.sleep(500 if self.asked > 1 else 0)
        return "v1v"
"""
COMMANDS: dict[str, tuple[str, list[str], bool]] = {
    "run": (RUN, ["run", "c.yaml"], True),
    "score": (JUDGE, ["score", "latest", "--metric", "faithfulness", "--judge", "c.yaml"], True),
    "ingest": (INGEST, ["ingest", "c.yaml"], False),
    "build": (BUILD, ["build", "c.yaml", "--out", "set.json"], False),
    "thread": (THREAD, ["run", "c.yaml"], True),
}
"""A configuration, a command that calls what it names, and whether one reply comes before one hangs."""


@contextmanager
def hanging(project: Project, name: str) -> Iterator[subprocess.Popen[str]]:
    """The process of a command of which one reply has come, if there is one, and the next hangs."""
    text, command, one_comes = COMMANDS[name]
    last = 1 + one_comes
    with ExitStack() as servers:
        if name == "ingest":
            result = servers.enter_context(service(_hang))
            address, count = (
                result.address,
                lambda: len([head for head, _ in result.requests if "POST" in head]),
            )
        else:
            server = servers.enter_context(ScriptedServer([f"hang@{last}"], default="yes").running())
            address, count = server.address, lambda: server.requests
        if name == "thread":
            count = lambda: len(list(project.path.glob("asked-*")))  # noqa: E731
        project.write("c.yaml", text.replace("{address}", address))
        with project.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                until = time.monotonic() + AGAIN
                while count() < last:
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < until
                    time.sleep(0.01)
                time.sleep(0.2)
                yield process
            finally:
                process.kill()


def _hang(connection: socket.socket, sent: Any) -> None:
    time.sleep(500)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    result = faulty.faulty_project(tmp_path, [f"What is <{number}>?" for number in range(3)])
    result.write("hung.py", PIPELINE)
    (tmp_path / "long").mkdir()
    text = (
        "Miners from Lune carried silver along the old ridge road until the railway tunnel opened below it."
    )
    write_pdf(tmp_path / "long" / "a.pdf", [text])
    return result


def scored_once(project: Project) -> None:
    replies = "{<0>: It is v0v., <1>: It is v1v., <2>: It is v2v.}"
    generate = f"retrieve: {{kind: whole-document}}\ngenerate: {{kind: scripted, replies: {replies}}}\n"
    project.write("first.yaml", CONFIG + generate)
    assert project.fathoms("run", "first.yaml", "--no-score").returncode == 0


def stored_replies(project: Project, name: str) -> int:
    """How many replies are stored."""
    (run,) = project.runs()
    journal = run / ("verdicts/judge.jsonl" if name == "score" else "journal.jsonl")
    return len(journal.read_bytes().splitlines())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_one_sigterm_ends_a_command_in_time(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_STOP_TIMEOUT", "2")
    if name == "score":
        scored_once(project)
    with hanging(project, name) as process:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=AGAIN)
    assert process.returncode == 143, said
    assert "Traceback" not in said
    assert "stopped" in said.splitlines()[-1]
    if COMMANDS[name][2]:
        assert stored_replies(project, name) == 1


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_second_ctrl_c_ends_a_command_at_once(project: Project, name: str) -> None:
    if name == "score":
        scored_once(project)
    with hanging(project, name) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=AGAIN)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    if COMMANDS[name][2]:
        assert stored_replies(project, name) == 1


def test_a_time_that_is_none_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("soon", "0", "nan", "1e9"):
        monkeypatch.setenv("FATHOMS_STOP_TIMEOUT", given)
        done = project.fathoms("ls")
        assert (done.returncode, "expected seconds" in done.stderr) == (2, True)
