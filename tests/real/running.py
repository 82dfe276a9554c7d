"""Runs one path in a folder of its own, in processes as a user would, and reads its figures."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.paths import RealPath

Figure = str | int | float | None
SHOWN = ("correctness", "hit@5", "ndcg@5", "faithfulness", "bertscore")
"""The metrics that are kept where a report has them, besides those that a path expects."""


class PathError(Exception):
    """A path that did not run as expected, with the reason."""


@dataclass(frozen=True)
class Outcome:
    """What a path gave: seconds, dollars (`None` if nothing was charged), and figures."""

    seconds: float
    cost: float | None
    figures: dict[str, Figure]


def run_path(path: RealPath, budget: float, seconds: float) -> Outcome:
    """Run a path with at most `budget` dollars in at most so many seconds.

    Raises PathError if a command fails, time runs out, or a figure is lower than expected.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fathoms-real-") as folder:
        Path(folder, "config.yaml").write_text(path.config)
        printed = ""
        for command in path.commands:
            left = seconds - (time.monotonic() - started)
            printed = _fathoms(command.format(cost=f"{budget:.4f}"), folder, left)
        took = time.monotonic() - started
        if Path(folder, "runs").is_dir():
            figures = _of_report(path, json.loads(_fathoms("report latest --json", folder, 60)))
            (summary,) = Path(folder, "runs").glob("*/summary.json")
            cost = json.loads(summary.read_text())["cost"]
        else:
            cost, figures = None, _of_doctor(json.loads(printed))
    for name, least in path.expect.items():
        value = figures.get(name)
        if not isinstance(value, int | float) or value < least:
            raise PathError(f"{name} is {value}, and at least {least} was expected")
    return Outcome(round(took, 1), cost, figures)


def _fathoms(command: str, folder: str, seconds: float) -> str:
    """Run a command of fathoms and return what it printed."""
    words = [sys.executable, "-m", "fathoms", *shlex.split(command)]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        raise PathError(f"'fathoms {command}' took longer than the {seconds:.0f} seconds left") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise PathError(f"'fathoms {command}' ended with {done.returncode}: {' / '.join(said)}")
    return done.stdout


def _of_report(path: RealPath, rows: list[dict[str, Any]]) -> dict[str, Figure]:
    """Return the figures of the one run that a path made."""
    (row,) = rows
    overall, metrics = row["overall"], row["metrics"]
    figures: dict[str, Figure] = {"questions": overall["n"], "errors": overall["errors"]}
    for name in dict.fromkeys([*path.expect, *SHOWN]):
        value = metrics[name]["overall"]["value"] if name in metrics else None
        if value is not None:
            figures[name] = round(value, 4)
    if figures["errors"]:
        raise PathError(f"{figures['errors']} of {figures['questions']} questions failed")
    return figures


def _of_doctor(report: dict[str, Any]) -> dict[str, Figure]:
    """Return what `doctor --json` says of the data of a configuration."""
    (entry,) = report["configs"]
    return {row["name"]: row["detail"] for row in entry["checks"] if row["name"] == "data"}
