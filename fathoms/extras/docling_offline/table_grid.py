"""Reads the structure of a table (rows, columns, spanning cells) from the positions of its words and rules.

Columns are separated by white space that runs down through the body. Rows are the lines of the body, joined
where the text of a cell wraps. The head is what is above the first inner rule. A heading spans the columns
that the short rule below it covers, or those over whose common middle it is centred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fathoms.extras.docling_offline.boxes import Box, union
from fathoms.extras.docling_offline.table_columns import Columns, Gap, find_columns
from fathoms.extras.docling_offline.table_head import head_rows
from fathoms.extras.docling_offline.table_lines import Rules, Run, Word, lines
from fathoms.extras.docling_offline.table_rows import Part, Row, body_rows, place

_HYPHEN = re.compile(r"(?<=[a-z])- (?=[a-z])")
BODY_SPANNING, SPANNING = 0.15, 0.3
"""The share of lines that may cross several columns: in the body below the rule of the head, and in all lines
where the head is not known."""


@dataclass(frozen=True)
class Cell:
    """A cell with text; `row` and `column` are the first ones that it covers, counted from 0."""

    row: int
    column: int
    text: str
    box: Box
    rows: int = 1
    columns: int = 1
    heading: bool = False
    """Whether the cell is a heading of columns."""
    label: bool = False
    """Whether the cell is the label of a row."""


@dataclass(frozen=True)
class Grid:
    """A table of `rows` by `columns`; positions that no cell covers are empty."""

    rows: int
    columns: int
    cells: tuple[Cell, ...]

    def covering(self) -> dict[tuple[int, int], Cell]:
        """Return the cell at each position (row, column) that is covered by one."""
        return {
            (row, column): cell
            for cell in self.cells
            for row in range(cell.row, cell.row + cell.rows)
            for column in range(cell.column, cell.column + cell.columns)
        }

    def otsl(self) -> list[str]:
        """Return the grid as OTSL tokens (Lysak et al., "Optimized Table Tokenization", 2023).

        `fcel` is a cell with text, `ecel` an empty one, `nl` the end of a row. `lcel`, `ucel` and `xcel` are
        positions that belong to the cell on their left, above them, or both.
        """
        covering = self.covering()
        tokens: list[str] = []
        for row in range(self.rows):
            tokens += [_token(covering.get((row, column)), row, column) for column in range(self.columns)]
            tokens.append("nl")
        return tokens


def _token(cell: Cell | None, row: int, column: int) -> str:
    if cell is None:
        return "ecel"
    if row > cell.row:
        return "xcel" if column > cell.column else "ucel"
    return "lcel" if column > cell.column else "fcel"


def read_table(words: Iterable[Word], rules: Rules | None = None) -> Grid:
    """Read the grid of a table from its words and rules; every word is in exactly one cell."""
    rules = rules or Rules()
    rows = lines(words, rules.vertical)
    if not rows:
        return Grid(0, 0, ())
    area = union(line.box for line in rows)
    split = _head_length(rows, rules, area)
    columns = _columns(rows, split, rules)
    length = split
    if not split:  # no rule ends the head: it has a second line if the first has spanning headings
        spans = any(part.first < part.last for part in place(rows[0], columns, may_span=True))
        length = min(len(rows), 2 if spans else 1)
    ink = _ink(rows[length:] or rows, columns)
    head = head_rows(rows[:length], columns, rules, ink)
    body = body_rows([place(line, columns, may_span=False) for line in rows[length:]], columns, rules)
    cells = [
        *(cell for row, parts in enumerate(head) for cell in _cells(parts, row, heading=True)),
        *_with_labels(body, len(head), rules, ink),
    ]
    return Grid(len(head) + len(body), len(columns), tuple(cells))


def _head_length(rows: Sequence[Run], rules: Rules, area: Box) -> int:
    """Return the number of lines above the first horizontal rule with text on both sides; 0 without one.

    Rules across at least 90% of the table are preferred to shorter ones (70%), which may underline only some
    of the headings.
    """
    for share in (0.9, 0.7):
        for height in rules.heights(area.left, area.right, share):
            above = sum(line.box.middle < height for line in rows)
            if 0 < above < len(rows):
                return above
    return 0


def _columns(rows: Sequence[Run], split: int, rules: Rules) -> Columns:
    """Find the columns from the body, or from all lines if there is no head or the body is too short."""
    everywhere = find_columns(rows, rules, SPANNING)
    if not split:
        return everywhere
    below = find_columns(rows[split:], rules, BODY_SPANNING)
    return everywhere if len(rows) - split < 3 and len(everywhere) > len(below) else below


def _ink(rows: Sequence[Run], columns: Columns) -> list[Gap]:
    """Return the horizontal range of the text of each column, a single point for a column without text."""
    reach: dict[int, list[float]] = {column: [] for column in range(len(columns))}
    for part in (part for line in rows for part in place(line, columns, may_span=False)):
        if part.first == part.last:
            reach[part.first] += [part.run.box.left, part.run.box.right]
    middles = [
        columns.bounds[min(column, len(columns.bounds) - 1)] if columns.bounds else 0 for column in reach
    ]
    return [(min(xs), max(xs)) if xs else (x, x) for xs, x in zip(reach.values(), middles, strict=True)]


def _cells(row: Row, number: int, *, heading: bool) -> list[Cell]:
    """Return the cells of a row; parts that share a column form one cell."""
    groups: list[list[Part]] = []
    for part in sorted(row.parts, key=lambda part: part.first):
        if groups and part.first <= max(other.last for other in groups[-1]):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_cell(group, number, heading=heading) for group in groups]


def _cell(parts: Sequence[Part], number: int, *, heading: bool) -> Cell:
    """Join parts to one cell, whose text is read line by line."""
    first, last = min(part.first for part in parts), max(part.last for part in parts)
    reading = sorted(parts, key=lambda part: (part.run.box.middle, part.run.box.left))
    return Cell(
        row=number,
        column=first,
        text=_HYPHEN.sub("", " ".join(part.run.text for part in reading)),
        box=union(part.run.box for part in parts),
        columns=last - first + 1,
        heading=heading,
        label=not heading and first == last == 0,
    )


def _with_labels(body: Sequence[Row], above: int, rules: Rules, ink: Sequence[Gap]) -> Iterator[Cell]:
    """Yield the cells of the body; a row label alone between two rules spans the rows between them."""
    bands = _bands(body, rules, ink[0]) if len(ink) > 1 else []
    spans = {label: band for band in bands if (label := _lone_label(body, band)) is not None}
    for number, row in enumerate(body):
        for cell in _cells(row, above + number, heading=False):
            if cell.label and number in spans:
                band = spans[number]
                yield replace(cell, row=above + band.start, rows=len(band))
            else:
                yield cell


def _bands(body: Sequence[Row], rules: Rules, first: Gap) -> list[range]:
    """Return the groups of two rows or more between neighbouring rules through the first column."""
    heights = rules.heights(*first)
    starts = [
        number
        for number, (row, after) in enumerate(pairwise(body), start=1)
        if any(row.box.middle < height < after.box.middle for height in heights)
    ]
    return [range(a, b) for a, b in zip([0, *starts], [*starts, len(body)], strict=True) if b - a > 1]


def _lone_label(body: Sequence[Row], band: range) -> int | None:
    """Return the row of a band's only label, `None` if the label does not span the band. It spans the band if
    it is in the top row or at half height, and if every row has text in other columns."""
    labelled = [number for number in band if 0 in body[number].filled()]
    if len(labelled) != 1 or any(body[number].filled() <= {0} or body[number].spans() for number in band):
        return None
    label = next(part.run.box for part in body[labelled[0]].parts if part.first == 0)
    middle = (body[band[0]].box.top + body[band[-1]].box.bottom) / 2
    return labelled[0] if labelled[0] == band[0] or abs(label.middle - middle) < label.height else None
