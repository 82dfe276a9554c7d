"""`fathoms run`: ask the questions, score the answers and print the scores; also resume, and dry run."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, nightly, progress, results
from fathoms.cli.cache import opened
from fathoms.cli.dry_run import print_plans
from fathoms.cli.loading import CORES, Executor, Set, Workers, cluster, load, settings_with
from fathoms.cli.options import (
    RUNS,
    All,
    Comment,
    FailOnError,
    JUnit,
    JUnitBy,
    LogFile,
    NoCache,
    Only,
    Out,
    Partial,
    Refresh,
    Trust,
)
from fathoms.cli.results import Figures, announce, write_reports
from fathoms.errors import ExitCode, FathomsError, UsageError
from fathoms.gate.settings import allowance
from fathoms.safety.option_limits import MOST_AT_ONCE, MOST_REPEATS

if TYPE_CHECKING:
    from fathoms.corpora import Corpus
    from fathoms.experiment import AnyExperiment
    from fathoms.report.ending import Verdict
    from fathoms.runner.active_run import Outcome
    from fathoms.runner.budget import Budget
    from fathoms.runner.runner import Job, Selection
    from fathoms.runs.cache import Cache
    from fathoms.runs.run import Run


Model = Annotated[str | None, typer.Option("--model", "-m", help="Use this model for `generate`.")]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help="Ask at most this many questions, taken from each category in turn, and their variants.",
    ),
]
Categories = Annotated[
    list[str] | None, typer.Option("--category", help="Ask only questions of this category (repeatable).")
]
Questions = Annotated[
    list[str] | None, typer.Option("--question", help="Ask only the question with this id (repeatable).")
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "-j", "--max-concurrency", min=1, max=MOST_AT_ONCE, help="How many questions to ask at once."
    ),
]
Matrix = Annotated[
    list[str] | None,
    typer.Option(
        "--matrix",
        metavar="KEY=V1,V2",
        help="Make one run per value of a config key. Repeat it to make one run per combination of values. An"
        " axis of the config's own `matrix` takes the names of the cells to run.",
    ),
]
Compared = Annotated[
    str | None,
    typer.Option(
        "--settings",
        metavar="S1,S2",
        help="Make one run per setting of the pipeline: closed-book (no context), oracle (the gold pages),"
        " oracle-extract (extracting from them before answering), rag (as it is); or gold, gold+distractors,"
        " distractors (the gold chunks, with or without the most similar others); or injected, injected-leak"
        " (a planted instruction in the context). Print one table.",
    ),
]
Prompts = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="SET",
        help="Make one run per prompt of a set of the template `parts`: mrag-suite has 12. Print one table.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the latest run, or the one named: ask the questions that have no answer yet.",
    ),
]
RetrievalOnly = Annotated[
    bool,
    typer.Option(
        "--retrieval-only",
        help="Only search, and ask no model for answers. `prompt` and `generate` are not read.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Ask nothing; print what would be asked, an estimate of the cost, and what is missing.",
    ),
]
ReuseReplies = Annotated[
    bool,
    typer.Option("--reuse-replies", help="Keep replies in the cache, and reuse them for identical prompts."),
]
Repeats = Annotated[
    int, typer.Option("--repeats", min=1, max=MOST_REPEATS, help="Ask every question this many times.")
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Stop before all runs together cost more (exit code 3)."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens-total",
        metavar="N",
        help="Stop before all runs together use more tokens (exit code 3).",
    ),
]
NoScore = Annotated[
    bool, typer.Option("--no-score", help="Do not score the answers (`fathoms score` does it later).")
]
_CODES = {
    "INTERRUPTED": ExitCode.INTERRUPTED,
    "STOPPED": ExitCode.OVER_BUDGET,
    "FAILED": ExitCode.FAILED,
    "PARTIAL": ExitCode.FAILED,
}
"""Exit code per verdict. If runs end differently, the first one listed here wins."""
Wanted = Annotated[
    list[Path] | None,
    typer.Argument(help="The YAML files of one or more pipelines; with --resume, a run.", show_default=False),
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
    compared: Compared = None,
    prompts: Prompts = None,
    out: Out = RUNS,
    workers: Workers = CORES,
    executor: Executor = None,
    retrieval_only: RetrievalOnly = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    no_cache: NoCache = False,
    refresh: Refresh = False,
    reuse_replies: ReuseReplies = False,
    repeats: Repeats = 1,
    max_cost: MaxCost = None,
    max_tokens_total: MaxTokens = None,
    no_score: NoScore = False,
    fail_on_error: FailOnError = "0",
    partial: Partial = False,
    log_file: LogFile = None,
    junit: JUnit = None,
    junit_by: JUnitBy = "category",
    comment: Comment = None,
    trust: Trust = False,
    everything: All = False,
    only: Only = None,
) -> int:
    """Ask the questions, score the answers and print the figures.

    Each CONFIG becomes a separate run, or one for each cell of its `matrix`. Documents that are not in the
    cache yet are ingested first.
    """
    from fathoms.runner.runner import Selection

    allowed, wanted = allowance(fail_on_error), Figures(everything, tuple(only or ())).checked()
    selection = Selection(limit, tuple(category or ()), tuple(question or ()))
    changed = (
        settings,
        executor,
        model,
        limit,
        category,
        question,
        concurrency,
        matrix,
        compared,
        prompts,
        dry_run,
        reuse_replies,
    )
    _require_possible(configs, resume=resume, changed=any(changed) or repeats > 1, trust=trust)
    axes, settings = _with_prompts(prompts, matrix or (), settings_with(settings, executor))
    cells = functools.partial(cells_of, axes, compared, retrieval_only=retrieval_only)
    options = RunOptions(out, workers, repeats, max_cost, max_tokens_total, reuse_replies)
    if dry_run:
        jobs = jobs_of(configs or (), settings, cells, model, concurrency, retrieval_only)
        with opened(no_cache=no_cache, refresh=refresh) as cache:
            return print_plans(jobs, selection, cache, repeats, workers, out)
    nightly.prepare_junit(junit)
    with (
        nightly.log_to(log_file),
        _reporting_failure(configs or (), junit, None if resume else out, comment) as names,
    ):
        budget, stages = options.budget(), list[str]()
        with opened(no_cache=no_cache, refresh=refresh) as cache:
            if resume:
                outcomes = [_resume(configs or [], cache, options, budget, trust=trust)]
            else:
                jobs = jobs_of(configs or (), settings, cells, model, concurrency, retrieval_only)
                names[:] = [job.experiment.name for job in jobs]
                stages = _stages_of(jobs, scored=not no_score)
                outcomes = _run(jobs, selection, cache, options, budget, stages)
        results = [] if no_score else _scored(outcomes, budget, stages)
        panels = write_reports(results, out, wanted) if results else []
        verdicts = [
            _verdict(outcome, allowed, partial_is_ok=partial, scored=not no_score) for outcome in outcomes
        ]
        lines, written = nightly.report_end(outcomes, verdicts, junit, by_question=junit_by == "question")
        if {"FAILED", "PARTIAL"} & set(verdicts):
            written &= nightly.comment_of_failure(comment, names[0], "\n\n".join(lines))
    console.show(*panels)  # printed last: if stdout is closed, all files are written already
    for outcome in outcomes if no_score else ():
        console.say(str(outcome.run.path))
    for line in lines:
        (console.note if no_score else console.say)(line)
    return _code(outcomes, verdicts) or int(not written)


def _require_possible(configs: Sequence[Path] | None, *, resume: bool, changed: bool, trust: bool) -> None:
    """Raise UsageError for arguments that contradict each other, or a missing CONFIG."""
    if resume and changed:
        raise UsageError("--resume keeps the settings of the run: leave out the options that change them")
    if trust and not resume:
        raise UsageError("--trust works only with --resume: your own configuration is always trusted")
    if not resume and not configs:
        raise UsageError("missing argument CONFIG: a pipeline's YAML file")


@dataclass(frozen=True)
class RunOptions:
    """Options that hold for all runs of one command, among them the limits of cost and tokens."""

    out: Path
    workers: int
    repeats: int
    max_cost: float | None
    max_tokens: int | None
    reuse_replies: bool

    def budget(self) -> Budget:
        """The budget that all runs share; raises UsageError for a negative limit."""
        from fathoms.runner.budget import Budget

        if (self.max_cost is not None and not self.max_cost >= 0) or (self.max_tokens or 0) < 0:
            raise UsageError("--max-cost and --max-tokens-total: expected a number of 0 or more")
        return Budget(self.max_cost, self.max_tokens)


@contextmanager
def _reporting_failure(
    configs: Sequence[Path], junit: Path | None, out: Path | None, comment: Path | None
) -> Iterator[list[str]]:
    """Report an exception of the block in the log, the JUnit file and the final line, and raise it again.
    The block may change the names that are reported. Where there is no run of a name, that is stored in
    `out`, unless the command itself is wrong."""
    from fathoms.runs.missed import now, record_missed

    names, started = [path.stem for path in configs] or ["latest"], now()
    try:
        yield names
    except (Exception, KeyboardInterrupt) as error:
        if out is not None and isinstance(error, FathomsError) and type(error) is not UsageError:
            record_missed(out, names, started, str(error))
        nightly.report_failure(names, error, junit)
        nightly.comment_of_failure(comment, names[0], str(error) or type(error).__name__)
        raise


def jobs_of(
    configs: Sequence[Path],
    settings: Sequence[str],
    cells: Callable[[Container[str]], Iterable[Mapping[str, Any]]],
    model: str | None,
    concurrency: int | None,
    retrieval_only: bool,
) -> list[Job]:
    """One job per config, cell of its own matrix, and combination of matrix values and settings, which
    `cells` yields for the axes of a config. A matrix value whose key is an axis chooses among its cells."""
    from fathoms.experiment import KEYS
    from fathoms.pipeline.matrix import cells_in, read_axes

    load_one = functools.partial(load, model=model, concurrency=concurrency, retrieval_only=retrieval_only)
    jobs = []
    for config in configs:
        axes = read_axes(config, KEYS)
        for cell in cells(axes):
            chosen = {key: value for key, value in cell.items() if key in axes}
            others = {key: value for key, value in cell.items() if key not in axes}
            for named in cells_in(axes, chosen):
                load_cell = functools.partial(load_one, cell=named)
                jobs.append(_job(config, settings, named, others, load_cell))
    return jobs


def _job(
    config: Path,
    settings: Sequence[str],
    named: Mapping[str, str],
    cell: Mapping[str, Any],
    load_one: Callable[[Path, Sequence[str]], tuple[AnyExperiment, Corpus]],
) -> Job:
    """Load the job of one config and combination: the names of the config's own matrix, and the values of
    the command line. Both are appended to its name."""
    from fathoms.experiment.settings import SETTINGS, in_setting
    from fathoms.pipeline.matrix import titled
    from fathoms.report.text import describe
    from fathoms.runner.runner import Job
    from fathoms.runs.metadata import CONFIG, SETTING

    keys = {key: value for key, value in cell.items() if key != SETTING}
    compared = [f"{SETTING}={cell[SETTING]}"] if SETTING in cell else []
    replaced = SETTINGS[cell[SETTING]] if compared else {}
    own = [f"{key}={json.dumps(value)}" for key, value in {**keys, **replaced}.items()]
    experiment, corpus = load_one(config, [*settings, *own])
    if compared:
        experiment = in_setting(experiment, cell[SETTING])
    values = [
        f"{key.rpartition('.')[2]}={describe(value) if isinstance(value, dict) else value}"
        for key, value in keys.items()
    ] + [cell[SETTING] for _ in compared]
    name = " ".join([titled(experiment.name, named), *values])
    cell = {CONFIG: experiment.name, **named, **cell}
    return Job(experiment.model_copy(update={"name": name}), corpus, config.parent, cell)


def cells_of(
    matrix: Sequence[str], compared: str | None, axes: Container[str] = (), *, retrieval_only: bool
) -> Iterator[dict[str, Any]]:
    """Yield every combination of matrix values and settings for a config that has these axes in its own
    matrix; raises UsageError."""
    from fathoms.experiment.settings import named_settings
    from fathoms.runs.metadata import SETTING

    if compared is not None and retrieval_only:
        raise UsageError("--settings compares answers, and --retrieval-only asks for none: use one of them")
    names = named_settings(compared.split(",")) if compared is not None else (None,)
    for cell in combinations(matrix, axes):
        for name in names:
            yield cell if name is None else {**cell, SETTING: name}


def _with_prompts(
    prompts: str | None, matrix: Sequence[str], settings: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the matrix and the settings with those of a set of prompts; raises UsageError for an unknown
    set."""
    from fathoms.pipeline.prompt import PARTS, axes_of_set

    if prompts is None:
        return [*matrix], [*settings]
    return [*matrix, *axes_of_set(prompts)], [f"prompt.template={PARTS}", *settings]


