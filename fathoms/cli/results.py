"""What `run`, `score` and `import` show at their end: the reports on disk, and tables on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.cli.options import RUNS
from fathoms.errors import FathomsError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.report import RunView
    from fathoms.runs.store import Run


def warn(run: Run, summary: Mapping[str, Any]) -> None:
    """Say what of a run could not be used when it was scored."""
    for warning in summary.get("warnings") or ():
        again = f"; 'fathoms run --resume {run.path}' asks the questions again that have no answer"
        console.complain(f"{run.path}: {warning}{'' if summary['complete'] else again}")


def present(runs: Sequence[Run], out: Path, *, each: bool = True) -> None:
    """After scoring: the reports on disk, and the tables on the terminal; `each` run's own, and the
    comparison where there are several."""
    show_results(*written(runs, out, each=each))


def written(
    runs: Sequence[Run], out: Path, *, each: bool = True
) -> tuple[list[RenderableType], tuple[str, ...]]:
    """Write the reports of `present`; what there is to print: tables, and lines after them."""
    from fathoms import report

    views = [report.load(run.path) for run in runs]
    panels: list[RenderableType] = []
    for view, run in zip(views, runs, strict=True):
        paths = report.write_report([view], run.path, pdf=False)
        if each or len(runs) == 1:
            earlier = _earlier(run, out)
            previous = report.last_comparable(view, earlier) or next(iter(earlier), None)
            panels += report.summary_panel(view, previous)
    if len(runs) > 1:
        paths = report.write_report(views, out / "reports" / folder_name(runs), pdf=False)
        panels += report.comparison_panel(views)
    radar = next(path for path in paths if path.suffix == ".png")
    lines = [f"report: {paths[0]}", f"radar:  {radar}"]
    if paths[0].name != "report.html":  # too many answers to write it by the way
        lines.append(f"page:   run '{_command(runs, out)}'")
    return panels, tuple(lines)


def _command(runs: Sequence[Run], out: Path) -> str:
    """What writes the page of some runs, wherever they are."""
    here = out.resolve()
    names = [run.id if run.path.parent.resolve() == here else shlex.quote(str(run.path)) for run in runs]
    where = "" if out == RUNS else f" --out {shlex.quote(str(out))}"
    return f"fathoms report {' '.join(names)}{where}"


def show_results(panels: Sequence[RenderableType], lines: Sequence[str]) -> None:
    """Print them."""
    console.show(*panels)
    for line in lines:
        console.say(line)


def _earlier(run: Run, out: Path) -> list[RunView]:
    """The scored runs of the same name before this one, the newest first."""
    from fathoms import report
    from fathoms.runs.store import list_runs, run_name

    views = []
    listed = list_runs(out)
    at = next((number for number, other in enumerate(listed) if other.id == run.id), len(listed))
    for other in reversed(listed[:at]):
        if run_name(other) == run_name(run):
            with suppress(FathomsError):  # a damaged run spoils no other
                if other.summary():
                    views.append(report.load(other.path))
    return views


def folder_name(runs: Sequence[Run]) -> str:
    """The folder of a report on several runs."""
    from fathoms.paths import safe_name
    from fathoms.runs.store import run_name

    return safe_name("_".join([runs[-1].id.partition("_")[0], *(run_name(run) for run in runs)]))
