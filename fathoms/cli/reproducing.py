"""`reproduce`: a published table beside what comes out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console
from fathoms.cli.caching import opened
from fathoms.cli.options import RUNS, Json, Out
from fathoms.errors import UsageError

if TYPE_CHECKING:
    from fathoms.asking import Outcome
    from fathoms.reproducing import Cell, Comparison, Figures, RowCells, Status, Table

MARKS: dict[Status, str] = {"same": "", "documented": "*", "differs": "!", "not compared": ""}
COUNTED: dict[Status, str] = {"same": "the same", "documented": "differ as known", "differs": "differ"}
SHORT = {"correctness": "corr.", "hallucination": "hall."}


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table's name, or its YAML file.", show_default=False)
    ],
    results: Annotated[
        Path | None, typer.Option("--results", help="The folder of the released result files.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Run the pipelines too.")] = False,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="Run only this row's pipeline (repeatable).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most N questions a pipeline that is run.")
    ] = None,
    configs: Annotated[
        Path, typer.Option("--configs", help="The folder of the table's configurations.")
    ] = Path("configs"),
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Print a published table beside ours.

    Cell by cell, from the result files that its authors released, or from running its pipelines.
    """
    from fathoms.metrics import Scoring
    from fathoms.reproducing import compare, find_results, load_table, released_figures

    if results is None and not live:
        raise UsageError("reproduce needs --results DIR, or --live to run the pipelines")
    table = load_table(name)
    figures: dict[str, Figures] = {}
    if results is not None:
        found, strays = find_results(table, results)
        for stray in strays:
            console.complain(stray)
        figures = released_figures(table, found, Scoring())
    comparison = compare(table, figures)
    ran, outcomes = _live(table, tuple(row or ()), configs, out, limit) if live else ({}, [])
    if as_json:
        console.show_json(_as_json(name, table, comparison, ran))
    else:
        _print(table, comparison, ran)
    if any(outcome.stopped for outcome in outcomes):
        return 130
    failed = any(outcome.errors for outcome in outcomes)
    return 1 if failed or (results is not None and not comparison.reproduced) else 0


def _live(
    table: Table, rows: tuple[str, ...], configs: Path, out: Path, limit: int | None
) -> tuple[dict[str, Figures], list[Outcome]]:
    """Run the pipelines, with their progress."""
    from fathoms.reproducing import run_rows
    from fathoms.runner import Selection

    chosen = table.select(rows)
    with opened() as cache, console.bars() as bars:
        return run_rows(
            table,
            chosen,
            configs,
            out=out,
            cache=cache,
            selection=Selection(limit),
            progress=bars.stage,
            on_tally=bars.tally,
            on_stop=lambda: console.note(
                "stopping: what is in flight is waited for; once more stops at once"
            ),
        )


def _print(table: Table, comparison: Comparison, ran: dict[str, Figures]) -> None:
    """The table for people: a line a metric, each cell as printed and as it comes out here."""
    lines = []
    for row in comparison.rows:
        lines += _lines(table, row, ran.get(row.row))
    console.say(f"{table.table}, {table.paper}")
    console.say("each cell: as printed there, as it comes out here; 'ours' is by our abstention classifier")
    console.show_table(("row", "", *table.columns), lines)
    for cell in [*comparison.cells("documented"), *comparison.cells("differs")]:
        console.say(_sentence(cell))
    compared = sum(row.compared for row in comparison.rows)
    counts = ", ".join(f"{len(comparison.cells(status))} {words}" for status, words in COUNTED.items())
    console.say(f"{compared} of {len(comparison.rows)} rows compared; of their cells {counts}")


def _lines(table: Table, row: RowCells, ran: Figures | None) -> list[tuple[str, ...]]:
    """One row: correctness, hallucination, and our classifier's; what was run just now below each."""
    lines: list[tuple[str, ...]] = []
    for metric in table.compare:
        cells = [cell for cell in row.cells if cell.metric == metric]
        lines.append(("" if lines else row.row, SHORT[metric], *map(_cell, cells)))
        if ran is not None:
            lines.append(("", f"{SHORT[metric]} live", *_figures(table, ran.metrics[metric])))
    if row.ours:
        lines.append(("", "ours", *map(_short, row.ours.values())))
    if ran is not None:
        lines.append(("", "ours live", *_figures(table, ran.ours)))
    return lines


def _figures(table: Table, figures: Mapping[str, float | None]) -> list[str]:
    """Figures in the order of the columns."""
    return [_short(table.cell_text(figures[column])) for column in table.columns]


def _cell(cell: Cell) -> str:
    """`.71 .72*`."""
    return f"{_short(cell.paper)} {_short(cell.ours or '-')}{MARKS[cell.status]}"


def _short(text: str) -> str:
    """A figure without the 0 before its point, as there are many on a line."""
    return text.removeprefix("0") if text.startswith("0.") else text


def _sentence(cell: Cell) -> str:
    """A difference in words."""
    place = f"{cell.row}, {cell.metric}, {cell.column}: printed {cell.paper}, ours {cell.ours}"
    return f"{place} (known: {cell.why})" if cell.why else f"{place}: DIFFERS"


def _as_json(name: str, table: Table, comparison: Comparison, ran: dict[str, Figures]) -> dict[str, Any]:
    """The same for programs; the figures that were run live are not rounded."""
    return {
        "table": name,
        "paper": table.paper,
        "rows": [
            {
                "row": row.row,
                "compared": row.compared,
                "cells": [asdict(cell) for cell in row.cells],
                "our_classifier": row.ours,
                "live": asdict(ran[row.row]) if row.row in ran else None,
            }
            for row in comparison.rows
        ],
        "compared": sum(row.compared for row in comparison.rows),
        "of": len(comparison.rows),
        "differs": [asdict(cell) for cell in comparison.cells("differs")],
        "reproduced": comparison.reproduced,
    }