def combinations(matrix: Sequence[str], names: Container[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield every combination of matrix values, as a dict from config key to value.

    `a=1,2` and `b=x,y` give four combinations; an empty matrix gives a single, empty one. Values are parsed
    as YAML, so `[1, 2]` is one value; those of the keys in `names` are names and stay text, as in `3,yes`.
    Raises UsageError for an argument that is not KEY=V1,V2.
    """
    import yaml

    axes = []
    for axis in matrix:
        key, _, values = axis.partition("=")
        found: list[Any]
        try:
            found = _names(values) if key in names else yaml.safe_load(f"[{values}]")
        except yaml.YAMLError as error:
            raise UsageError(f"--matrix {axis}: expected KEY=V1,V2") from error
        if not key or not found:
            raise UsageError(f"--matrix {axis}: expected KEY=V1,V2")
        axes.append([(key, value) for value in found])
    for cell in itertools.product(*axes):
        yield dict(cell)


def _names(values: str) -> list[str]:
    """Split names at commas; empty ones are left out."""
    return [name.strip() for name in values.split(",") if name.strip()]


def _run(
    jobs: Sequence[Job],
    selection: Selection,
    cache: Cache,
    options: RunOptions,
    budget: Budget,
    stages: Sequence[str],
) -> list[Outcome]:
    """Run all jobs, and show the progress. Several jobs form a sweep."""
    from fathoms.runner import runner

    for job in jobs:
        questions = console.amount(len(job.corpus.questions), "question")
        console.note(f"{job.experiment.name}: {questions}, data set {job.corpus.name}")
    for note in dict.fromkeys(filter(None, map(_deeper, jobs))):
        console.note(note)
    with progress.bars(stages) as bars:
        return runner.run(
            jobs,
            out=options.out,
            cache=cache,
            selection=selection,
            workers=options.workers,
            repeats=options.repeats,
            budget=budget,
            sweep=runner.new_sweep() if len(jobs) > 1 else None,
            reuse_replies=options.reuse_replies,
            progress=bars.stage,
            on_tally=bars.tally,
            on_stop=_stopping,
        )


def _stages_of(jobs: Sequence[Job], *, scored: bool) -> list[str]:
    """The stages of all jobs together, in order, those of scoring only if answers are `scored`."""
    from fathoms.runner.plan import stage_names

    most = max((stage_names(job.experiment) for job in jobs), key=len)
    found = dict.fromkeys([*most, *(name for job in jobs for name in stage_names(job.experiment))])
    return [name for name in found if scored or name not in ("judge", "score")]


def _deeper(job: Job) -> str | None:
    """Say that a job searches for more chunks than its retriever is configured to return, if it does."""
    from fathoms.experiment import SearchExperiment

    experiment = job.experiment
    top_k = getattr(getattr(experiment, "retrieve", None), "top_k", None)
    if not isinstance(experiment, SearchExperiment) or top_k is None or experiment.depth.k <= top_k:
        return None
    found = "documents" if experiment.depth.documents else "pages"
    k = experiment.depth.k
    return (
        f"note: the metrics go to k = {k}: each question is searched for until {k} different {found} are"
        f" found, instead of {top_k} chunks (retrieve.top_k)"
    )


def _stopping() -> None:
    """Tell the user that a signal to stop was received."""
    console.note("stopping: waiting for the questions in flight; interrupt again to stop at once")


def _resume(
    references: Sequence[Path], cache: Cache, options: RunOptions, budget: Budget, *, trust: bool
) -> Outcome:
    """Resume one run, and show the progress."""
    from fathoms.experiment.reopening import reopen
    from fathoms.runner import runner
    from fathoms.runs.records import flaws_sentence
    from fathoms.runs.run import Run
    from fathoms.runs.writing import trust_run

    if len(references) > 1:
        raise UsageError("--resume takes one run")
    run = Run.open(str(references[0]) if references else "latest", options.out)
    if trust:
        trust_run(run)
    found = reopen(run)
    total = len(found.questions) * found.repeats
    if found.flaws:
        console.complain(f"{found.run.path}: {flaws_sentence(found.flaws)}")
    still = "were not searched for yet" if found.retrieval_only else "have no answer yet"
    console.note(f"{found.run.id}: {len(found.missing)} of {console.amount(total, 'question')} {still}")
    with progress.bars() as bars:
        return runner.resume(
            found,
            cache=cache,
            workers=options.workers,
            budget=budget,
            progress=bars.stage,
            on_tally=bars.tally,
            on_stop=_stopping,
        )


def _scored(outcomes: Sequence[Outcome], budget: Budget, stages: Sequence[str] = ()) -> list[Run]:
    """Score the runs that have answers, and return them. Judges may spend what answering has left of the
    budget of the command."""
    from fathoms.judges.of_run import Judging
    from fathoms.scoring import score_run
    from fathoms.scoring.measures import read_measures

    found = [outcome.run for outcome in outcomes if outcome.done]
    left = None if budget.max_cost is None else budget.max_cost - budget.spent.cost
    for run in found:
        with progress.bars(stages) as bars, cluster(read_measures(run.manifest).execution) as executor:
            judging = Judging(max_cost=left, on_done=partial(bars.stage, "judge"), on_forecast=announce)
            show_progress = partial(bars.stage, "score")
            summary = score_run(run, judging=judging, on_done=show_progress, executor=executor)
        results.warn(run, summary)
        if summary.judging and left is not None:
            left -= summary.judging.cost or 0.0
    return found


def _verdict(
    outcome: Outcome, allowed: Callable[[int], float], *, partial_is_ok: bool, scored: bool
) -> Verdict:
    """The verdict on how a run ended. Answers that a judge did not judge as a whole are allowed as failed
    ones are."""
    from fathoms.runs.run import read_manifest, read_summary

    if outcome.stopped:
        return "STOPPED" if outcome.over_budget else "INTERRUPTED"
    if outcome.errors > allowed(outcome.requested):
        return "FAILED"
    summary = read_summary(outcome.run.path) if scored else None
    if summary is not None and (judging := summary.judging) is not None:
        if judging.over_budget:
            return "STOPPED"
        if judging.unjudged > allowed(outcome.requested):
            return "PARTIAL"
    return "PARTIAL" if not partial_is_ok and read_manifest(outcome.run.path).data.is_partial else "OK"


def _code(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]) -> int:
    """The exit code of all runs together. Prints how to resume those that were stopped, and why one is
    partial; what a judge did not say is among the warnings of scoring."""
    from fathoms.runs.run import read_manifest

    for outcome, verdict in zip(outcomes, verdicts, strict=True):
        if outcome.stopped:
            why = "stopped by its budget" if outcome.over_budget else "stopped"
            questions = console.amount(outcome.requested, "question")
            done = f"{why}: {outcome.done} of {questions} are in {outcome.run.path}"
            console.complain(f"{done}; continue with: fathoms run --resume {outcome.run.path}")
        elif verdict == "PARTIAL" and read_manifest(outcome.run.path).data.is_partial:
            console.complain(
                f"{outcome.run.path}: not all questions were asked, because documents are missing; --partial"
                " accepts that"
            )
    return next((code for verdict, code in _CODES.items() if verdict in verdicts), ExitCode.OK)
