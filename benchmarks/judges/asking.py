"""Compares the time of many verdicts with that of a bare client that sends as many requests.

    python benchmarks/judges/asking.py [--verdicts 10000] [--at-once 128] [--rounds 3]

The server (`benchmarks/runner/server.py`) answers after 50 ms. Each verdict is on disk when it counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.llm import LLMJudge
from fathoms.models.caller import Caller
from fathoms.models.calling.collecting import rare_collections
from fathoms.types import Judgement

RUNNER = Path(__file__).parents[1] / "runner"
PREMISE = "The tower was built in 1902. Its door is painted green, and its bell weighs two tonnes. " * 10


def main() -> None:
    """Measure both in turn, and print the ratio of the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verdicts", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    command, env = [sys.executable, str(RUNNER / "server.py")], {**os.environ, "ANSWER": "yes"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip() + "/v1"
        try:
            bare, ours = [], []
            for _ in range(args.rounds):
                bare.append(_bare(address, args.verdicts, args.at_once))
                ours.append(_judge(address, args.verdicts, args.at_once))
        finally:
            server.terminate()
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"bare client {_shown(bare)}, judge {_shown(ours)}, ratio of the medians {ratio:.2f}")


def _bare(address: str, count: int, at_once: int) -> float:
    """The seconds of a bare client, with its start."""
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.json"
        prompts.write_text(json.dumps([f"{PREMISE}\n\n{_claim(number)}" for number in range(count)]))
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "bare.py", address, str(prompts), str(at_once)], cwd=RUNNER, check=True
        )
        return time.perf_counter() - started


def _judge(address: str, count: int, at_once: int) -> float:
    """The seconds of a judge."""
    options = {
        "kind": "openai-compatible",
        "base_url": address,
        "model": "fixed-latency",
        "n_ctx": 8192,
        "max_tokens": 16,
        "stream": False,
        "max_concurrency": at_once,
    }
    judge = LLMJudge.model_validate({"model": options})
    judged, spending = Judged(), Spending()
    judgements = [Judgement(claim=_claim(number), premise=PREMISE) for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        bench = Bench(judge, VerdictJournal(Path(folder)), Caller(timeout=600), spending)
        with rare_collections():  # as `judge_run` does
            asyncio.run(bench.ask(judgements, judged))
        seconds = time.perf_counter() - started
    read = sum(verdict.supports is True for verdict in judged.verdicts.values())
    if read != count or spending.calls != count:
        raise SystemExit(f"{read} of {count} verdicts in {spending.calls} judgements")
    return seconds


def _claim(number: int) -> str:
    """A claim of its own for every number."""
    return f"The tower has {number} steps."


def _shown(seconds: list[float]) -> str:
    """The median, with the least and the most."""
    return f"{statistics.median(seconds):.1f} s ({min(seconds):.1f}-{max(seconds):.1f})"


if __name__ == "__main__":
    main()
