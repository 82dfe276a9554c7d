"""`fathoms watch`: import, judge, compare and report, with one line at the end for a job's log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from fathoms import hooks
from fathoms.cli import console, progress, results
from fathoms.cli.options import RUNS, Out
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.extras.watch.config import WatchConfig
    from fathoms.extras.watch.failures import Group
    from fathoms.extras.watch.weeks import Check
    from fathoms.importers import Imported
    from fathoms.runs.run import Run

SHOWN = 10
"""The most groups of failures that are printed."""
WEEKS = 6
"""The most weeks that are printed, besides that of reference."""


def watch(
    config: Annotated[Path, typer.Argument(help="The YAML file of the job.", show_default=False)],
    out: Out = RUNS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many questions and calls there are, and the cost.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", help="Stop judging at this cost in US dollars; exit code 3."),
    ] = None,
) -> int:
    """Judge the newest traces of production, and compare them with a week of reference.

    Imports a sample of the traces as a run, has the judge of the file score it, and compares it by the
    sequential test with the reference, the oldest run of this name unless the file names one. Prints what
    judging will cost before it starts, the figures by route, groups of failures, and one line at the end.
    Ends with 100 if the week is worse.
    """
    from fathoms.extras.watch.config import read_config

    job = read_config(config)
    read = hooks.provided("traces")
    if read is None:
        raise UsageError("'fathoms watch' needs fathoms/extras/exchange, which reads traces: install it too")
    if not dry_run:  # which calls nothing, so that it needs neither a key nor weights
        job.judge.check()
        job.embed.check()
    file = job.newest(config.parent)
    how = (job.since, job.by, job.sample, job.seed, job.dedupe, job.redact)
    imported: Imported = read(file, *how)
    for warning in imported.warnings:
        console.note(f"note: {warning}")
    console.say(_forecast(job, imported))
    if dry_run:
        return ExitCode.OK
    earlier = _earlier(job, out)
    run, spent, over_budget = _scored(job, imported, file, out, max_cost)
    checks = _checks(job, run, earlier) if earlier else []
    found = _failures(job, run, earlier[:1])
    _show_groups(run, found)
    for one in checks:
        _show_routes(one)
    page = _page([*earlier[:1], run], out)
    worse = [one.metric for one in checks if one.alarm]
    verdict = f"WORSE ({', '.join(worse)})" if worse else "OK" if checks else "REFERENCE"
    new = sum(group.is_new for group in found)
    cost = "cost unknown" if spent is None else f"${spent:.2f}"
    console.say(
        f"{run.id}: {console.amount(len(imported.questions), 'question')} of"
        f" {sum(imported.population.values()) or len(imported.questions)}, {_figures(run, job)},"
        f" {console.amount(len(found), 'group')} of failures ({new} new), {cost}, {page}: {verdict}"
    )
    if over_budget:
        return ExitCode.OVER_BUDGET
    return ExitCode.GATE_FAILED if worse else ExitCode.OK


def _forecast(job: WatchConfig, imported: Imported) -> str:
    """Say what judging will cost, before it starts."""
    from fathoms.judges.of_run import forecast_calls
    from fathoms.metrics.metric import JudgedMetric
    from fathoms.pipeline.runnable import Judging
    from fathoms.runner.estimate import judging

    needing = [metric for metric in job.metrics if isinstance(metric, JudgedMetric)]
    models = list(job.judge.parts().values())
    whole = f"{console.amount(len(imported.records), 'answer')} to judge"
    if not models:
        return f"{whole}, by a judge that asks no model"
    stage = Judging(models[-1], lambda records, documents: forecast_calls(job.judge, needing, records))
    found = judging(stage, imported.records, {})
    cost = "for free" if found.cost == 0 else "at a cost that is not known"
    if found.cost:
        cost = f"for about ${found.cost:.2f}"
    calls = console.amount(found.requests, "call")
    return f"{whole}: about {calls} and {found.prompt_tokens} tokens of prompts, {cost}"


def _earlier(job: WatchConfig, out: Path) -> list[Run]:
    """Return the run of reference and the scored runs of the same name since, oldest first."""
    from fathoms.runs.finding import list_runs, oldest_first
    from fathoms.runs.order import run_name
    from fathoms.runs.run import Run

    same = (
        [run for run in list_runs(out) if run_name(run.id) == job.name and run.is_scored]
        if out.exists()
        else []
    )
    if job.reference is None:
        return same
    first = Run.open(job.reference, out)
    order = oldest_first([first, *(run for run in same if run.id != first.id)])
    return order[order.index(first) :]


def _scored(
    job: WatchConfig, imported: Imported, file: Path, out: Path, max_cost: float | None
) -> tuple[Run, float | None, bool]:
    """Store and score the answers; returns the run, what judging cost, and whether its limit ended it."""
    from dataclasses import replace

    from fathoms.importers import keep
    from fathoms.judges.of_run import Judging
    from fathoms.scoring import score_run

    run = keep(replace(imported, name=job.name), file.stem, out)
    limit = job.max_cost if max_cost is None else max_cost
    with progress.bars() as bars:
        how = Judging(job.judge, max_cost=limit, on_done=partial(bars.stage, "judge"))
        summary = score_run(run, (), job.metrics, how, partial(bars.stage, "score"))
    results.warn(run, summary)
    judging = summary.judging
    return run, judging.cost if judging else 0.0, bool(judging and judging.over_budget)


def _checks(job: WatchConfig, run: Run, earlier: Sequence[Run]) -> list[Check]:
    """Compare the week by each metric that has a value in it."""
    from fathoms.extras.watch.weeks import check

    known = run.summary.metrics
    names = [one.name for one in job.compared if (figures := known.get(one.name)) and figures.overall.n]
    found = [check(name, run, earlier, len(job.compared)) for name in names]
    for name in dict.fromkeys(name for one in found for name in one.skipped):
        console.note(f"note: {name} was judged in another way and is left out")
    return found


class _Failed(NamedTuple):
    """The questions of a run that went wrong and the texts of the others."""

    failed: list[tuple[str, str]]
    others: list[str]


def _sorted_out(job: WatchConfig, run: Run) -> _Failed:
    """Return which questions of a run went wrong: their call failed, or a metric of them is low."""
    from fathoms.compare.question_scores import read_scores
    from fathoms.extras.watch.weeks import goodness

    scores = read_scores(run)
    low = {
        name
        for metric in job.failing
        if metric in scores.metrics
        for name, value in goodness(scores, metric).items()
        if value < job.failed_below
    }
    found = _Failed([], [])
    for view in run.questions():
        question = view.question
        if question.id in low or any(repeat.error for repeat in view.repeats):
            found.failed.append((question.id, question.text))
        else:
            found.others.append(question.text)
    return found


def _failures(job: WatchConfig, run: Run, reference: Sequence[Run]) -> list[Group]:
    """Return the groups of failures of a week."""
    from fathoms.extras.watch.failures import groups

    ours = _sorted_out(job, run)
    before = [text for one in reference for _, text in _sorted_out(job, one).failed]
    return groups(ours.failed, before, ours.others, job.alike, job.embed.embed)


def _show_routes(check: Check) -> None:
    """Print the figures of a metric by route: those of the reference, and of the last weeks since."""
    columns = [0, *range(max(1, len(check.runs) - WEEKS), len(check.runs))]
    days = [f"{run[4:6]}-{run[6:8]}" if run[:8].isdigit() else run for run in check.runs]
    rows = [(name, *(_cell(values[at]) for at in columns)) for name, values in check.series.items()]
    console.show_table((check.metric, *(days[at] for at in columns)), rows)
    console.say(f"{check.metric}: p {_cell(check.p, 3)}, evidence {check.evidence:.3g}")


def _show_groups(run: Run, found: Sequence[Group]) -> None:
    """Print the groups of failures, new ones first."""
    for group in found[:SHOWN]:
        kind = "new failures" if group.is_new else "failures as before"
        shown = ", ".join(group.ids[:3]) + (", ..." if len(group.ids) > 3 else "")
        console.say(f"{kind}: {len(group.ids)} about {', '.join(group.words) or 'nothing in words'}: {shown}")
    if len(found) > SHOWN:
        console.say(f"{len(found) - SHOWN} more groups of failures")


def _cell(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def _figures(run: Run, job: WatchConfig) -> str:
    """Return the compared figures of a run."""
    known = run.summary.metrics
    return ", ".join(
        f"{one.name} {_cell(known[one.name].overall.value)}" for one in job.compared if one.name in known
    )


def _page(runs: Sequence[Run], out: Path) -> str:
    """Write the page of the week beside that of the reference; returns its path."""
    from fathoms.report.write import write_report

    return str(write_report(list({run.id: run for run in runs}.values()), out, html=True, plots=False)[0])
