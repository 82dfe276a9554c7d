"""Compare a printed table with the figures that fathoms computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fathoms.extras.papers.figures import Figures
from fathoms.extras.papers.tables import PrintedTable, Row

Status = Literal["same", "documented", "differs", "not compared"]
Partly = Mapping[tuple[str, str, str], str]
"""Why a figure rests on less than the printed one, by row, metric and column."""


@dataclass(frozen=True)
class Cell:
    """One cell of the comparison.

    `paper` is the printed figure and `ours` the computed one, both with the table's number of digits. `ours`
    is `None` if there are no scores for it. `why` explains a documented difference. Cells that are empty in
    the paper are not compared.
    """

    row: str
    metric: str
    column: str
    paper: str
    ours: str | None
    status: Status
    why: str | None = None


@dataclass(frozen=True)
class RowCells:
    """One row of the comparison; `ours` is the hallucination rate per column by the classifier of fathoms,
    empty if the row has no scores."""

    row: str
    cells: tuple[Cell, ...]
    ours: dict[str, str]

    @property
    def compared(self) -> bool:
        """Whether at least one cell of the row was compared."""
        return any(cell.status != "not compared" for cell in self.cells)


@dataclass(frozen=True)
class Comparison:
    """The comparison of a whole table."""

    rows: tuple[RowCells, ...]

    def cells(self, status: Status) -> list[Cell]:
        """Return the cells with this status."""
        return [cell for row in self.rows for cell in row.cells if cell.status == status]

    @property
    def reproduced(self) -> bool:
        """Whether at least one row was compared, and all differences are documented."""
        return any(row.compared for row in self.rows) and not self.cells("differs")


def compare(
    table: PrintedTable[Row],
    figures: Mapping[str, Figures],
    rows: Sequence[Row] | None = None,
    *,
    partly: Partly | None = None,
) -> Comparison:
    """Compare every cell of the table, or of some of its `rows`, with `figures`, keyed by row name.

    A difference of a figure that is `partly` like the printed one is known.
    """
    compared = []
    for row in rows or table.rows:
        found = figures.get(row.row)
        ours = {} if found is None else {c: table.text(value) for c, value in found.ours.items()}
        compared.append(RowCells(row.row, tuple(_cells(table, row, found, partly or {})), ours))
    return Comparison(tuple(compared))


def _cells(table: PrintedTable[Row], row: Row, figures: Figures | None, partly: Partly) -> Iterator[Cell]:
    """Compare the cells of one row."""
    for metric, printed in row.printed.items():
        ours = None if figures is None else figures.metrics.get(metric)
        for column, value in zip(table.columns, printed, strict=True):
            text = None if ours is None or column not in ours else table.text(ours[column], column)
            place = (row.row, metric, column)
            status, why = _status(table, place, value, text)
            if status == "differs" and place in partly:
                status, why = "documented", partly[place]
            yield Cell(row.row, metric, column, table.printed_text(value, column), text, status, why)


def _status(
    table: PrintedTable[Row], place: tuple[str, str, str], printed: float | None, ours: str | None
) -> tuple[Status, str | None]:
    """Return the status of a cell, and the reason for a documented difference."""
    if ours is None or printed is None:
        return "not compared", None
    if ours == table.printed_text(printed, place[2]):
        return "same", None
    known = table.difference(*place)
    if known is not None and ours == table.printed_text(known.ours, place[2]):
        return "documented", known.why
    return "differs", None
