"""The benchmark of the runner still runs, and its server counts what it serves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "benchmarks" / "runner"
LATENCY = 0.1


@pytest.fixture
def server() -> Iterator[str]:
    command = [sys.executable, str(RUNNER / "server.py"), "--latency", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def call(address: str, body: Any = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(address, data, timeout=10) as response:
        return str(response.read().decode())


def chat(server: str, stream: bool) -> str:
    messages = [{"role": "user", "content": "How much does the pump lift?"}]
    body = {"model": "fixed-latency", "messages": messages, "stream": stream}
    return call(f"{server}/v1/chat/completions", body)


def test_the_server_says_the_same_streamed_and_whole(server: str) -> None:
    whole = json.loads(chat(server, stream=False))
    lines = [line.removeprefix("data: ") for line in chat(server, stream=True).splitlines() if line]
    assert lines.pop() == "[DONE]"
    events = [json.loads(line) for line in lines]
    said = "".join(choice["delta"].get("content", "") for event in events for choice in event["choices"])
    assert whole["choices"][0]["message"]["content"] == "The pump of line 1000001 lifts 41.5 litres a second."
    assert said == "The pump of line 1000002 lifts 41.5 litres a second."  # no two answers are the same
    assert events[-1]["usage"] == whole["usage"]


def test_the_server_measures_the_window_of_the_requests(server: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: chat(server, stream=True), range(16)))  # two waves of eight
    stats = json.loads(call(f"{server}/stats"))
    assert (stats["requests"], stats["responses"]) == (16, 16)
    assert stats["window"] >= 2 * LATENCY
    windows = []
    for _ in range(5):  # a busy machine may keep the server waiting
        call(f"{server}/reset", {"latency": 0})
        chat(server, stream=False)
        stats = json.loads(call(f"{server}/stats"))
        assert stats["requests"] == 1
        windows.append(stats["window"])
    assert min(windows) < LATENCY


SECTIONS = {
    "help": "`--help`",
    "looking": "A folder with 20 runs",
    "bare": "50 questions",
    "one": "One question",
    "finished": "A finished run",
    "memory": "Peak memory",
    "resuming": "From the start to the first request",
    "scoring": "Scoring 1,000 records in memory",
}


@pytest.mark.parametrize(
    ("sections", "targets"),
    [
        pytest.param(["help"], 1, marks=pytest.mark.slow, id="help"),
        pytest.param([*SECTIONS], 16, marks=pytest.mark.long, id="all"),
    ],
)
def test_the_benchmark_runs(tmp_path: Path, sections: list[str], targets: int) -> None:
    options = ["--work", str(tmp_path), "--quick", "--goals", "--only", *sections]
    command = [sys.executable, str(RUNNER), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    headings = [line.removeprefix("### ") for line in done.stdout.splitlines() if line.startswith("### ")]
    assert headings == [*(SECTIONS[name] for name in sections), "Targets"]
    verdicts = [row.split("|")[-2].strip() for row in done.stdout.splitlines() if "|" in row][-targets:]
    assert all(re.fullmatch(r"met|missed by \d+ %", verdict) for verdict in verdicts)


@pytest.mark.long  # four processes that read the weights
def test_two_versions_are_compared_in_turns() -> None:
    """This version beside itself; with so few records the ratio says nothing."""
    sizes = ["--records", "40", "--questions", "8", "--rounds", "2"]
    command = [sys.executable, str(RUNNER / "scores.py"), "--against", str(RUNNER.parents[1]), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    turns = [line.split()[:2] for line in done.stdout.splitlines()[:4]]
    assert turns == [["1", "this"], ["1", "other"], ["2", "other"], ["2", "this"]]
    assert re.search(r"^all rounds of score: \d\.\d{3}, at most 1\.1$", done.stdout, re.MULTILINE)
