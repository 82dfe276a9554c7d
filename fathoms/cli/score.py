"""`fathoms score`: score runs again from what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion, console, progress, results
from fathoms.cli.loading import Address, Executor, cluster, cluster_at
from fathoms.cli.options import RUNS, All, FailOnError, Only, OtherJudge, Out, Trust
from fathoms.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.runs.run import Run
    from fathoms.scoring.gold import NewGold
    from fathoms.types.run.summary import NewQuestions


Runs = Annotated[
    list[str] | None,
    typer.Argument(
        help="Runs: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before); with"
        " --history, `latest` where none is named.",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
Questions = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="Score by the gold answers of this version of the questions. Without it, those of the run"
        " count again.",
    ),
]
WholeHistory = Annotated[
    bool, typer.Option("--history", help="Score all runs that have the name of a named run.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of `scoring` (repeatable)."),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="The profile of the headline scores: paper, released-code or fathoms.",
        autocompletion=completion.profiles,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Also compute this metric, set of metrics, or Python function `module:function`; `fathoms"
        " metrics` lists them (repeatable).",
        autocompletion=completion.metrics,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", help="Stop judging at this cost in US dollars; exit code 3, resumable."),
]
UntilWidth = Annotated[
    float | None,
    typer.Option(
        "--until-width",
        metavar="WIDTH",
        help="Judge each judged metric in a random order only until its 95 % interval is at most so wide,"
        " such as 0.05.",
        min=0,
        max=1,
    ),
]


def score(
    runs: Runs = None,
    questions: Questions = None,
    whole_history: WholeHistory = False,
    settings: Settings = None,
    profile: Profile = None,
    metric: Metric = None,
    judge: OtherJudge = None,
    max_cost: MaxCost = None,
    until_width: UntilWidth = None,
    fail_on_error: FailOnError = "0",
    executor: Executor = None,
    address: Address = "auto",
    out: Out = RUNS,
    trust: Trust = False,
    everything: All = False,
    only: Only = None,
) -> int:
    """Score the stored answers of runs again.

    Needs no parser, index or model: everything is read from the runs. Ends with exit code 1 if a run lacks
    what a metric given by --metric needs, or if a judge gave no verdict on a part of more answers than
    --fail-on-error allows.
    """
    from fathoms.gate.settings import allowance
    from fathoms.judges.of_run import Judging, read_judge
    from fathoms.metrics.registry import beside_default, named
    from fathoms.runs.run import read_summary
    from fathoms.runs.writing import trust_run
    from fathoms.scoring import score_run

    allowed, requested = allowance(fail_on_error), tuple(one.at(Path.cwd()) for one in named(metric or ()))
    wanted = results.Figures(everything, tuple(only or ()), tuple(one.name for one in requested)).checked()
    for one in requested:
        one.check()
    own = None if judge is None else read_judge(judge)
    execution = cluster_at(executor, address)
    found = _chosen(runs or [], out, whole_history=whole_history)
    gold = None if questions is None else _gold(questions)
    missing = over_budget = False
    spent: float = 0.0
    for store in found:
        if trust:
            trust_run(store)
        changed = [*(settings or ()), *([f"profile={profile}"] if profile else [])]
        left = None if max_cost is None else max_cost - spent
        with progress.bars() as bars, cluster(execution) as workers:
            how = Judging(
                own,
                max_cost=left,
                until_width=until_width,
                on_done=partial(bars.stage, "judge"),
                on_forecast=results.announce,
                on_narrower=partial(bars.stage, "judge"),
            )
            before = read_summary(store.path)
            try:
                summary = score_run(
                    store, changed, requested, how, partial(bars.stage, "score"), executor=workers, gold=gold
                )
            except DataError as error:
                if not whole_history:
                    raise
                missing = True
                console.complain(f"{error}: its scores stay what they are")
                continue
        if gold is None and before and before.questions:
            _note_own_gold(store, before.questions)
        results.warn(store, summary)
        if (judging := summary.judging) is not None:
            spent += judging.cost or 0.0
            over_budget = over_budget or judging.over_budget
            missing = missing or judging.unjudged > allowed(summary.counts.answered or 0)
        missing = missing or any(
            figures.missing for one in beside_default(requested) if (figures := summary.metrics.get(one.name))
        )
    results.present([store for store in found if store.is_scored], out, wanted)
    if over_budget:
        return ExitCode.OVER_BUDGET
    return ExitCode.FAILED if missing else ExitCode.OK


def _note_own_gold(run: Run, before: NewQuestions) -> None:
    """Say that a run was scored by other gold answers before."""
    console.note(
        f"note: {run.id} was scored by the gold answers of {before.file}, and is by its own again;"
        " --questions FILE names others"
    )


def _chosen(names: Sequence[str], out: Path, *, whole_history: bool) -> list[Run]:
    """The runs to score: those that are named, and on request all runs of their names."""
    from fathoms.runs.finding import list_runs
    from fathoms.runs.order import run_name
    from fathoms.runs.run import Run

    if not names and not whole_history:
        raise UsageError(
            "name the runs to score, or score the whole history of the latest one with --history"
        )
    found = [Run.open(reference, out) for reference in names or ["latest"]]
    if not whole_history:
        return found
    histories = {run_name(store.id) for store in found}
    return [store for store in list_runs(out) if run_name(store.id) in histories]


def _gold(path: Path) -> NewGold:
    """Read the questions that answers are scored by."""
    from fathoms.corpora import read_questions
    from fathoms.scoring.gold import NewGold

    read = read_questions(path)
    for warning in read.warnings:
        console.note(f"note: {warning}")
    return NewGold(path.name, read.sha256, read.questions, read.derived)
