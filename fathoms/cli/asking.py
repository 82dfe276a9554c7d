"""`run`: ask, score and print; or say what would be asked; or go on where a run was stopped."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, reading
from fathoms.cli.caching import opened
from fathoms.cli.options import RUNS, NoCache, Out, Refresh, allowance
from fathoms.cli.running import CORES, Set, Workers, load
from fathoms.errors import UsageError

if TYPE_CHECKING:
    from fathoms.cache import Cache
    from fathoms.runner import Job, Outcome, Selection


Model = Annotated[str | None, typer.Option("--model", "-m", help="Another model for `generate`.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="At most N questions, from the categories in turn.")
]
Categories = Annotated[list[str] | None, typer.Option("--category", help="Only this category (repeatable).")]
Questions = Annotated[
    list[str] | None, typer.Option("--question", help="Only this question id (repeatable).")
]
Concurrency = Annotated[
    int | None, typer.Option("-j", "--max-concurrency", min=1, help="Questions asked at once.")
]
Matrix = Annotated[
    list[str] | None,
    typer.Option("--matrix", metavar="KEY=V1,V2", help="A run a value; several make a run a combination."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Ask again what the latest run, or the one named, has no answer to.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked and what is missing; ask nothing.")
]
ReuseReplies = Annotated[
    bool, typer.Option("--reuse-replies", help="Take what the model said to the same prompt before.")
]
NoScore = Annotated[bool, typer.Option("--no-score", help="Only answer; score later.")]
FailOnError = Annotated[
    str, typer.Option("--fail-on-error", help="Failed questions allowed: a count, or a share as 2%.")
]
Wanted = Annotated[
    list[Path] | None, typer.Argument(help="Pipelines' YAML files; with --resume a run.", show_default=False)
]


def run(
    configs: Wanted = None,
    settings: Set = None,
    model: Model = None,
    limit: Limit = None,
    category: Categories = None,
    question: Questions = None,
    concurrency: Concurrency = None,
    matrix: Matrix = None,
    out: Out = RUNS,
    workers: Workers = CORES,
    resume: Resume = False,
    dry_run: DryRun = False,
    no_cache: NoCache = False,
    refresh: Refresh = False,
    reuse_replies: ReuseReplies = False,
    no_score: NoScore = False,
    fail_on_error: FailOnError = "0",
) -> int:
    """Ask, score and print the table.

    Every CONFIG becomes a run of its own; what is missing of its documents is ingested first.
    """
    from fathoms.runner import Selection

    allowed = allowance(fail_on_error)
    selection = Selection(limit, tuple(category or ()), tuple(question or ()))
    if resume and any(
        (settings, model, limit, category, question, concurrency, matrix, dry_run, reuse_replies)
    ):
        raise UsageError("--resume goes on as the run was started: leave out what would change it")
    if not resume and not configs:
        raise UsageError("missing argument CONFIG: a pipeline's YAML file")
    with opened(no_cache=no_cache, refresh=refresh) as cache:
        if resume:
            outcomes = [_resume(configs or [], out, cache, workers)]
        else:
            cells = list(combinations(matrix or ()))
            jobs = [
                _job(config, settings or (), cell, model, concurrency)
                for config in configs or ()
                for cell in cells
            ]
            if dry_run:
                return _print_plans(jobs, selection, cache)
            outcomes = _run(jobs, selection, cache, out, workers, reuse_replies)
    _present(outcomes, out, score=not no_score)
    return _code(outcomes, allowed)


def _job(
    config: Path,
    settings: Sequence[str],
    cell: Mapping[str, Any],
    model: str | None,
    concurrency: int | None,
) -> Job:
    """A run to be; that of a cell has its values in its name."""
    from fathoms.runner import Job

    own = [f"{key}={json.dumps(value)}" for key, value in cell.items()]
    experiment, corpus = load(config, [*settings, *own], model, concurrency)
    values = [f"{key.rpartition('.')[2]}={value}" for key, value in cell.items()]
    name = " ".join([experiment.name, *values])
    return Job(experiment.model_copy(update={"name": name}), corpus, config.parent)


def combinations(matrix: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The cells of a matrix, each a value by key: `a=1,2` and `b=x,y` make four. Without one, a single cell.

    A value is written as in YAML (`[1, 2]` is one). Raises UsageError.
    """
    import yaml

    axes = []
    for axis in matrix:
        key, _, values = axis.partition("=")
        try:
            found = yaml.safe_load(f"[{values}]")
        except yaml.YAMLError as error:
            raise UsageError(f"--matrix {axis}: want KEY=V1,V2") from error
        if not key or not found:
            raise UsageError(f"--matrix {axis}: want KEY=V1,V2")
        axes.append([(key, value) for value in found])
    for cell in itertools.product(*axes):
        yield dict(cell)


