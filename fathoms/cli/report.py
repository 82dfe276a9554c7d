"""`fathoms report`: write the page, tables and plots of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fathoms import hooks
from fathoms.cli import completion, console
from fathoms.cli.browser import show_in_browser
from fathoms.cli.options import RUNS, All, By, Json, Only, Out, Trust
from fathoms.cli.results import Figures, folder_name
from fathoms.cli.trends import Logs
from fathoms.errors import UsageError
from fathoms.report import PICTURED

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.runs.run import Run

Reviews = Annotated[
    list[Path] | None,
    typer.Option("--reviews", help="A file of ratings that is not in the run's folder (repeatable)."),
]


Runs = Annotated[
    list[str] | None,
    typer.Argument(
        help="Runs: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before). Or result"
        " files of FATHOMS-RAG, or folders of them, which do not become runs. With --site by default all"
        " runs.",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
To = Annotated[Path | None, typer.Option("--to", help="The folder to write the report to.")]
Scores = Annotated[
    str | None,
    typer.Option(
        "--scores",
        help="Which scores to show: paper, released-code, fathoms or released.",
        autocompletion=completion.scores,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Also show this metric, such as latency; `all` shows all (repeatable).",
        autocompletion=completion.metrics,
    ),
]
RadarScale = Annotated[
    Literal["plain", "paper"],
    typer.Option(
        "--radar-scale",
        help="The scale of the radar plots: `plain`, from 0 to 1, or `paper`, which divides each axis by"
        " the highest value of these runs on it.",
    ),
]
Shrink = Annotated[
    bool,
    typer.Option(
        "--shrink",
        help="Also show the correctness of each category pulled towards the mean of the categories, which"
        " is closer to the truth on average if categories are small (empirical Bayes).",
    ),
]
Thumbnails = Annotated[
    bool | None,
    typer.Option(
        "--thumbnails/--no-thumbnails",
        help="Add pictures of the gold and the retrieved pages, if the PDFs are on this machine. By"
        f" default they are added to reports of at most {PICTURED:,} answers.",
        show_default=False,
    ),
]
Site = Annotated[
    Path | None,
    typer.Option(
        "--site",
        metavar="DIR",
        help="Write a site of static files about many runs to this folder, for GitHub Pages.",
    ),
]


def report(
    context: typer.Context,
    runs: Runs = None,
    out: Out = RUNS,
    to: To = None,
    scores: Scores = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add intervals to table.tex.")] = False,
    metric: Metric = None,
    radar_scale: RadarScale = "plain",
    shrink: Shrink = False,
    by: By = None,
    reviews: Reviews = None,
    thumbnails: Thumbnails = None,
    site: Site = None,
    log: Logs = None,
    show: Annotated[bool, typer.Option("--open", help="Open report.html in the browser.")] = False,
    trust: Trust = False,
    everything: All = False,
    only: Only = None,
    as_json: Json = False,
) -> int:
    """Write the report of one or more runs.

    The report consists of an HTML page, tables, radar plots, CSV, LaTeX and JSON. That of one run is written
    to the folder of the run; several runs get one common report under `reports` in the folder of the runs,
    and so does a report with --by. The tables that --only names are added to table.tex, and are in `tables`
    as CSV. With --site, a site of static files is written instead, with a
    leaderboard, the page of each run, trends and downloads.
    """
    from fathoms.report.as_json import report_json
    from fathoms.report.terminal import group_sections, require_groups
    from fathoms.report.write import write_report
    from fathoms.runs.run import Run

    if site is not None:
        others: dict[str, object] = {"--to": to, "--by": by, "--intervals": intervals, "--metric": metric}
        others |= {"--shrink": shrink, "--reviews": reviews, "--json": as_json, "--only": only}
        _refuse_beside_site(others | {"--radar-scale": radar_scale != "plain"})
        return _site(runs or [], out, site, scores, log or [], thumbnails=thumbnails, trust=trust, show=show)
    require_groups(only or ())
    if not runs:
        raise UsageError("name the runs of the report, such as latest")
    if log:
        raise UsageError("--log is for the trends of a site: add --site")
    if as_json and (show or thumbnails):
        raise UsageError("--json prints the figures and writes no page: leave out --open and --thumbnails")
    released = [Path(name) for name in runs if _is_released(Path(name))]
    found = context.with_resource(_released(released)) if released else []
    found += [Run.open(name, out) for name in runs if Path(name) not in released]
    views = _views(found, reviews or (), by, trust=trust)
    if as_json:
        console.show_json(report_json(views, scores, shrink=shrink))
        return 0
    # --by keeps the report of the run, and released files have none
    own = found[0].path if len(found) == 1 and by is None and not released else None
    folder = to or own or out / "reports" / folder_name(found, by)
    written = write_report(
        views,
        folder,
        scores,
        html=True,
        thumbnails=thumbnails,
        intervals=intervals,
        scale=radar_scale,
        metrics=metric or (),
        shrink=shrink,
        tables=group_sections(views, only or (), scores),
        warn=console.note,
    )
    figures = Figures(everything, tuple(only or ()), tuple(metric or ()))
    _print_report(views, scores, figures, written, shrink=shrink)
    if show:
        show_in_browser(folder / "report.html")
    return 0


def _print_report(
    views: Sequence[Run], scores: str | None, wanted: Figures, written: Sequence[Path], *, shrink: bool
) -> None:
    """Print the figures of a report and the files that were written."""
    from fathoms.report.shrunk import shrunk_section
    from fathoms.report.terminal import drawn

    shrunk = [shrunk_section(views, scores)] if shrink else []
    console.show(*_figures(views, scores, wanted), *drawn(shrunk))
    console.say("")
    for path in written:
        console.say(str(path))


def _refuse_beside_site(others: Mapping[str, object]) -> None:
    """Raise UsageError if options are given that a site does not take."""
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"--site writes files of its own: leave out {', '.join(given)}")


def _views(found: Sequence[Run], reviews: Sequence[Path], by: str | None, *, trust: bool) -> list[Run]:
    """The scored runs of a report, with further reviews, grouped by a key of the questions."""
    from fathoms.report.grouping import grouped
    from fathoms.runs.run import Run
    from fathoms.runs.writing import trust_run

    for run in found if trust else ():
        trust_run(run)
    for path in reviews:
        if not path.is_file():
            raise UsageError(f"--reviews {path}: there is no such file")
    views = [Run.scored(run.path).altered(reviews=tuple(reviews)) for run in found]
    return views if by is None else [grouped(view, by) for view in views]


def _figures(views: Sequence[Run], scores: str | None, wanted: Figures) -> Iterator[RenderableType]:
    """Yield the figures of a report that are printed."""
    from fathoms.report.metrics_table import metrics_sections
    from fathoms.report.screen import screen
    from fathoms.report.terminal import drawn, leaderboard_panel, only

    if wanted.only:
        yield from only(views, wanted.only)
    elif wanted.everything:
        yield from leaderboard_panel(views, scores, metrics=wanted.metrics)
    else:
        yield from screen(views, scores)
        yield from drawn(metrics_sections(views, scores, wanted.metrics)) if wanted.metrics else ()


def _is_released(path: Path) -> bool:
    """Return whether a path on the command line is a result file, or a folder of them, and not a run."""
    from fathoms.runs.order import is_run

    return (path.suffix == ".json" and path.is_file()) or (path.is_dir() and not is_run(path))


@contextmanager
def _released(paths: Sequence[Path]) -> Iterator[list[Run]]:
    """Yield the scored runs of result files of FATHOMS-RAG, in a folder that is deleted afterwards."""
    from fathoms import scoring
    from fathoms.importers import keep, read_result_files

    with TemporaryDirectory() as folder:
        runs = []
        for item in read_result_files(paths):
            for warning in item.warnings:
                console.complain(warning)
            runs.append(keep(item, "fathoms-rag", Path(folder)))
            scoring.score_run(runs[-1])
        yield runs


def _site(
    names: Sequence[str],
    out: Path,
    site: Path,
    scores: str | None,
    logs: Sequence[Path],
    *,
    thumbnails: bool | None,
    trust: bool,
    show: bool,
) -> int:
    """Write the site of some runs, by default of all; returns the exit code."""
    from fathoms.runs.finding import list_runs, oldest_first
    from fathoms.runs.run import Run
    from fathoms.runs.writing import trust_run

    runs = oldest_first(Run.open(name, out) for name in names) if names else list_runs(out)
    for run in runs if trust else ():
        trust_run(run)
    write_site = hooks.needed("report --site")
    first = write_site(runs, site, scores, logs=logs, thumbnails=bool(thumbnails), note=console.note)
    console.say(str(first))
    if show:
        show_in_browser(first)
    return 0
