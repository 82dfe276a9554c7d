"""`fathoms score`: score runs again from what they hold."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import completion, progress, results
from fathoms.cli.loading import Address, Executor, cluster, cluster_at
from fathoms.cli.options import RUNS, FailOnError, Out, References, Trust
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
    judge: Annotated[
        Path | None,
        typer.Option(
            "--judge", help="A YAML file with the judge, instead of that of the run's configuration."
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", help="Stop judging at this cost in US dollars; exit code 3, resumable."),
    ] = None,
    fail_on_error: FailOnError = "0",
    executor: Executor = None,
    address: Address = "auto",
    out: Out = RUNS,
    trust: Trust = False,
) -> int:
    """Score the stored answers of runs again.

    Needs no parser, index or model: everything is read from the runs. Ends with exit code 1 if a run lacks
    what a metric given by --metric needs, or if a judge gave no verdict on a part of more answers than
    --fail-on-error allows.
    """
    from fathoms.compare.allowance import allowance
    from fathoms.judges.of_run import Judging, read_judge
    from fathoms.metrics.registry import beside_default, named
    from fathoms.runs.finding import find_run
    from fathoms.scoring import score_run

    allowed = allowance(fail_on_error)
    asked = tuple(one.at(Path.cwd()) for one in named(metric or ()))
    for one in asked:
        one.check()
    own = None if judge is None else read_judge(judge)
    execution = cluster_at(executor, address)
    found = [find_run(reference, out) for reference in runs]
    missing = over_budget = False
    spent: float = 0.0
    for store in found:
        if trust:
            store.trust()
        changed = [*(settings or ()), *([f"profile={profile}"] if profile else [])]
        left = None if max_cost is None else max_cost - spent
        with progress.bars() as bars, cluster(execution) as workers:
            how = Judging(own, max_cost=left, on_done=partial(bars.stage, "judge"), on_ahead=results.announce)
            summary = score_run(store, changed, asked, how, partial(bars.stage, "score"), executor=workers)
        judging = summary.get("judging") or {}
        spent += judging.get("cost") or 0.0
        over_budget = over_budget or judging.get("over_budget", False)
        results.warn(store, summary)
        unjudged = judging.get("unjudged", 0)
        missing = missing or unjudged > allowed(summary["counts"]["answered"])
        figures = summary["metrics"]
        alone = [one.name for one in beside_default(asked)]
        missing = missing or any(name in figures and figures[name]["missing"] for name in alone)
    results.present(found, out)
    if over_budget:
        return ExitCode.OVER_BUDGET
    return ExitCode.FAILED if missing else ExitCode.OK
