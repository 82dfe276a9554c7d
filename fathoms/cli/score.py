"""`fathoms score`: score runs again from what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import completion, results
from fathoms.cli.options import RUNS, Out, References, Trust
from fathoms.errors import ExitCode


def score(
    runs: References,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of `scoring` (repeatable)."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            help="The profile of the headline scores: paper, released-code or fathoms.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Also compute this metric, set of metrics, or Python function `module:function`; `fathoms"
            " metrics` lists them (repeatable).",
            autocompletion=completion.metrics,
        ),
    ] = None,
    out: Out = RUNS,
    trust: Trust = False,
) -> int:
    """Score the stored answers of runs again.

    Needs no parser, index or model: everything is read from the runs. Ends with exit code 1 if a run lacks
    what a metric given by --metric needs.
    """
    from fathoms.metrics.registry import named
    from fathoms.runs.finding import find_run
    from fathoms.scoring import score_run

    asked = tuple(one.at(Path.cwd()) for one in named(metric or ()))
    for one in asked:
        one.check()
    found = [find_run(reference, out) for reference in runs]
    missing = False
    for store in found:
        if trust:
            store.trust()
        changed = [*(settings or ()), *([f"profile={profile}"] if profile else [])]
        summary = score_run(store, changed, asked)
        results.warn(store, summary)
        figures = summary["metrics"]
        missing = missing or any(one.name in figures and figures[one.name]["missing"] for one in asked)
    results.present(found, out)
    return ExitCode.FAILED if missing else ExitCode.OK
