"""A printed table beside our figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fathoms.reproducing.figures import Figures
from fathoms.reproducing.tables import Metric, Table, TableRow

Status = Literal["same", "documented", "differs", "not compared"]


@dataclass(frozen=True)
class Cell:
    """One cell: as printed in the paper, as it comes out here (`None` without a result file), both with the
    table's digits; `why` says why a documented difference is one."""

    row: str
    metric: Metric
    column: str
    paper: str
    ours: str | None
    status: Status
    why: str | None = None


@dataclass(frozen=True)
class RowCells:
    """One row; `ours` is the hallucination rate by our own classifier, empty without a result file."""

    row: str
    cells: tuple[Cell, ...]
    ours: dict[str, str]

    @property
    def compared(self) -> bool:
        """Whether there was anything to compare it with."""
        return any(cell.ours is not None for cell in self.cells)


@dataclass(frozen=True)
class Comparison:
    """The whole table."""

    rows: tuple[RowCells, ...]

    def cells(self, status: Status) -> list[Cell]:
        """The cells of which this holds."""
        return [cell for row in self.rows for cell in row.cells if cell.status == status]

    @property
    def reproduced(self) -> bool:
        """Whether something was compared, and nothing differs that is not documented."""
        return any(row.compared for row in self.rows) and not self.cells("differs")


def compare(table: Table, figures: Mapping[str, Figures]) -> Comparison:
    """Every cell of the table beside the figures that there are, by row."""
    return Comparison(tuple(_row(table, row, figures.get(row.row)) for row in table.rows))


def _row(table: Table, row: TableRow, figures: Figures | None) -> RowCells:
    """One row."""
    ours = {} if figures is None else {c: table.cell_text(value) for c, value in figures.ours.items()}
    return RowCells(row.row, tuple(_cells(table, row, figures)), ours)


def _cells(table: Table, row: TableRow, figures: Figures | None) -> Iterator[Cell]:
    """The cells of one row."""
    for metric, printed in row.printed.items():
        for column, value in zip(table.columns, printed, strict=True):
            paper = table.cell_text(value)
            if figures is None:
                yield Cell(row.row, metric, column, paper, None, "not compared")
                continue
            ours = table.cell_text(figures.metrics[metric][column])
            known = table.difference(row.row, metric, column)
            if ours == paper:
                yield Cell(row.row, metric, column, paper, ours, "same")
            elif known is not None and ours == table.cell_text(known.ours):
                yield Cell(row.row, metric, column, paper, ours, "documented", known.why)
            else:
                yield Cell(row.row, metric, column, paper, ours, "differs")
