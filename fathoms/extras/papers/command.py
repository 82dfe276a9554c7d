"""`fathoms reproduce`: compare a published table with the figures that fathoms computes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import RUNS, Json, Out
from fathoms.cli.run import MaxCost
from fathoms.errors import ExitCode, UsageError
from fathoms.extras.papers.printing import (
    preference_agreement,
    published_figures,
    quotes_figures,
    retrieval_figures,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathoms.extras.papers.figures import Figures
    from fathoms.extras.papers.tables import (
        AgreementTable,
        PreferenceTable,
        QuotesTable,
        RetrievalTable,
        Table,
        TableRow,
    )
    from fathoms.runner.active_run import Outcome


def _tables() -> Iterable[str]:
    """The names of the tables that come with fathoms, and of the tasks of MTEB."""
    from fathoms.extras.papers.mteb import PREFIX, TASKS
    from fathoms.extras.papers.tables import table_names

    return (*table_names(), *(f"{PREFIX}{task}" for task in TASKS))


Name = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="The name of a published table, or its YAML file; or vidore/TASK, a task of MTEB.",
        show_default=False,
        autocompletion=completion.offered(_tables),
    ),
]
Released = Annotated[
    list[Path] | None,
    typer.Option(
        "--results",
        metavar="PATH",
        help="The folder of the result files that the authors released (repeatable for FATHOMS-RAG); for"
        " vidore/TASK, MTEB's file.",
    ),
]
Run = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="With vidore/TASK or a table of retrievers, the run that is shown beside the published figures.",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
Within = Annotated[
    float | None,
    typer.Option(
        "--within",
        help="With --run, end with 1 if a figure differs by more than this (a share, such as 0.001).",
    ),
]
Row = Annotated[
    list[str] | None,
    typer.Option("--row", help="Only this row of the table, or subset of the task (repeatable)."),
]
Live = Annotated[bool, typer.Option("--live", help="Also run the pipelines of the table.")]
Configs = Annotated[Path, typer.Option("--configs", help="The folder of the pipelines' configs.")]
_NEEDS = "reproduce needs --results DIR, or --live to run the pipelines"
_NEEDS_RUN = (
    "a table of retrievers needs --run RUN, a run to show beside it, or, for MMDocIR, --results DIR with"
    " files of scores; it has no --live"
)
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="With --live, ask each pipeline at most this many questions."),
]


def reproduce(
    name: Name,
    released: Released = None,
    run: Run = None,
    within: Within = None,
    live: Live = False,
    row: Row = None,
    limit: Limit = None,
    configs: Configs = Path("configs"),
    max_cost: MaxCost = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Print a published table next to the figures that fathoms computes.

    The figures are computed from the result files that the authors released, or by running the pipelines.
    For `vidore/TASK`, the figures in a result file of MTEB stand beside the retrieval of a run.
    """
    from fathoms.extras.papers.beside import compare
    from fathoms.extras.papers.display import (
        contradictions,
        flags_json,
        flags_lines,
        reproduced_json,
        reproduced_lines,
        reproduced_panel,
    )
    from fathoms.extras.papers.released import find_results, released_figures, with_exemplars
    from fathoms.extras.papers.tables import RetrievalTable, Table, load_table
    from fathoms.metrics.score_records import Scoring

    results = released[0] if released else None
    table = None if name.startswith("vidore/") else load_table(name)
    if released and len(released) > 1 and not isinstance(table, Table):
        raise UsageError(f"{name} takes one --results, not {len(released)}")
    if table is None:
        if results is None or live:
            raise UsageError(
                f"{name} needs --results FILE, a result file of MTEB; run a pipeline on the task with"
                " 'fathoms run', and name its run by --run"
            )
        return published_figures(name, results, run, tuple(row or ()), within, out, as_json=as_json)
    if within is not None or (run is not None and not isinstance(table, RetrievalTable)):
        raise UsageError(
            "--within is for vidore/TASK, and --run for it and for tables of retrievers; --live runs the"
            " pipelines of a table"
        )
    if results is None and not live and run is None:
        raise UsageError(_NEEDS_RUN if isinstance(table, RetrievalTable) else _NEEDS)
    if not isinstance(table, Table):
        return _other_figures(name, table, results, run, tuple(row or ()), out, live=live, as_json=as_json)
    rows = table.select(tuple(row or ()))
    figures: dict[str, Figures] = {}
    scoring = Scoring()
    damaged: tuple[str, ...] = ()
    if released:
        found, strays, damaged = find_results(table, released)
        for message in (*strays, *damaged):
            console.complain(message)
        scoring = with_exemplars(released)
        figures = released_figures(table, found, scoring)
    comparison = compare(table, figures, rows)
    ran, outcomes = _live(table, rows, configs, out, limit, max_cost) if live else ({}, [])
    if as_json:
        shown = reproduced_json(name, table, comparison, ran)
        console.show_json({**shown, "flags": flags_json(figures, scoring)})
    else:
        console.show(*reproduced_panel(table, comparison, ran))
        for line in (*reproduced_lines(comparison), *flags_lines(figures, scoring), *contradictions(table)):
            console.say(line)
    failed = bool(damaged) or (results is not None and not comparison.reproduced)
    return _code(outcomes) or (ExitCode.FAILED if failed else ExitCode.OK)


