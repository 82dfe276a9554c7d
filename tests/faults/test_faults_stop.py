"""A request to stop ends the waits of a question, and the run can be resumed."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest

from fathoms import corpora
from fathoms.experiment import load_experiment
from fathoms.experiment.reopening import reopen
from fathoms.models.calling.stop import Stop
from fathoms.runner import runner
from fathoms.runner.runner import Job
from fathoms.runs.cache import Cache
from fathoms.runs.events import heard
from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer

TEXTS = [f"What is <{number}>?" for number in range(3)]


class StopAtRetry(logging.Handler):
    """Requests a stop as soon as a call is going to be retried."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self.stop = stop

    def emit(self, record: logging.LogRecord) -> None:
        if record.__dict__["facts"]["event"] == "question-retried":
            self.stop.set()


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai-compatible", "reranker"])
def test_a_stop_ends_the_wait_that_a_server_asks_for(
    tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second question is told to come back in 50 seconds, which nobody waits for."""
    monkeypatch.chdir(tmp_path)
    project = faulty.faulty_project(tmp_path, TEXTS)
    stop = Stop()
    with ScriptedServer(["429=50@<1>*1"], default=faulty.said(provider)).running() as server:
        path = project.write("faulty.yaml", faulty.config(provider, server.address))
        experiment = load_experiment(path)
        with closing(Cache(tmp_path / "cache")) as cache:
            job = Job(experiment, corpora.load(experiment.data, tmp_path), tmp_path)
            with heard(StopAtRetry(stop)):
                (outcome,) = runner.run([job], out=tmp_path / "runs", cache=cache, stop=stop)
            assert (outcome.stopped, outcome.done, server.requests) == (True, 1, 2)
            again = runner.resume(reopen(outcome.run), cache=cache)
    assert (again.stopped, again.done, again.errors) == (False, 3, 0)
    assert server.requests == 4
