"""`fathoms premerge`: judge a branch against main on the same questions, before it is merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, nightly, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import CORES, Config, Set, Workers
from fathoms.cli.options import (
    RUNS,
    AllowedErrors,
    Comment,
    Json,
    JUnit,
    LogFile,
    Margin,
    NoCache,
    Out,
    Profile,
    Strict,
)
from fathoms.cli.results import announce
from fathoms.cli.run import MaxCost
from fathoms.cli.tune import Metric, Seed
from fathoms.errors import ExitCode

if TYPE_CHECKING:
    from fathoms.gate.settings import GateSettings
    from fathoms.runner.runner import Job
    from fathoms.runs.cache import Cache
    from fathoms.tune.premerge import PreMerge
    from fathoms.tune.result import Settings

Against = Annotated[
    Path, typer.Option("--against", help="The YAML file of main's pipeline.", show_default=False)
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence", min=0.5, max=0.9999, help="How sure a FAIL, and a PASS before the last question, is."
    ),
]


def premerge(
    config: Config,
    against: Against,
    settings: Set = None,
    metric: Metric = None,
    margin: Margin = None,
    confidence: Confidence = 0.95,
    max_cost: MaxCost = None,
    fail_on_error: AllowedErrors = None,
    strict: Strict = False,
    comment: Comment = None,
    junit: JUnit = None,
    log_file: LogFile = None,
    profile: Profile = None,
    seed: Seed = None,
    out: Out = RUNS,
    workers: Workers = CORES,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> int:
    """Judge a branch before it is merged: PASS, FAIL (exit code 100) or UNDECIDED.

    Its pipeline (CONFIG) and that of main (--against) are asked the questions of the branch, one by one in a
    random order, until it is clear whether the branch is worse by more than the margin. Options that are not
    given are those of the section `gate` in the branch's config.
    """
    from fathoms.gate.settings import allowance
    from fathoms.tune.result import Settings

    files = nightly.VerdictFiles(log_file, junit, comment)
    name = f"{config.stem} before merging"
    with files.judging("premerge", name):
        jobs, section = _jobs(config, against, settings or [])
        chosen = Settings(
            metric=metric or section.metric[0],
            profile=profile,
            confidence=confidence,
            within=section.margin if margin is None else margin,
            seed=seed or 0,
            defended=True,
        )
        allowed = allowance(fail_on_error or section.fail_on_error)
        with opened(no_cache=no_cache) as cache:
            found = replace(_judged(jobs, chosen, allowed, out, cache, max_cost, workers), name=name)
        console.show_json(asdict(found)) if as_json else console.say(found.line)
        run = found.branch.run if found.branch else ""
        suite = found.suite(strict=strict)
        written = files.report(run, found.verdict, found.line, suite, lambda: found.comment)
    return _code(found, strict=strict) or (ExitCode.OK if written else ExitCode.FAILED)


def _jobs(config: Path, against: Path, settings: list[str]) -> tuple[list[Job], GateSettings]:
    """Load main's pipeline and the branch's, in this order, both with the questions of the branch, and the
    section `gate` of the branch. The names of the runs say which is which, so that no nightly gate takes one
    for a night."""
    from fathoms.cli.loading import load
    from fathoms.experiment import load_experiment
    from fathoms.gate.settings import GateSettings
    from fathoms.runner.runner import Job

    branch, corpus = load(config, settings)
    main = load_experiment(against, settings)
    jobs = [
        Job(one.model_copy(update={"name": f"{branch.name} {side}"}), corpus, path.parent)
        for one, side, path in ((main, "main", against), (branch, "branch", config))
    ]
    return jobs, branch.gate or GateSettings()


def _judged(
    jobs: list[Job],
    chosen: Settings,
    allowed: Callable[[int], float],
    out: Path,
    cache: Cache,
    max_cost: float | None,
    workers: int,
) -> PreMerge:
    """Ask both pipelines, and judge the branch."""
    from fathoms.judges.of_run import Judging
    from fathoms.models.calling.stop import Stop
    from fathoms.runner.budget import Budget
    from fathoms.runner.rounds import Means, new_rounds
    from fathoms.runner.runner import new_sweep
    from fathoms.tune.premerge import judge_branch

    with progress.bars() as bars:
        means = Means(
            cache, Budget(max_cost), workers, bars.stage, bars.tally, lambda: console.note("stopping")
        )
        with new_rounds(jobs, means, out=out, sweep=new_sweep()) as rounds:
            judging = Judging(on_done=partial(bars.stage, "judge"), on_forecast=announce)
            return judge_branch(rounds, chosen, Stop(), lambda: judging, allowed)


def _code(found: PreMerge, *, strict: bool) -> int:
    """Return the exit code of a verdict."""
    if found.stopped is not None:
        return ExitCode.INTERRUPTED if found.stopped == "signal" else ExitCode.OVER_BUDGET
    if found.verdict == "FAIL":
        return ExitCode.GATE_FAILED
    undecided = found.verdict == "UNDECIDED" and (strict or found.is_large_loss)
    return ExitCode.GATE_UNDECIDED if undecided else ExitCode.OK
