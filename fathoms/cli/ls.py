"""`fathoms ls`: list the runs in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fathoms.cli import console
from fathoms.cli.options import RUNS, Json, Out
from fathoms.errors import UsageError
from fathoms.text.amounts import duration, figure


def ls(
    sweep_id: Annotated[
        str | None, typer.Argument(help="The id of the sweep to list with --sweep; by default the latest.")
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="List the runs of one sweep, with the settings in which they differ."),
    ] = False,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """List the runs, oldest first.

    Each is listed by the name that other commands know it by: NAME is its newest run, NAME~1 the one before.
    With --json, it has its id.
    """
    from fathoms.runs.order import creation_time, in_order, references

    if out != RUNS and not out.is_dir():
        raise UsageError(f"{out} is not a folder")
    if sweep_id is not None and not sweep:
        raise UsageError(f"'{sweep_id}': ls takes the id of a sweep only with --sweep")
    rows = [_row(run) for run in in_order(out)]
    if sweep:
        rows = _of_sweep(rows, sweep_id)
    if as_json:
        console.show_json(rows)
        return 0
    if sweep:
        console.say(f"sweep {rows[0]['sweep']}")
        console.show_table(*_grid(rows))
        return 0
    names = references([row["run"] for row in rows])
    for row, name in zip(rows, names, strict=True):
        row["n"] = row["n"] or row["searched"] or row["n"]  # questions without answers have no correctness
        row["run"], row["made"] = name, creation_time(row["run"])
    heads = {"run": "run", "made": "made", **_FIGURES}
    if len({row["model"] for row in rows}) > 1:  # which has room at 80 columns beside shorter heads
        heads |= {"correctness": "correct", "hallucination": "halluc.", "model": "model"}
        if not any(row["errors"] for row in rows):
            del heads["errors"]
    console.show_table(list(heads.values()), [[_cell(key, row[key]) for key in heads] for row in rows])
    return 0


_FIGURES = {
    **{"correctness": "correctness", "hallucination": "hallucination", "n": "n"},
    **{"errors": "failed", "cost": "cost", "seconds": "time"},
}
"""The figures of a run in a table, with their heads."""


def _of_sweep(rows: Sequence[dict[str, Any]], wanted: str | None) -> list[dict[str, Any]]:
    """The rows of one sweep, by default of the latest. Raises UsageError for an unknown sweep."""
    from fathoms.errors import suggest

    known = list(dict.fromkeys(row["sweep"] for row in rows if row["sweep"]))
    if not known:
        raise UsageError("there are no sweeps yet: run several configs, or one with --matrix")
    name = known[-1] if wanted in (None, "latest") else wanted
    found = [row for row in rows if row["sweep"] == name]
    if not found:
        raise UsageError(f"no sweep '{wanted}'{suggest(str(wanted), known)}")
    return found


def _grid(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The table of a sweep: first a column per setting in which the runs differ, then their figures."""
    axes = list(dict.fromkeys(key for row in rows for key in row["cell"]))
    axes = [key for key in axes if len({str(row["cell"].get(key)) for row in rows}) > 1] or axes[:1]
    heads = _FIGURES
    if all(row["retrieval_only"] for row in rows):
        spent = {key: _FIGURES[key] for key in ("errors", "cost", "seconds")}
        heads = {"recall@10": "recall@10", "searched": "searched", **spent}
    cells = [
        [*(str(row["cell"].get(a, "-")) for a in axes), *(_cell(k, row[k]) for k in heads)] for row in rows
    ]
    return [*axes, *heads.values()], cells


def _row(run: Path) -> dict[str, Any]:
    """The row of one run, as in the JSON output; a damaged run is reported, and gets a row with its id."""
    from fathoms.runs.listing import listed

    row, flaw = listed(run)
    if flaw:
        console.complain(flaw)
    return row


def _cell(key: str, value: Any) -> str:
    """Format one cell of the table."""
    from fathoms.text.amounts import dollars

    if value is None:
        return "-"
    if key in ("cost", "seconds"):
        return dollars(value) if key == "cost" else duration(value)
    return figure(value) if isinstance(value, float) else str(value)