def _run(
    jobs: Sequence[Job],
    selection: Selection,
    cache: Cache,
    out: Path,
    workers: int,
    reuse_replies: bool,
) -> list[Outcome]:
    """All runs, with their progress."""
    from fathoms import runner

    for job in jobs:
        console.note(f"{job.experiment.name}: {len(job.corpus.questions)} questions of {job.corpus.name}")
    with console.bars() as bars:
        return runner.run(
            jobs,
            out=out,
            cache=cache,
            selection=selection,
            workers=workers,
            reuse_replies=reuse_replies,
            progress=bars.stage,
            on_record=bars.record,
            on_stop=_stopping,
        )


def _stopping() -> None:
    """A signal came."""
    console.note("stopping: what is in flight is waited for; once more stops at once")


def _resume(references: Sequence[Path], out: Path, cache: Cache, workers: int) -> Outcome:
    """The rest of one run, with its progress."""
    from fathoms import runner
    from fathoms.resuming import reopen
    from fathoms.store import find_run

    if len(references) > 1:
        raise UsageError("--resume takes one run")
    found = reopen(find_run(str(references[0]) if references else "latest", out))
    console.note(f"{found.run.id}: {len(found.missing)} of {len(found.asked)} questions have no answer yet")
    with console.bars() as bars:
        return runner.resume(
            found,
            cache=cache,
            workers=workers,
            progress=bars.stage,
            on_record=bars.record,
            on_stop=_stopping,
        )


def _present(outcomes: Sequence[Outcome], out: Path, *, score: bool) -> None:
    """Score what has answers and print it; without scoring, where the runs are."""
    from fathoms.scoring import score_run

    if not score:
        for outcome in outcomes:
            console.say(str(outcome.run.path))
        return
    scored = [outcome.run for outcome in outcomes if outcome.run.records()]
    for run in scored:
        score_run(run)
    if scored:
        reading.present(scored, out)


def _code(outcomes: Sequence[Outcome], allowed: Callable[[int], float]) -> int:
    """The exit code of all runs together; says what was stopped and how to go on."""
    for outcome in outcomes:
        if outcome.stopped:
            done = f"stopped: {outcome.done} of {outcome.asked} questions are in {outcome.run.path}"
            console.complain(f"{done}; go on with: fathoms run --resume {outcome.run.path}")
    if any(outcome.stopped for outcome in outcomes):
        return 130
    return 1 if any(outcome.errors > allowed(outcome.asked) for outcome in outcomes) else 0


def _print_plans(jobs: Sequence[Job], selection: Selection, cache: Cache) -> int:
    """Say what every run would do; 2 where one of them would not start."""
    from fathoms.plan import plan

    code = 0
    for job in jobs:
        asked = job.corpus.select(limit=selection.limit, categories=selection.categories, ids=selection.ids)
        found = plan(job.experiment, job.corpus, asked, cache)
        sizes = ", ".join(f"{name} {size}" for name, size in found.questions.items())
        stages = ", ".join(f"{name}: {kind}" for name, kind in found.stages.items())
        console.say(f"{found.name}: {len(asked)} questions of {found.data} ({sizes})")
        console.say(f"  {found.documents} documents; {stages}")
        if found.requests is not None:
            console.say(f"  {found.requests} requests{_attached(found.attached)}")
        for stage, reason in found.missing.items():
            console.say(f"  missing: {stage}: {reason}")
            code = 2
    console.say("nothing was asked")
    return code


def _attached(attached: dict[str, int] | None) -> str:
    """`, with 270 pages attached (12.3 MB)`."""
    if attached is None:
        return ""
    return f", with {attached['pages']} pages attached ({attached['bytes'] / 1e6:.1f} MB)"
