"""Shows a published table beside our reproduction of it on the terminal; the caller prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from fathoms.errors import amount
from fathoms.report.grid import Grid
from fathoms.report.terminal import WIDTH, note, with_blank_lines
from fathoms.report.text import abbreviate, plain, shorten
from fathoms.text.amounts import percent

if TYPE_CHECKING:
    from fathoms.extras.papers.agreement import Cells
    from fathoms.extras.papers.beside import Cell, Comparison, RowCells, Status
    from fathoms.extras.papers.figures import Figures
    from fathoms.extras.papers.tables import PrintedTable
    from fathoms.metrics.score_records import Scoring
    from fathoms.stats.ranking import Coefficient, RankAgreement

SYMBOLS: dict[Status, str] = {"same": "", "documented": "*", "differs": "!", "not compared": ""}
COUNTED: dict[Status, str] = {
    "same": "the same",
    "documented": "differ for a known reason",
    "differs": "differ",
}
SHORT = {"correctness": "corr.", "hallucination": "hall.", "abstention": "abst."}
COLUMN = 9
KEY = "each cell: the printed figure, the one computed here"
OURS = "; ours: hallucination by a classifier, see below"

Live = Mapping[str, "Figures"]


def reproduced_panel(table: PrintedTable[Any], comparison: Comparison, ran: Live) -> list[RenderableType]:
    """Build the table with a line per metric; each cell shows the printed value and the reproduced value."""
    headers = abbreviate(list(table.columns), COLUMN)
    shown = Grid("row", "", *headers)
    names = [plain(row.row) for row in comparison.rows]
    for row, name in zip(comparison.rows, names, strict=True):
        lines = list(row_lines(table, row, ran.get(row.row)))
        shown.add_row(Text(name), *("\n".join(cells) for cells in zip(*lines, strict=True)))
    pairs = zip(headers, table.columns, strict=True)
    short = [f"{header} = {plain(column)}" for header, column in pairs if header != column]
    return [
        Text(shorten(f"{table.table}, {table.paper}", WIDTH), style="bold"),
        note(KEY + (OURS if any(row.ours for row in comparison.rows) else "")),
        *map(note, ["; ".join(short)] if short else []),
        with_blank_lines(shown),
    ]


def agreement_panel(cells: Cells) -> list[RenderableType]:
    """Build the table with the interval of each cell of a table of agreement, and the other coefficients."""
    shown = Grid("cell", "tau-b", "Pearson", "Spearman")
    for place, found in cells.items():
        shown.add_row(
            plain(" ".join(place)),
            *map(_with_interval, (found.tau, found.pearson, found.spearman)),
        )
    rests = dict.fromkeys(
        f"{amount(one.topics, 'topic')} and {amount(one.pairs, 'answer')}" for one in cells.values()
    )
    return [
        Text("The coefficients behind the cells, with 95 % intervals", style="bold"),
        note(
            f"{', '.join(rests)}: each is the mean over topics of the coefficient among the systems of a"
            " topic, which counts 0 where it does not exist; --json also has those over all answers"
        ),
        with_blank_lines(shown),
    ]


def _with_interval(found: Coefficient) -> str:
    """Format a coefficient and its interval in hundredths, as the paper prints them."""
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{100 * found.value:.1f}"
    return f"{100 * found.value:.1f} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def reproduced_lines(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for every difference, and one that sums up how much was compared."""
    for cell in [*comparison.cells("documented"), *comparison.cells("differs")]:
        yield sentence(cell)
    compared = sum(row.compared for row in comparison.rows)
    counts = ", ".join(f"{len(comparison.cells(status))} {words}" for status, words in COUNTED.items())
    yield f"{compared} of {len(comparison.rows)} rows compared; of their cells, {counts}"


def contradictions(table: PrintedTable[Any]) -> Iterator[str]:
    """Yield a sentence for each place where the paper's text gives other figures than its table."""
    for one in table.contradictions:
        yield f"the paper contradicts itself: {one.where} says {one.text}, but the table has {one.table}"


