"""`fathoms view`: show all runs of a folder on a local page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from fathoms.cli.options import RUNS
from fathoms.cli.serving import Browser, Port, serve
from fathoms.cli.trends import Logs
from fathoms.errors import ExitCode, UsageError


def view(
    runs: Annotated[
        Path, typer.Argument(metavar="[RUNS]", help="The folder of the runs, or one run.")
    ] = RUNS,
    log: Logs = None,
    port: Port = 0,
    browser: Browser = True,
) -> int:
    """Show the runs of a folder on a page in your browser, also while they are in progress.

    The page is only for reading. It lists all runs with their status, scores and cost, and shows any of them,
    or several side by side, as report.html does; and the figures of a pipeline over its nights, with what the
    gate said if --log names the log of the nights. A run in progress fills as its answers come. Nobody but
    you can open it: it listens on this machine alone, and its address has a token. Ctrl-C ends it.
    """
    from fathoms.extras.live.server import ViewServer
    from fathoms.report.trends import gate_verdicts
    from fathoms.runs.order import is_run

    if not runs.is_dir():
        raise UsageError(f"{runs} is not a folder: name the folder of your runs, or make a run first")
    folder, page = runs, ""
    if is_run(runs):
        runs = runs.resolve()
        folder, page = runs.parent, f"run/{quote(runs.name, safe='')}/"
    gate_verdicts(log or ())  # says now that a log cannot be read, and not only on the page of trends
    serve(
        partial(ViewServer, folder, logs=tuple(log or ())),
        port,
        None,
        page=page,
        saved="Ctrl-C ends the page.",
        browser=browser,
    )
    return ExitCode.OK
