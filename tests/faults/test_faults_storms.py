"""Faults that meet many questions at once: storms, restarts, a provider that hangs beside the others, and
answers that are far too long."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import fathoms
from fathoms import corpora
from fathoms.errors import ServerError
from fathoms.experiment import load_experiment
from fathoms.runner import runner
from fathoms.runner.runner import Job
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.faulty import Outcome
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

QUESTIONS = 30
TEXTS = [f"What is <{number}>?" for number in range(QUESTIONS)]


ALWAYS = ("openai-compatible", "http", "judge")
"""What `make test` takes; the others retry by the same code, and `test_faults_answers.py` plays all faults to
them."""


@pytest.fixture(
    params=[pytest.param(name, marks=() if name in ALWAYS else pytest.mark.long) for name in faulty.CALLERS]
)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_questions(
    path: Path, provider: str, server: ScriptedServer, texts: list[str], **options: Any
) -> tuple[Run, list[Outcome]]:
    """The run of these questions, and what became of each, in the order in which they ended."""
    if provider == "judge":
        return faulty.judge(path, texts, server, **options)
    project = faulty.faulty_project(path, texts)
    experiment = load_experiment(
        project.write("faulty.yaml", faulty.config(provider, server.address, **options))
    )
    with closing(Cache(path / "cache")) as cache:
        job = Job(experiment, corpora.load(experiment.data, path), path)
        (ended,) = runner.run([job], out=path / "runs", cache=cache)
    return ended.run, [faulty.outcome(provider, record) for record in ended.run.records.all()]


def failed(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.text, outcome.error.kind) for outcome in outcomes if outcome.error]


def test_a_storm_of_500_ends_and_nothing_is_lost(tmp_path: Path, provider: str) -> None:
    """The first twenty calls fail; everybody has attempts left when it is over."""
    with ScriptedServer(["status=500@1-20"], default=faulty.said(provider)).running() as server:
        _, outcomes = run_questions(
            tmp_path, provider, server, TEXTS, at_once=8, max_attempts=8, first_wait=0.05
        )
    assert failed(outcomes) == []
    assert len(outcomes) == QUESTIONS
    assert sum(outcome.attempts for outcome in outcomes) == server.requests == QUESTIONS + 20


def test_a_storm_that_does_not_end_is_finite(tmp_path: Path, provider: str) -> None:
    with ScriptedServer(["status=503"]).running() as server:
        _, outcomes = run_questions(tmp_path, provider, server, TEXTS[:12], at_once=4, max_attempts=3)
    assert [kind for _, kind in failed(outcomes)] == ["ModelError"] * 12
    assert server.requests == 12 * 3


def test_a_429_without_a_wait_is_backed_off(tmp_path: Path, provider: str) -> None:
    with ScriptedServer(["429*2"], default=faulty.said(provider)).running() as server:
        _, outcomes = run_questions(
            tmp_path, provider, server, TEXTS[:6], at_once=6, max_attempts=3, first_wait=0.2
        )
    assert failed(outcomes) == []
    for outcome in outcomes:
        assert outcome.attempts == 3
        assert outcome.seconds >= 0.2 + 0.4  # twice as long the second time, and chance adds to it


def test_the_wait_that_a_server_asks_for_holds_for_all(tmp_path: Path, provider: str) -> None:
    with ScriptedServer(["429=1.5@1"], default=faulty.said(provider)).running() as server:
        _, outcomes = run_questions(tmp_path, provider, server, TEXTS[:3])
    assert failed(outcomes) == []
    first = next(outcome for outcome in outcomes if outcome.attempts == 2)
    assert first.seconds >= 1.5


def test_a_server_that_restarts_in_the_middle(tmp_path: Path, provider: str) -> None:
    rules = ["restart=0.6@8", "restart=0.6@20"]
    with ScriptedServer(rules, default=faulty.said(provider), latency=0.01).running() as server:
        _, outcomes = run_questions(
            tmp_path, provider, server, TEXTS, at_once=4, max_attempts=8, first_wait=0.2
        )
    assert failed(outcomes) == []
    assert len(outcomes) == QUESTIONS
    assert QUESTIONS + 2 <= server.requests <= QUESTIONS + 2 * 4  # what was in flight, and no more


def test_connections_that_are_closed_without_a_word(tmp_path: Path, provider: str) -> None:
    """A kept connection that is closed meanwhile is found out by the next question, and costs no answer."""
    with ScriptedServer(["close@%3"], default=faulty.said(provider)).running() as server:
        # a busy machine may notice too late that a connection was closed, even twice in a row
        _, outcomes = run_questions(tmp_path, provider, server, TEXTS, at_once=4, max_attempts=6)
    assert failed(outcomes) == []
    assert server.requests == QUESTIONS


def test_hanging_questions_do_not_delay_the_others(tmp_path: Path) -> None:
    """Three of four places are taken by a hang, a stall and a drip; everything else goes by the fourth. The
    providers are tried side by side, since most of the time is spent waiting."""

    def ended(provider: str) -> list[Outcome]:
        (tmp_path / provider).mkdir()
        rules = ["hang@<0>", "stall@<1>", "drip=0.5@<2>"]
        limits = {"at_once": 4, "silence": 60, "question_timeout": 15, "max_attempts": 1}
        with ScriptedServer(rules, default=faulty.said(provider)).running() as server:
            return run_questions(tmp_path / provider, provider, server, TEXTS, **limits)[1]

    with ThreadPoolExecutor(len(faulty.CALLERS)) as threads:
        found = dict(zip(faulty.CALLERS, threads.map(ended, faulty.CALLERS), strict=True))
    for provider, outcomes in found.items():
        assert sorted(failed(outcomes)) == [(text, "Timeout") for text in TEXTS[:3]], provider
        # all others were done before; the three end at the same time
        assert sorted(outcome.text for outcome in outcomes[-3:]) == TEXTS[:3], provider


def test_an_outage_costs_few_questions(tmp_path: Path, provider: str) -> None:
    """Longer than the attempts of any question: those in flight fail, and the rest waits for its end."""
    with ScriptedServer(["restart=2@11"], default=faulty.said(provider)).running() as server:
        _, outcomes = run_questions(
            tmp_path, provider, server, TEXTS, at_once=4, max_attempts=4, first_wait=0.1
        )
    assert len(outcomes) == QUESTIONS
    errors = [outcome.error for outcome in outcomes if outcome.error]
    assert [error for error in errors if error.kind != "NoAnswerError"] == []
    assert len(errors) <= 8


def test_a_server_that_is_gone_is_given_up(tmp_path: Path, provider: str) -> None:
    """Down for good after ten questions: the run comes to its end, and most of the rest is not even tried."""
    with ScriptedServer(["restart=600@11"], default=faulty.said(provider)).running() as server:
        _, outcomes = run_questions(tmp_path, provider, server, TEXTS, max_attempts=2, give_up_after=1.5)
    assert len(outcomes) == QUESTIONS
    assert failed(outcomes) == [(text, "NoAnswerError") for text in TEXTS[10:]]
    assert [outcome.attempts for outcome in outcomes[-15:]] == [0] * 15


def test_a_server_that_is_dead_at_the_start(tmp_path: Path, provider: str) -> None:
    server = ScriptedServer(port=free_port())
    with pytest.raises(ServerError, match=r"^no (Ollama )?(server|service) at .*start it"):
        run_questions(tmp_path, provider, server, TEXTS[:2])
    if provider != "judge":
        assert not list((tmp_path / "runs").glob("*"))


def test_ten_megabytes_are_kept_whole(tmp_path: Path, provider: str) -> None:
    if provider in ("reranker", "judge"):
        pytest.skip("of the reply of a reranker or a judge, only the grade or the label is kept")
    with ScriptedServer(["large=10000000@<1>"], default=faulty.SAID).running() as server:
        run, outcomes = run_questions(tmp_path, provider, server, TEXTS[:3], silence=30)
    assert failed(outcomes) == []
    lengths = [len(outcome.reply) for outcome in outcomes if outcome.reply]
    assert sorted(lengths) == [len(faulty.SAID), len(faulty.SAID), 10_000_000]
    assert (run.path / "journal.jsonl").stat().st_size < 10_100_000  # once, with the answer itself
    assert sum(path.stat().st_size for path in (run.path / "blobs").glob("*.gz")) < 1_000_000


MEASURED = """\
import sys
import fathoms
fathoms.run(sys.argv[1], *sys.argv[2:])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="`ru_maxrss` would count the parent's memory too")
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of 10 MB, asked, kept and scored: within a gigabyte, libraries included."""
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    project = faulty.faulty_project(tmp_path, TEXTS[:2])
    with ScriptedServer(["large=10000000@<1>"], default=faulty.SAID).running() as server:
        project.write("faulty.yaml", faulty.config("http", server.address, silence=30))
        command = [sys.executable, "-c", MEASURED, "faulty.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000  # kilobytes


def test_a_long_error_is_cut(tmp_path: Path, provider: str) -> None:
    """A gateway that sends the whole request back: the record says how that begins."""
    long = "What is <1>? " + "And what is that? " * 20_000
    with ScriptedServer(["echo=500"]).running() as server:
        _, outcomes = run_questions(tmp_path, provider, server, [long], max_attempts=1)
    (outcome,) = outcomes
    assert outcome.error is not None
    assert outcome.error.status == 500
    assert len(outcome.error.message) < 2000


@pytest.mark.parametrize(("allowed", "code"), [("1", 1), ("20%", 0)])
def test_exit_codes(tmp_path: Path, allowed: str, code: int) -> None:
    project = faulty.faulty_project(tmp_path, TEXTS[:10])
    with ScriptedServer(["html@<3>", "status@<7>"], default=faulty.SAID).running() as server:
        project.write("faulty.yaml", faulty.config("http", server.address))
        done = project.fathoms("run", "faulty.yaml", "--fail-on-error", allowed)
    assert done.returncode == code, done.stderr
    (run,) = project.runs()
    counts = faulty.summary(run)["counts"]
    assert (counts["answered"], counts["errors"]) == (8, 2)
    assert json.loads((run / "manifest.json").read_bytes())["totals"]["errors"] == 2


def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    project = faulty.faulty_project(tmp_path, TEXTS[:4])
    with ScriptedServer(["reset@<2>"], default=faulty.SAID).running() as server:
        path = project.write("faulty.yaml", faulty.config("http", server.address))
        result = fathoms.run(path, out=tmp_path / "runs")
    assert result.summary["counts"]["errors"] == 1
    assert result.summary["profiles"]["fathoms"]["overall"]["correctness"] == 0.75