def flags_lines(figures: Live, scoring: Scoring) -> Iterator[str]:
    """Yield by what `ours` is, and how many of the released flags it gives; nothing without such flags."""
    found = flags_json(figures, scoring)
    if not found["of"]:
        return
    exemplars = found["exemplars"]
    rule = "our abstention classifier"
    if exemplars:
        rule = f"the paper's rule with {exemplars} and the embedder '{found['embedder']}'"
    yield (
        f"ours: {rule} reproduces {percent(found['same'] / found['of'])} of the {found['of']} released flags"
        " of hallucination"
        + ("" if exemplars else "; the released exemplars ('fathoms data pull fathoms-rag') are not here")
    )


def flags_json(figures: Live, scoring: Scoring) -> dict[str, Any]:
    """Return of how many released flags how many are given by `ours`, and the file of its exemplars."""
    exemplars = scoring.abstention.exemplars
    return {
        "same": sum(one.same_flags for one in figures.values()),
        "of": sum(one.flags for one in figures.values()),
        "exemplars": str(exemplars) if exemplars else None,
        "embedder": scoring.abstention.embed.kind if exemplars and scoring.abstention.embed else None,
    }


def row_lines(table: PrintedTable[Any], row: RowCells, ran: Figures | None) -> Iterator[list[str]]:
    """Yield the lines of one row: one per metric, one for our abstention classifier, and, below each, the
    values of a live run."""
    for metric in dict.fromkeys(cell.metric for cell in row.cells):
        cells = [cell for cell in row.cells if cell.metric == metric]
        yield [SHORT.get(metric, metric), *map(cell_text, cells)]
        if ran is not None and metric in ran.metrics:
            yield [f"{SHORT.get(metric, metric)} live", *in_columns(table, ran.metrics[metric])]
    if row.ours:
        yield ["ours", *map(short_text, row.ours.values())]
    if ran is not None and ran.ours:
        yield ["ours live", *in_columns(table, ran.ours)]


def in_columns(table: PrintedTable[Any], figures: Mapping[str, float | None]) -> list[str]:
    """Format values in the order of the columns."""
    return [short_text(table.text(figures[column])) for column in table.columns]


def cell_text(cell: Cell) -> str:
    """Format the printed and the reproduced value with the mark of their status: `.71 .72*`."""
    return f"{short_text(cell.paper)} {short_text(cell.ours or '-')}{SYMBOLS[cell.status]}"


def short_text(text: str) -> str:
    """Drop the zero before the decimal point of a share with two digits, to keep the lines short."""
    return text.removeprefix("0") if text.startswith("0.") and len(text) > len("0.0") else text


def sentence(cell: Cell) -> str:
    """Describe one cell that differs from the paper, with the known reason if there is one."""
    place = f"{cell.row}, {cell.metric}, {cell.column}: printed {cell.paper}, ours {cell.ours}"
    return plain(f"{place} (known: {cell.why})" if cell.why else f"{place}: DIFFERS")


def reproduced_json(
    name: str, table: PrintedTable[Any], comparison: Comparison, ran: Live, cells: Cells | None = None
) -> dict[str, Any]:
    """Return the same comparison as JSON data; the values of live runs are not rounded.

    `cells` are the coefficients behind the cells of a table of agreement, in [-1, 1].
    """
    agreement = [
        {"row": row, "metric": metric, "column": column} | _coefficients(found)
        for (row, metric, column), found in (cells or {}).items()
    ]
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
        "contradictions": [one.model_dump() for one in table.contradictions],
    } | ({"agreement": agreement} if cells is not None else {})


def _coefficients(found: RankAgreement) -> dict[str, Any]:
    """Return the coefficients of one cell with their intervals, and what they rest on."""
    return {key: one if isinstance(one, int) else one._asdict() for key, one in found._asdict().items()}
