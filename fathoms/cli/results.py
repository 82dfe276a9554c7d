"""The results of `run`, `score` and `import`: reports on disk, and tables on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console
from fathoms.cli.options import RUNS
from fathoms.errors import FathomsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.judges.ahead import Ahead
    from fathoms.runs.run import Run
    from fathoms.types.run.summary import Summary


def announce(ahead: Ahead) -> None:
    """Say how many calls judging makes, and how long they take."""
    console.note(ahead.sentence)


def warn(run: Run, summary: Summary) -> None:
    """Print the warnings from scoring a run, and how to ask unanswered questions again."""
    for warning in summary.warnings:
        leaves_out = warning in summary.incomplete
        again = f"; 'fathoms run --resume {run.path}' asks the unanswered questions again"
        console.complain(f"{run.path}: {warning}{again if leaves_out else ''}")


def present(runs: Sequence[Run], out: Path, *, each: bool = True) -> None:
    """Write the reports of scored runs, and print their tables.

    Several runs also get a comparison; without `each`, it is printed instead of the table of every run.
    """
    show_results(*write_reports(runs, out, each=each))


def write_reports(
    runs: Sequence[Run], out: Path, *, each: bool = True
) -> tuple[list[RenderableType], tuple[str, ...]]:
    """Write the reports of scored runs; returns the tables to print, and the lines to print after them."""
    from fathoms.report.change import last_comparable
    from fathoms.report.terminal import leaderboard_panel, summary_panel
    from fathoms.report.write import write_report
    from fathoms.runs.run import Run

    views = [Run.scored(run.path) for run in runs]
    panels: list[RenderableType] = []
    for view, run in zip(views, runs, strict=True):
        view.tables |= run.tables
        paths = write_report([view], run.path, plots=False)
        if each or len(runs) == 1:
            earlier = _earlier(run, out)
            newest = next(earlier, None)
            previous = newest and (last_comparable(view, chain([newest], earlier)) or newest)
            panels += summary_panel(view, previous, brief=True)
    if len(runs) > 1:
        paths = write_report(views, out / "reports" / folder_name(runs), plots=False)
        panels += leaderboard_panel(views)
    here = out.resolve()
    names = [run.id if run.path.parent.resolve() == here else shlex.quote(str(run.path)) for run in runs]
    where = "" if out == RUNS else f" --out {shlex.quote(str(out))}"
    # plots take long, and so does a page of many answers: they are made when somebody wants them
    later = "plots:" if paths[0].name == "report.html" else "page:"
    lines = [f"report: {paths[0]}", f"{later:<7} run 'fathoms report {' '.join(names)}{where}'"]
    if each or len(runs) == 1:
        shown = names[0] if len(runs) == 1 else "RUN"
        lines.append(f"more:   'fathoms show {shown}{where}' prints all figures and explains them")
    return panels, tuple(lines)


def show_results(panels: Sequence[RenderableType], lines: Sequence[str]) -> None:
    """Print the tables and lines that `written` returned."""
    console.show(*panels)
    for line in lines:
        console.say(line)


def _earlier(run: Run, out: Path) -> Iterator[Run]:
    """Yield the earlier scored runs of the same name, newest first; each is loaded when it is asked for."""
    from fathoms.runs.finding import list_runs
    from fathoms.runs.order import run_name
    from fathoms.runs.run import Run

    listed = list_runs(out)
    at = next((number for number, other in enumerate(listed) if other.id == run.id), len(listed))
    for other in reversed(listed[:at]):
        if run_name(other.id) == run_name(run.id):
            with suppress(FathomsError):  # skip damaged runs, and those without scores
                yield Run.scored(other.path)


def folder_name(runs: Sequence[Run], by: str | None = None) -> str:
    """The name of the folder for a report on several runs, or for one that is grouped by a key."""
    from fathoms.paths import safe_name
    from fathoms.runs.order import run_name

    parts = [runs[-1].id.partition("_")[0], *(run_name(run.id) for run in runs)]
    return safe_name("_".join([*parts, *([f"by-{by}"] if by else [])]))
