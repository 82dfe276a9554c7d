"""Stops commands at random moments and checks that nothing is damaged afterwards.

    python benchmarks/campaigns/kill.py --seed 1 --trials 24

`run`, `ingest`, `score` and `report` are stopped in turn by SIGKILL, SIGTERM or SIGINT, at a random moment of
the time that the command takes if it is not stopped. Then a run is resumed, any other command is repeated,
and the run is scored. A trial passes if figures, answers and report are those of an undisturbed project,
every JSON file is complete, and no unfinished file of a killed process is left. The exit code is 1 if any
trial fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults.test_faults_kill import long_project, results
from tests.support.project import Project

QUESTIONS = 40
CONFIG = """\
name: long
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, latency: 0.05, max_concurrency: 2, replies: {"1": v1v and v11v, "2": v2v}}
"""
VERBS = {
    "run": ("run", "long.yaml"),
    "ingest": ("ingest", "long.yaml"),
    "score": ("score", "latest"),
    "report": ("report", "latest"),
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class FaultError(Exception):
    """Something that is not as it must be after a command was stopped."""


def facts(project: Project) -> dict[str, Any]:
    """What the newest run says: its figures and its answers, but for times."""
    run = project.runs()[-1]
    views = [json.loads(path.read_bytes()) for path in (run / "questions").glob("*.json")]
    answers = {
        view["question"]["id"]: [
            (repeat["answer"]["text"], [hit["text"] for hit in repeat["hits"]], repeat["scores"])
            for repeat in view["repeats"]
        ]
        for view in views
    }
    reports = {name: (run / name).is_file() for name in ("report.html", "report.md", "scores.csv")}
    found: dict[str, Any] = json.loads(json.dumps([results(run), answers, reports], sort_keys=True))
    return found


def stopped(project: Project, verb: str, sent: signal.Signals, after: float) -> int:
    """Start a command and send the signal so many seconds later; its exit code."""
    environment = {**os.environ, "FATHOMS_CACHE_DIR": str(project.path / "cache")}
    command = [sys.executable, "-m", "fathoms", *VERBS[verb]]
    with subprocess.Popen(
        command, cwd=project.path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(sent)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise FaultError("does not end within a minute of the signal") from None


def done(project: Project, *command: str) -> None:
    """A command that has to end well."""
    found = project.fathoms(*command)
    if found.returncode or "Traceback" in found.stderr or "bug in fathoms" in found.stderr:
        raise FaultError(f"{' '.join(command)}: exit code {found.returncode}: {found.stderr[-1500:]}")


def done_again(project: Project, verb: str, before: int) -> None:
    """What a user does who finds the command stopped."""
    if verb == "run":
        started = len(project.runs()) > before
        done(project, *(("run", "--resume") if started else VERBS["run"]))
        return
    done(project, *VERBS[verb])
    done(project, *(VERBS["run"] if verb == "ingest" else ("score", "latest")))


def whole(project: Project) -> None:
    """Every JSON file can be read, and nothing unfinished is left."""
    for path in (project.path / "runs").rglob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError as error:
            raise FaultError(f"{path.name} is not whole: {error}") from error
    if left := [path.name for path in project.path.rglob(".*.part")]:
        raise FaultError(f"left behind: {left}")


def trial(project: Project, verb: str, sent: signal.Signals, after: float, expected: dict[str, Any]) -> str:
    """One command, stopped and done again: how the first ended. Raises FaultError."""
    before = len(project.runs())
    code = stopped(project, verb, sent, after)
    done_again(project, verb, before)
    whole(project)
    if facts(project) != expected:
        raise FaultError("other figures")
    return "ended before the signal" if code == 0 else "stopped"


def campaign(seed: int, trials: int, folder: Path) -> Counter[tuple[str, str, str]]:
    """Outcomes by verb and signal, counted; faults are printed."""
    fresh = long_project(folder / "fresh", QUESTIONS)
    fresh.write("long.yaml", CONFIG)
    ready = Project(folder / "ready")  # the same after an undisturbed run
    shutil.copytree(fresh.path, ready.path)
    seconds = {}
    for verb in ("ingest", "run", "score", "report"):
        began = time.monotonic()
        done(ready, *VERBS[verb])
        seconds[verb] = time.monotonic() - began
    expected = facts(ready)
    outcomes: Counter[tuple[str, str, str]] = Counter()
    for number in range(trials):
        chance = random.Random(f"{seed} {number}")
        verb, sent = list(VERBS)[number % len(VERBS)], SIGNALS[number // len(VERBS) % len(SIGNALS)]
        project = Project(folder / "trial")
        shutil.copytree((fresh if verb in ("run", "ingest") else ready).path, project.path)
        after = seconds[verb] * chance.uniform(0.3, 1.0)  # before that Python is still starting
        try:
            outcome = trial(project, verb, sent, after, expected)
        except FaultError as fault:
            outcome = "FAULT"
            print(f"trial {number}: {verb}, {sent.name} after {after:.2f} s: {fault}", flush=True)
        outcomes[verb, sent.name, outcome] += 1
        shutil.rmtree(project.path)
    return outcomes


def main() -> int:
    """Print the outcomes as a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=24)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = campaign(arguments.seed, arguments.trials, Path(folder))
    print(f"{arguments.trials} trials, seed {arguments.seed}")
    for (verb, sent, outcome), count in sorted(outcomes.items()):
        print(f"{count:6} {verb:8} {sent:8} {outcome}")
    return int(any(outcome == "FAULT" for *_, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
