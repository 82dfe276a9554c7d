"""`fathoms trends`: show the figures of one pipeline over its nights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Json, Out
from fathoms.errors import ExitCode, UsageError
from fathoms.text.amounts import measured, percent

if TYPE_CHECKING:
    from fathoms.report.trends import Flaky, Trend

Logs = Annotated[
    list[Path] | None,
    typer.Option("--log", help="A log of the nights (`--log-file`), for what the gate said (repeatable)."),
]


Name = Annotated[
    str,
    typer.Argument(help="The name of the pipeline, or one of its runs.", autocompletion=completion.run_names),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="The metric to show.",
        show_default="correctness",
        autocompletion=completion.metrics,
    ),
]
TheFlaky = Annotated[
    bool,
    typer.Option(
        "--flaky",
        help="List the questions that the same pipeline answers correctly in only some runs; with --log,"
        " runs for which the gate said FAIL do not count.",
    ),
]


def trends(
    name: Name = "latest",
    metric: Metric = None,
    last: Annotated[int, typer.Option("--last", min=1, help="Show so many runs, the newest.")] = 30,
    flaky: TheFlaky = False,
    log: Logs = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Show the figures of one pipeline over its nights, oldest first.

    Each run has its figure with the 95 % interval, its failed questions, retried calls and cost, what has
    changed since the run before (questions, documents, model, service, version of fathoms, settings), and,
    with --log, what the gate said. A figure after a change is not of the same kind as those before it.
    """
    from fathoms.report.trends import flaky as find_flaky
    from fathoms.report.trends import gate_verdicts, trend
    from fathoms.runs.finding import list_runs
    from fathoms.runs.order import references, run_name
    from fathoms.runs.run import Run

    wanted = run_name(Run.open(name, out).id)
    known = [run for run in list_runs(out) if run_name(run.id) == wanted]
    runs = known[-last:]
    if not runs:
        raise UsageError(f"{out} holds no run named '{wanted}'")
    verdicts = gate_verdicts(log or ())
    if flaky:
        return _show_flaky(find_flaky(wanted, runs, metric, verdicts), as_json)
    found = trend(wanted, runs, metric, verdicts)
    if as_json:
        console.show_json(found.as_json())
        return ExitCode.OK
    better = "higher" if found.direction == "higher" else "lower"
    console.say(f"{wanted}: {found.metric} ({better} is better)")
    ids = [run.id for run in known]
    _show_nights(found, dict(zip(ids, references(ids), strict=True)))
    for note in found.notes:
        console.note(f"note: {note}")
    return ExitCode.OK


def _show_nights(found: Trend, names: Mapping[str, str]) -> None:
    """Print the figures of nights, and below them what changed before each; `names` are those of the runs."""
    from fathoms.runs.order import creation_time
    from fathoms.text.amounts import bracket, dollars

    def known(value: object) -> str:
        return "-" if value is None else str(value)

    rows = [
        (
            names.get(night.run, "no run"),
            creation_time(night.run or re.sub("[-:]", "", night.created)),
            "-"
            if night.value is None
            else measured(night.value, found.unit) + bracket(night.bounds, found.unit),
            str(night.n),
            known(night.errors),
            known(night.retried),
            "-" if night.cost is None else dollars(night.cost),
            known(night.verdict),
        )
        for night in found.nights
    ]
    heads = ("run", "made", found.metric, "n", "failed", "retried", "cost", "gate")
    filled = [at for at in range(len(heads)) if any(row[at] != "-" for row in rows)]
    console.show_table([heads[at] for at in filled], [[row[at] for at in filled] for row in rows])
    said = [
        [*(f"{what}: {text}" for what, text in night.changes), *filter(None, [night.why])]
        for night in found.nights
    ]
    changed = [(*row[:2], "; ".join(each)) for row, each in zip(rows, said, strict=True) if each]
    if changed:
        console.say("")
        console.show_table(("run", "made", "changed since the run before"), changed)


def _show_flaky(found: Flaky, as_json: bool) -> int:
    """Print the questions that are right in some runs only."""
    if as_json:
        console.show_json(asdict(found))
        return ExitCode.OK
    over = f"{len(found.runs)} run{'s' * (len(found.runs) != 1)} of the same pipeline"
    some = f"{len(found.wavering)} of {found.questions} questions are right in some runs only"
    alarms = f", without {found.alarms} for which the gate said FAIL" if found.alarms else ""
    console.say(f"{found.name}: {some}, by {found.metric}, over {over}{alarms}")
    rows = [
        (each.question, each.category, str(each.right), str(each.wrong), _newest(each.now))
        for each in found.wavering
    ]
    if rows:
        console.show_table(("question", "category", "right", "wrong", "newest run"), rows)
    return ExitCode.OK


def _newest(share: float | None) -> str:
    """Say how the newest run answered a question."""
    return "-" if share is None else {0.0: "wrong", 1.0: "right"}.get(share, f"{percent(share)} right")
