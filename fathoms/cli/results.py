"""The results of `run`, `score` and `import`: reports on disk, and tables on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console
from fathoms.cli.options import RUNS
from fathoms.errors import FathomsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.judges.forecast import Forecast, Narrowing
    from fathoms.runs.run import Run
    from fathoms.types.run.summary import Summary


def announce(forecast: Forecast | Narrowing) -> None:
    """Say how many calls judging makes and how long they take, or what a narrower interval needs."""
    console.note(forecast.sentence)


def warn(run: Run, summary: Summary) -> None:
    """Print the warnings from scoring a run, and how to ask unanswered questions again."""
    for warning in summary.warnings:
        leaves_out = warning in summary.incomplete
        again = f"; 'fathoms run --resume {run.path}' asks the unanswered questions again"
        console.complain(f"{run.path}: {warning}{again if leaves_out else ''}")


@dataclass(frozen=True)
class Figures:
    """Which figures a command prints: the first screen, all figures, or some groups of them."""

    everything: bool = False
    only: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    """The metrics that the command computed on request, which come first among those of the screen."""

    def checked(self) -> Figures:
        """Raise UsageError for an unknown group, before anything else is done."""
        if self.only:
            from fathoms.report.terminal import require_groups

            require_groups(self.only)
        return self


def present(runs: Sequence[Run], out: Path, wanted: Figures = Figures()) -> None:
    """Write the reports of scored runs, and print their figures."""
    console.show(*write_reports(runs, out, wanted))


def write_reports(runs: Sequence[Run], out: Path, wanted: Figures = Figures()) -> list[RenderableType]:
    """Write the reports of scored runs; returns what to print."""
    from fathoms.report.change import last_comparable
    from fathoms.report.terminal import change_line
    from fathoms.report.write import write_report
    from fathoms.runs.run import Run

    views = [Run.scored(run.path) for run in runs]
    for view, run in zip(views, runs, strict=True):
        view.tables |= run.tables
        # plots take long, and so does a page of many answers: they are made when somebody wants them
        write_report([view], run.path, plots=False)
    if len(runs) > 1:
        write_report(views, out / "reports" / folder_name(runs), plots=False)
        return list(shown(views, runs, out, wanted))
    earlier = _earlier(runs[0], out)
    newest = next(earlier, None)
    previous = newest and (last_comparable(views[0], chain([newest], earlier)) or newest)
    figures = list(shown(views, runs, out, wanted))
    if previous is not None and not wanted.only and not views[0].summary.retrieval_only:
        figures.append(change_line(views[0], previous, views[0].profile()))
    return figures


def shown(
    views: Sequence[Run], runs: Sequence[Run], out: Path, wanted: Figures, worst: int = 0
) -> Iterator[RenderableType]:
    """Yield the figures of scored runs that are wanted; of the first screen with what to do next, and with
    so many of the `worst` questions of a single run."""
    from rich.text import Text

    from fathoms.report.screen import next_steps, screen, worst_grid
    from fathoms.report.terminal import everything, only
    from fathoms.report.worst import worst_questions

    if wanted.only:
        yield from only(views, wanted.only)
    elif wanted.everything:
        yield from everything(views)
    else:
        yield from screen(views, extra=wanted.metrics)
        alone = len(views) == 1 and not views[0].summary.all_failed
        if worst and alone and (misses := worst_questions(views[0], views[0].profile(), worst)):
            yield from (Text(), worst_grid(misses))
        where = "" if out == RUNS else f" --out {shlex.quote(str(out))}"
        yield from next_steps(views, [reference(run, out) for run in runs], where, alone=len(runs) == 1)


def reference(run: Run, out: Path) -> str:
    """The shortest name by which the command line finds a run, quoted for a shell: its own name where it is
    the newest run of that name, else its id, or its path where it is not in `out`."""
    from fathoms.runs.finding import list_runs
    from fathoms.runs.order import run_name

    if run.path.parent.resolve() != out.resolve():
        return shlex.quote(str(run.path))
    name = run_name(run.id)
    newest = next((other for other in reversed(list_runs(out)) if run_name(other.id) == name), None)
    return shlex.quote(name if newest is not None and newest.id == run.id and name != "latest" else run.id)


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