def _other_figures(
    name: str,
    table: AgreementTable | PreferenceTable | QuotesTable | RetrievalTable,
    results: Path | None,
    run: str | None,
    chosen: tuple[str, ...],
    out: Path,
    *,
    live: bool,
    as_json: bool,
) -> int:
    """Print a table of another kind than scores of pipelines; raises UsageError where it cannot be compared
    with what is given."""
    from fathoms.extras.papers.tables import AgreementTable, PreferenceTable, RetrievalTable

    if isinstance(table, RetrievalTable):
        if live or (table.results == "run" and results is not None):
            raise UsageError(_NEEDS_RUN)
        return retrieval_figures(name, table, results, run, chosen, out, as_json=as_json)
    if live or results is None:
        raise UsageError(
            f"{name} rests on released judgements, which no pipeline gives: leave out --live"
            if isinstance(table, AgreementTable)
            else f"{name} is compared with released files (--results DIR): leave out --live"
        )
    if isinstance(table, AgreementTable):
        return _agreement(name, table, results, chosen, as_json=as_json)
    if isinstance(table, PreferenceTable):
        return preference_agreement(name, table, results, chosen, as_json=as_json)
    return quotes_figures(name, table, results, chosen, as_json=as_json)


def _agreement(
    name: str, table: AgreementTable, results: Path, chosen: tuple[str, ...], *, as_json: bool
) -> int:
    """Print a table of the agreement of people's rankings."""
    from fathoms.extras.papers.agreement import agreement_figures
    from fathoms.extras.papers.beside import compare
    from fathoms.extras.papers.display import (
        agreement_panel,
        reproduced_json,
        reproduced_lines,
        reproduced_panel,
    )

    rows = table.select(chosen)
    found = agreement_figures(table, results)
    for note in found.notes:
        console.complain(note)
    comparison = compare(table, found.figures, rows)
    shown = {row.row for row in rows}
    cells = {place: one for place, one in found.cells.items() if place[0] in shown}
    if as_json:
        console.show_json({**reproduced_json(name, table, comparison, {}, cells), "left_out": found.notes})
    else:
        console.show(*reproduced_panel(table, comparison, {}), *agreement_panel(cells))
        for line in reproduced_lines(comparison):
            console.say(line)
    return ExitCode.OK if comparison.reproduced else ExitCode.FAILED


def _code(outcomes: Sequence[Outcome]) -> int:
    """The exit code for the runs of `--live`."""
    if any(outcome.stopped and not outcome.over_budget for outcome in outcomes):
        return ExitCode.INTERRUPTED
    if any(outcome.stopped for outcome in outcomes):
        console.complain("stopped by its budget: the runs can be resumed with 'fathoms run --resume'")
        return ExitCode.OVER_BUDGET
    return ExitCode.FAILED if any(outcome.errors for outcome in outcomes) else ExitCode.OK


def _live(
    table: Table,
    rows: Sequence[TableRow],
    configs: Path,
    out: Path,
    limit: int | None,
    max_cost: float | None,
) -> tuple[dict[str, Figures], list[Outcome]]:
    """Run the pipelines of the rows, and show the progress."""
    from fathoms.extras.papers.live import run_rows
    from fathoms.runner.budget import Budget
    from fathoms.runner.runner import Selection

    if max_cost is not None and not max_cost >= 0:
        raise UsageError("--max-cost: expected a number of 0 or more")
    with opened() as cache, progress.bars() as bars:
        return run_rows(
            table,
            rows,
            configs,
            out=out,
            cache=cache,
            selection=Selection(limit),
            budget=Budget(max_cost),
            progress=bars.stage,
            on_tally=bars.tally,
            on_stop=lambda: console.note(
                "stopping: waiting for the questions in flight; interrupt again to stop at once"
            ),
        )
