"""`fathoms tune`: find the best of several pipelines with few of the calls."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import CORES, Set, Workers
from fathoms.cli.options import RUNS, Json, NoCache, Out, Profile
from fathoms.cli.results import announce
from fathoms.cli.run import Concurrency, Matrix, MaxCost, Model, cells_of, jobs_of
from fathoms.errors import ExitCode, UsageError
from fathoms.safety.option_limits import MOST_REPEATS
from fathoms.text.amounts import percent

if TYPE_CHECKING:
    from fathoms.runner.rounds import Rounds
    from fathoms.runner.runner import Job
    from fathoms.tune.result import Result, Settings
    from fathoms.tune.saved import Saved
    from fathoms.tune.session import Progress

Configs = Annotated[
    list[Path] | None, typer.Argument(help="The YAML files of one or more pipelines.", show_default=False)
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="What is best: any metric from 0 to 1, a judge's too. Default: correctness.",
        show_default=False,
    ),
]
Within = Annotated[
    float | None,
    typer.Option(
        "--within",
        metavar="MARGIN",
        help="Stop when one is at most this much worse than any other.",
        show_default=False,
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        help="The probability with which the best on these questions is never dropped. Default: 0.95.",
        show_default=False,
    ),
]
Screen = Annotated[
    Literal["retrieval"] | None,
    typer.Option(
        "--screen",
        help="Search for all questions first, without asking models, show how well each candidate finds the"
        " gold pages, and compare with those that find them best. Nobody is dropped for it.",
        show_default=False,
    ),
]
Front = Annotated[
    Literal["cost", "latency"] | None,
    typer.Option(
        "--front",
        help="Drop a candidate only where one that costs (or takes) no more is better: leaves the choice"
        " between cheap and good.",
        show_default=False,
    ),
]
MaxCalls = Annotated[
    int | None, typer.Option("--max-calls", min=1, metavar="N", help="Stop before more questions are asked.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="The seed that orders the questions. Default: 0.", show_default=False),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        min=1,
        max=MOST_REPEATS,
        help="Ask every question this many times; its score is the mean. Default: 1.",
        show_default=False,
    ),
]
Write = Annotated[
    Path | None,
    typer.Option("--write", metavar="FILE", help="Write the configuration of the best to this YAML file."),
]
Replay = Annotated[
    list[str] | None,
    typer.Option(
        "--replay",
        metavar="RUN",
        help="Ask nothing: say what a race between finished runs would have saved (repeatable).",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="RACE", help="Go on with a race: its id, or `latest`."),
]


def tune(
    configs: Configs = None,
    matrix: Matrix = None,
    settings: Set = None,
    model: Model = None,
    metric: Metric = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    within: Within = None,
    front: Front = None,
    screen: Screen = None,
    confidence: Confidence = None,
    write: Write = None,
    replay: Replay = None,
    resume: Resume = None,
    profile: Profile = None,
    concurrency: Concurrency = None,
    seed: Seed = None,
    repeats: Repeats = None,
    out: Out = RUNS,
    workers: Workers = CORES,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> int:
    """Find the best of several pipelines with few of the calls.

    All candidates are asked the same questions in the same random order, and each is dropped as soon as it is
    clear that another one is better on these questions. What is best for new questions is said beside it. The
    section `tune:` of the configs can hold all options that say what is decided.
    """
    given = {
        "metric": metric,
        "profile": profile,
        "confidence": confidence,
        "within": within,
        "front": front,
        "screen": screen,
        "max_cost": max_cost,
        "max_calls": max_calls,
        "seed": seed,
        "repeats": repeats,
    }
    if replay:
        return _replay(replay, _chosen((), given)[0], out, as_json=as_json)
    if resume is None and not configs:
        raise UsageError("missing argument CONFIG: a pipeline's YAML file, with --matrix KEY=V1,V2")
    if resume is not None and (configs or matrix or settings or model):
        raise UsageError(
            "--resume goes on with the candidates of the race: leave out CONFIG and what changes it"
        )
    started = time.monotonic()
    jobs = []
    if resume is None:
        cells = functools.partial(cells_of, matrix or (), None, retrieval_only=False)
        jobs = jobs_of(configs or (), settings or (), cells, model, concurrency, retrieval_only=False)
        _require_several(jobs)
    chosen, most = _chosen(jobs, given)
    with opened(no_cache=no_cache) as cache:
        result, saved = _race(jobs, resume, chosen, out, cache, most, workers)
    _show(result, time.monotonic() - started, out, as_json=as_json)
    if write is not None:
        _write(result, saved, write, out)
    codes = {"signal": ExitCode.INTERRUPTED, "budget": ExitCode.OVER_BUDGET, "calls": ExitCode.OVER_BUDGET}
    return codes.get(result.stopped or "", ExitCode.OK)


def _chosen(jobs: Sequence[Job], given: Mapping[str, Any]) -> tuple[Settings, float | None]:
    """What is decided, and the greatest cost: by the options, else by the section `tune:` of the configs.
    Raises UsageError where the sections contradict one another."""
    from fathoms.experiment.kinds import Measured
    from fathoms.tune.result import Settings

    found = [job.experiment.tune for job in jobs if isinstance(job.experiment, Measured)]
    sections = {one for one in found if one is not None}
    if len(sections) > 1:
        raise UsageError("the configs have different sections 'tune': keep one of them, or use options")
    section = {name: getattr(one, name) for one in sections for name in type(one).model_fields}
    chosen = {name: section.get(name) if value is None else value for name, value in given.items()}
    known = {name: value for name, value in chosen.items() if value is not None}
    most = known.pop("max_cost", None)
    return Settings(**known), most


def _require_several(jobs: Sequence[Job]) -> None:
    """Raise UsageError for a single candidate."""
    if len(jobs) < 2:
        raise UsageError(
            "one candidate is no choice: name several configs, or values with --matrix, such as"
            " --matrix retrieve.top_k=3,5,10"
        )


def _race(
    jobs: Sequence[Job],
    resume: str | None,
    chosen: Settings,
    out: Path,
    cache: Any,
    max_cost: float | None,
    workers: int,
) -> tuple[Result, Saved]:
    """Run a new race, or go on with one."""
    from fathoms.judges.of_run import Judging
    from fathoms.models.calling.stop import Stop
    from fathoms.runner.budget import Budget
    from fathoms.runner.rounds import Means, new_rounds, same_rounds
    from fathoms.runner.runner import new_sweep
    from fathoms.tune.saved import as_written, find, save
    from fathoms.tune.session import Session, distinct, named_apart

    if max_cost is not None and not max_cost >= 0:
        raise UsageError("--max-cost: expected a number of 0 or more")
    stop = Stop()
    with progress.bars() as bars:
        means = Means(
            cache, Budget(max_cost), workers, bars.stage, bars.tally, lambda: console.note("stopping")
        )
        jobs = named_apart(jobs)
        saved, configs = (None if resume is None else find(out, resume)), tuple(map(as_written, jobs))
        if saved is not None:
            # a limit holds for one command; all else is that of the race
            chosen, jobs = replace(saved.settings, max_calls=chosen.max_calls), saved.jobs()
            if saved.is_edited(jobs):
                console.note(
                    f"the questions were edited, so a new race starts in place of {saved.id}; replies to"
                    " prompts that are still the same are taken from the cache"
                )
                configs, saved = saved.configs, None
        if saved is None:
            sweep = new_sweep()
            rounds_of = new_rounds(jobs, means, out=out, sweep=sweep, repeats=chosen.repeats)
        else:
            rounds_of = same_rounds(saved.unfinished(jobs), means)
        with rounds_of as rounds:
            merged = distinct(rounds)
            for name, same in merged.same.items():
                console.note(f"{name} and {', '.join(same)} are the same pipeline: it is asked once")
            if saved is None:
                retrieval = _screened(merged.rounds, chosen)
                saved = save(out, sweep, chosen, [one.run for one in rounds.runs], retrieval, configs)
            session = Session(merged.rounds, chosen, saved.retrieval)
            console.note(
                f"{console.amount(len(merged.rounds.runs), 'candidate')},"
                f" {console.amount(len(session.questions), 'question')}; race {saved.id}"
            )
            judging = Judging(on_done=partial(bars.stage, "judge"), on_forecast=announce)
            result = session.go(stop, lambda: judging, _say_dropped)
    if result.stopped is not None:
        where = "" if out == RUNS else f" --out {out}"
        console.complain(f"stopped; continue with: fathoms tune --resume {saved.id}{where}")
    return result, saved


def _screened(rounds: Rounds, chosen: Settings) -> Sequence[float | None]:
    """How well each candidate retrieves, if that is asked for."""
    from fathoms.tune.session import retrieval_figures

    found = retrieval_figures(rounds) if chosen.screen else ()
    if chosen.screen and not any(figure is not None for figure in found):
        console.complain(
            "--screen retrieval: no candidate has a figure, because the questions name no gold pages or"
            " nothing is searched: the race goes on without it"
        )
    return found


def _say_dropped(step: Progress) -> None:
    """Say after a round who was dropped."""
    if step.dropped:
        console.note(
            f"{step.done} of {console.amount(step.questions, 'question')}: {len(step.dropped)} dropped,"
            f" {len(step.alive)} left"
        )


def _show(result: Result, seconds: float, out: Path, *, as_json: bool) -> None:
    """Print the answer first, then the candidates, what the race took, and its page; or all of it as JSON."""
    from fathoms.tune.lines import details, headline, table, wrapped

    if as_json:
        from dataclasses import asdict

        console.show_json(asdict(result))
        return
    for line in headline(result):
        console.say(wrapped(line))
    console.say("")
    console.show_table(*table(result))
    console.say("")
    for line in details(result, seconds):
        console.say(wrapped(line))
    console.say(f"page: {_page(result, out)}")
    where = "" if out == RUNS else f" --out {out}"
    console.say(f"more: fathoms show {result.best.candidate.run}{where}")


def _page(result: Result, out: Path) -> Path:
    """Write the page of a race beside the reports of runs, and return its path."""
    from fathoms.errors import StoreError
    from fathoms.paths import write_atomic
    from fathoms.tune.page import race_page

    path = out / "reports" / f"tune-{result.best.candidate.run}" / "tune.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, race_page(result).encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def _write(result: Result, saved: Saved, path: Path, out: Path) -> None:
    """Write the configuration of the best candidate, without what is so by default."""
    import yaml

    from fathoms.errors import StoreError
    from fathoms.paths import write_atomic
    from fathoms.runs.run import Run

    run = Run.open(result.best.candidate.run, out)
    folder, here = Path(run.manifest.folder), path.resolve().parent
    if folder.resolve() != here:
        console.complain(
            f"{path}: relative paths in it start from {os.path.relpath(folder, here)}, where the configs are:"
            " write the file there"
        )
    text = yaml.safe_dump(dict(saved.config_of(run)), sort_keys=False, allow_unicode=True)
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    console.say(f"config: {path}")


def _replay(references: Sequence[str], chosen: Settings, out: Path, *, as_json: bool) -> int:
    """Say what a race between finished runs would have saved."""
    from fathoms.runs.run import Run
    from fathoms.tune.session import replayed

    found = replayed([Run.open(name, out) for name in references], chosen)
    if as_json:
        console.show_json(found)
        return 0
    console.say(
        f"best on these questions: {found['best']}; a race finds it with {percent(found['calls'])} of the"
        f" {found['whole']:,} calls ({found['right']} of {found['draws']} random orders chose it)"
    )
    return 0
