"""`report`, `ls`, `show`: the verbs that only read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import completion as completing
from fathoms.cli import console
from fathoms.cli.browser import show_in_browser
from fathoms.cli.options import RUNS, Json, Out, References, Trust
from fathoms.errors import FathomsError, StoreError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.report import RunView
    from fathoms.runs.store import Run

Reviews = Annotated[
    list[Path] | None, typer.Option("--reviews", help="Ratings that were not saved in the run's folder.")
]


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
        paths = report.write_report(views, out / "reports" / _folder_name(runs), pdf=False)
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


def _folder_name(runs: Sequence[Run]) -> str:
    """The folder of a report on several runs."""
    from fathoms.paths import safe_name
    from fathoms.runs.store import run_name

    return safe_name("_".join([runs[-1].id.partition("_")[0], *(run_name(run) for run in runs)]))


def _files(paths: Sequence[Path] | None) -> tuple[Path, ...]:
    """Files that are there; raises UsageError for one that is not."""
    for path in paths or ():
        if not path.is_file():
            raise UsageError(f"--reviews {path}: there is no such file")
    return tuple(paths or ())


def report(
    runs: References,
    out: Out = RUNS,
    to: Annotated[Path | None, typer.Option("--to", help="Where the report is written.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            "--scores",
            help="paper, released-code, fathoms or released.",
            autocompletion=completing.scores,
        ),
    ] = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="With intervals in table.tex.")] = False,
    reviews: Reviews = None,
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails", help="With small pictures of pages, where the PDFs are here.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Show report.html in the browser.")] = False,
    trust: Trust = False,
    as_json: Json = False,
) -> int:
    """Write the report of runs.

    A page for the browser, tables, radar plots, CSV, LaTeX and JSON; of one run into its own folder, of
    several into one for all.
    """
    from fathoms import report as room
    from fathoms.runs.store import find_run

    if as_json and (show or thumbnails):
        raise UsageError("--json prints the figures and writes no page: leave out --open and --thumbnails")
    found = [find_run(reference, out) for reference in runs]
    for run in found if trust else ():
        run.trust()
    views = [replace(room.load(run.path), reviews=_files(reviews)) for run in found]
    if as_json:
        console.show_json(room.report_json(views, scores))
        return 0
    folder = to or (found[0].path if len(found) == 1 else out / "reports" / _folder_name(found))
    written = room.write_report(
        views, folder, scores, html=True, thumbnails=thumbnails, intervals=intervals, warn=console.note
    )
    console.show(*room.comparison_panel(views, scores))
    for path in written:
        console.say(str(path))
    if show:
        show_in_browser(folder / "report.html")
    return 0


def ls(
    sweep_id: Annotated[
        str | None, typer.Argument(help="With --sweep: its id; the latest if not given.")
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="The runs of one sweep, by what sets them apart.")
    ] = False,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """List the runs, oldest first."""
    from fathoms.runs.store import list_runs

    if out != RUNS and not out.is_dir():
        raise UsageError(f"{out} is no folder")
    if sweep_id is not None and not sweep:
        raise UsageError(f"'{sweep_id}': ls takes the id of a sweep after --sweep")
    rows = [_row(run) for run in list_runs(out)]
    if sweep:
        rows = _of_sweep(rows, sweep_id)
    if as_json:
        console.show_json(rows)
        return 0
    if sweep:
        console.say(f"sweep {rows[0]['sweep']}")
        console.show_table(*_grid(rows))
        return 0
    keys = ("run", "model", "correctness", "hallucination", "n", "errors", "cost", "seconds")
    heads = ("run", "model", "correct", "halluc.", "n", "errors", "cost", "seconds")
    console.show_table(heads, [tuple(_cell(key, row[key]) for key in keys) for row in rows])
    return 0


def _of_sweep(rows: Sequence[dict[str, Any]], wanted: str | None) -> list[dict[str, Any]]:
    """The runs that were started together; of the latest sweep, if none is named. Raises UsageError."""
    from fathoms.config import suggest

    known = list(dict.fromkeys(row["sweep"] for row in rows if row["sweep"]))
    if not known:
        raise UsageError("there is no sweep: run several configs, or one with --matrix")
    name = known[-1] if wanted in (None, "latest") else wanted
    found = [row for row in rows if row["sweep"] == name]
    if not found:
        raise UsageError(f"no sweep '{wanted}'{suggest(str(wanted), known)}")
    return found


def _grid(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and cells: what sets the runs apart first, then their figures."""
    axes = list(dict.fromkeys(key for row in rows for key in row["cell"]))
    axes = [key for key in axes if len({str(row["cell"].get(key)) for row in rows}) > 1] or axes[:1]
    keys = ("correctness", "hallucination", "n", "errors", "cost", "seconds")
    cells = [
        [*(str(row["cell"].get(a, "-")) for a in axes), *(_cell(k, row[k]) for k in keys)] for row in rows
    ]
    return [*axes, "correct", "halluc.", "n", "errors", "cost", "seconds"], cells


def _row(run: Run) -> dict[str, Any]:
    """One run in the list."""
    try:
        manifest, summary = run.manifest(), run.summary() or {}
    except StoreError as error:
        console.complain(str(error))
        manifest, summary = {"name": run.id}, {}
    profile = summary.get("profile")
    overall = summary.get("profiles", {}).get(profile, {}).get("overall", {})
    row = {"run": run.id, "name": manifest["name"], "model": manifest.get("model"), "profile": profile}
    figures = {key: overall.get(key) for key in ("correctness", "hallucination", "n", "errors")}
    totals, sweep = manifest.get("totals") or {}, manifest.get("sweep") or {}
    taken = {"cost": totals.get("cost"), "seconds": totals.get("seconds")}
    together = {"sweep": sweep.get("id"), "cell": sweep.get("cell") or {}}
    return {**row, **figures, **taken, "complete": summary.get("complete"), **together}


def _cell(key: str, value: Any) -> str:
    """A cell of the list."""
    from fathoms.report.ending import dollars

    if value is None:
        return "-"
    if key in ("cost", "seconds"):
        return dollars(value) if key == "cost" else f"{value:.1f}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def show(
    run: Annotated[
        str,
        typer.Argument(
            help="A run: a path, an id, a name, `latest`, NAME~1.", autocompletion=completing.run_names
        ),
    ] = "latest",
    question: Annotated[str | None, typer.Option("--question", help="One question, whole.")] = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Show a run, or one question of it.

    Of a question: gold, hits, prompt, answer and scores.
    """
    from fathoms import report as room
    from fathoms.runs.store import find_run

    store = find_run(run, out)
    if question is not None:
        view = _question(store, question)
        if as_json:
            console.show_json(view)
        else:
            console.show(*room.question_panel(view))
        return 0
    if as_json:
        console.show_json({"manifest": store.manifest(), "summary": store.summary()})
        return 0
    console.say(str(store.path))
    console.show(*room.summary_panel(room.load(store.path), None))
    return 0


def _question(store: Run, wanted: str) -> dict[str, Any]:
    """One question's view; raises UsageError with a suggestion."""
    from fathoms.config import suggest

    ids = []
    for view in store.views():
        ids.append(view["question"]["id"])
        if ids[-1] == wanted:
            return view
    raise UsageError(f"{store.id} has no question '{wanted}'{suggest(wanted, ids)}")
