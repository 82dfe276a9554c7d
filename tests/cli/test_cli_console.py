"""Progress where nobody looks at a terminal."""

from __future__ import annotations

import base64
import logging
import os
import pty
import time
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from rich.panel import Panel

from fathoms.cli import console, main
from fathoms.cli.console import settings
from fathoms.cli.progress import Bars
from fathoms.runner.runner import Tally
from fathoms.runs.events import happened, within
from tests.support.project import Project

TALLY = Tally("openai https://api.example/v1", done=12, total=50, failed=2, cached=4, cost=0.12)


class Clock:
    """A clock that goes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_plain_line_says_all_that_a_bar_does(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bars(plain_seconds=0, clock=clock) as bars:
        bars.stage("parse", 1, 5)
        bars.tally(TALLY)
        for done in range(13, 19):
            clock.now += 2
            bars.tally(replace(TALLY, done=done))
    first, second, *_, before, last = capsys.readouterr().err.splitlines()
    said = (
        "answer openai https://api.example/v1: 12 of 50, 2 failed, 4 from the cache, $0.12, about $0.38 more"
    )
    assert (first, second) == ("parse: 1 of 5", said)
    assert before.endswith(
        ": 17 of 50, 2 failed, 4 from the cache, $0.12, about $0.23 more, 0.5/s, about 1:06 left"
    )
    assert last.endswith("0.5/s, about 1:04 left")


def test_where_each_document_is_asked_documents_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0, clock=Clock()) as bars:
        bars.tally(replace(TALLY, failed=0, cached=0, cost=None, documents=(41, 3000)))
    assert capsys.readouterr().err == (
        "answer openai https://api.example/v1: 41 of 3000, counted in documents (12 of 50 questions)\n"
    )


def test_no_time_is_left_before_there_is_a_pace(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bars(plain_seconds=0, clock=clock) as bars:
        for done in range(5):
            clock.now += 2
            bars.stage("answer", done, 50)
    assert "left" not in capsys.readouterr().err


def test_a_stage_that_begins_again_has_a_pace_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A second batch of a build once went on at -0.0006/s, with -55314 s left."""
    clock = Clock()
    with Bars(plain_seconds=0, clock=clock) as bars:
        for done in (*range(10, 19), *range(1, 8)):
            clock.now += 2
            bars.stage("components", done, 50)
    before, *_, last = capsys.readouterr().err.splitlines()[9:]
    assert (before, last) == ("components: 1 of 50", "components: 7 of 50, 0.5/s, about 1:26 left")


def test_a_run_that_waits_says_so_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Bars(clock=clock) as bars:
        for done in range(10):
            clock.now += 2
            bars.stage("answer", done, 50)
        with within(run="r", question="q4"):
            happened("question-retried", level=logging.WARNING, attempt=2, wait=90.0, kind="RateLimitError")
        for clock.now in range(30, 200, 10):
            bars.wait()
    assert capsys.readouterr().err.splitlines() == [
        f"answer: 9 of 50, waiting for {waited}, question q4, attempt 2 failed (RateLimitError), the next"
        " one follows in 90 s"
        for waited in ("40 s", "1:40", "2:40")
    ]


def test_retries_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0) as bars:
        for _ in range(3):
            happened("question-retried", level=logging.WARNING, attempt=1, wait=1.0, kind="NoAnswerError")
        bars.tally(TALLY)
    assert "4 from the cache, 3 retries, $0.12" in capsys.readouterr().err


def test_one_line_in_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars() as bars:
        for done in range(50):
            bars.stage("parse", done, 50)
    assert capsys.readouterr().err == ""


def test_a_slow_provider_has_its_line_beside_a_quick_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0.2) as bars:
        for done in range(30):
            time.sleep(0.01)
            bars.stage("answer quick", done, 50)
            if done % 10 == 5:
                bars.stage("answer slow", done, 50)
        time.sleep(0.1)
        bars.stage("answer quick", 30, 50)
        bars.stage("answer slow", 30, 50)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said].count("answer slow") >= 1


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    settings.quiet = True
    try:
        with Bars(plain_seconds=0) as bars:
            bars.tally(TALLY)
    finally:
        settings.quiet = False
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", ["40", "100"])
def test_a_key_is_in_no_table(width: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Also where it would be folded, so that no line has it as a whole."""
    key = "sk-planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"
    monkeypatch.setenv("PLANTED_KEY", key)
    monkeypatch.setenv("COLUMNS", width)
    coded = base64.b64encode(key.encode()).decode()
    console.show_table(["said"], [[f"no: {key}"], [f"no: {coded}"], [quote(key)]])
    console.show(Panel(f"the server said {key}"), f"plain {key}")
    said = capsys.readouterr().out
    assert said.count("***") == 5
    assert not any(part in said for part in (key[:12], key[-12:], coded[:12], quote(key)[-12:]))


def test_a_key_is_in_no_usage_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "plain-words-that-are-secret")
    for wrong in (["run", "--limit", "plain-words-that-are-secret"], ["plain-words-that-are-secret"]):
        done = project.fathoms(*wrong)
        assert (done.returncode, "***" in done.stderr, "plain-words" in done.stderr) == (2, True, False)


@pytest.mark.parametrize("width", ["50", "200"])
def test_a_key_is_in_no_progress_bar(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a service may hold a key that is also a variable, and so may what is said beside a
    bar."""
    key = "planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"
    monkeypatch.setenv("PLANTED_KEY", key)
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, redirect_stderr(terminal), Bars() as bars:
        bars.tally(replace(TALLY, provider=f"http https://api.example/{key}/ask"))
        bars.stage("embed", 1, 5, f"waits for {key}")
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert b"planted" not in shown
    assert b"Rd3" not in shown
    assert b"***" in shown


@pytest.mark.parametrize(
    "call",
    [
        "validate address.yaml",
        "validate values.yaml",
        "validate values.yaml --set pipeline.timeout=KEY",
        "validate KEY.yaml",
        "show KEY",
        "ls --out KEY",
        "KEY",
        "run --KEY",
    ],
)
def test_a_key_of_the_environment_is_in_no_message(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Neither as a part of an address nor as a value of a configuration or of a command."""
    key = "planted7Qx9Zk2vW4mB8JtRd3"
    monkeypatch.setenv("PLANTED_KEY", key)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.json").write_text("{}")
    head = "data: {questions: questions.json}\npipeline:"
    address = f'{head} {{kind: http, url: "http://127.0.0.1:9/{key}/ask?token={key}"}}\n'
    values = f"{head} {{kind: {key}, url: {key}}}\nname: {key}\nmetrics: [{key}]\n"
    Path("address.yaml").write_text(address)
    Path("values.yaml").write_text(values)
    assert main(call.replace("KEY", key).split()) == 2
    said = "".join(capsys.readouterr())
    assert said
    assert key not in said
