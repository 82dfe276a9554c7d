"""`kill -9` at any point of a run costs what was in flight; resumed, it ends as if nothing had been."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.project import Project, write_pdf
from tests.support.raw_service import answer, service

QUESTIONS = 200
CONCURRENCY = 4
POINTS = sorted(random.Random(5).sample(range(1, QUESTIONS), 20))
FEW_QUESTIONS, FEW_POINTS = 56, [3, 41]

CONFIG = """\
name: long
data: {{questions: questions.json, documents: pdfs}}
pipeline: {{kind: http, url: "{address}/ask", max_concurrency: {concurrency}}}
"""


def long_project(path: Path, questions: int) -> Project:
    """So many questions on one page, half of them in each of two categories."""
    (path / "pdfs").mkdir(parents=True)
    write_pdf(path / "pdfs" / "a.pdf", ["Nothing to see."])
    rows = [
        {
            "id": f"q{number:03}",
            "question": f"What is {number}?",
            "files": ["a.pdf"],
            "answers": [[f"v{number}v"]],
        }
        for number in range(questions)
    ]
    (path / "questions.json").write_text(json.dumps({"Even": rows[::2], "Odd": rows[1::2]}))
    return Project(path)


def results(run: Path) -> dict[str, Any]:
    """What a run says in the end, but for times."""
    summary = json.loads((run / "summary.json").read_text())
    return {name: summary[name] for name in ("profiles", "counts", "complete", "usage", "errors")}


def killed_at(project: Project, point: int, wanted: Callable[[], int]) -> None:
    """Run it, and kill it when the server has been asked so often."""
    with project.start("run", "long.yaml", stderr=subprocess.DEVNULL) as process:
        while wanted() < point and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    ("questions", "points", "correct"),
    [
        # by hand: of 28 even numbers 4 are multiples of 7, which are answered wrongly, and of 28 odd ones 4
        pytest.param(FEW_QUESTIONS, FEW_POINTS, 24 / 28, marks=pytest.mark.slow, id="two-points"),
        # 15 of the 100 even numbers, and 14 of the 100 odd ones
        pytest.param(QUESTIONS, POINTS, (85 + 86) / 200, marks=pytest.mark.long, id="twenty-points"),
    ],
)
def test_killed_and_resumed(tmp_path: Path, questions: int, points: list[int], correct: float) -> None:
    long = long_project(tmp_path, questions)
    wanted: Counter[str] = Counter()

    def act(connection: Any, sent: Any) -> None:
        number = int(sent["question"].removesuffix("?").rpartition(" ")[2])
        wanted[sent["question"]] += 1
        time.sleep(0.004)
        said = "something else" if number % 7 == 0 else f"v{number}v"
        connection.sendall(
            answer({"answer": said, "usage": {"prompt_tokens": number, "completion_tokens": 1}})
        )

    with service(act) as server:
        long.write("long.yaml", CONFIG.format(address=server.address, concurrency=CONCURRENCY))
        assert long.fathoms("run", "long.yaml").returncode == 0
        (reference,) = long.runs()
        expected = results(reference)
        assert expected["counts"]["answered"] == questions
        overall = expected["profiles"]["fathoms"]["overall"]
        assert overall["correctness"] == pytest.approx(correct)
        for point in points:
            wanted.clear()
            killed_at(long, point, wanted.total)
            done = long.fathoms("run", "--resume")
            assert done.returncode == 0, (point, done.stderr)
            run = long.runs()[-1]
            assert results(run) == expected, point
            assert len(wanted) == questions
            assert wanted.total() - questions <= CONCURRENCY, point  # what was in flight
            lines = (run / "journal.jsonl").read_bytes().splitlines()
            assert questions <= len(lines) <= questions + 1, point  # at most a half line beside the answers


@pytest.mark.slow
def test_killed_while_reranking_and_resumed(tmp_path: Path) -> None:
    """The grades of finished questions are kept with their cost; at most those in flight are asked again."""
    texts = [f"What is <{number}>?" for number in range(30)]
    project = faulty.faulty_project(tmp_path, texts)
    with ScriptedServer(default="7", latency=0.004).running() as server:
        project.write("long.yaml", faulty.config("reranker", server.address, at_once=CONCURRENCY))
        assert project.fathoms("run", "long.yaml").returncode == 0
        expected = results(project.runs()[0])
        parts = faulty.summary(project.runs()[0])["usage_by_purpose"]
        assert (expected["counts"]["answered"], parts["rerank"]["calls"]) == (30, 30)
        server.requests = 0
        killed_at(project, 11, lambda: server.requests)
        done = project.fathoms("run", "--resume")
    assert done.returncode == 0, done.stderr
    run = project.runs()[-1]
    assert results(run) == expected
    assert faulty.summary(run)["usage_by_purpose"] == parts
    assert server.requests - 30 <= CONCURRENCY
