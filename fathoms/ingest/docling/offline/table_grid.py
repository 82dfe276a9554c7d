"""The structure of a table, from its words and rules alone: rows, columns, cells that span several.

Pure geometry. Columns are the white that goes down through the body; rows are its lines, joined where the
text of a cell wraps; what stands above the first inner rule is the head, and a heading over several columns
spans those that the short rule beneath it covers, or those over whose middle it is centred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fathoms.ingest.docling.offline.boxes import Box, union
from fathoms.ingest.docling.offline.table_columns import Columns, Gap, find_columns
from fathoms.ingest.docling.offline.table_head import head_rows
from fathoms.ingest.docling.offline.table_lines import Rules, Run, Word, lines
from fathoms.ingest.docling.offline.table_rows import Part, Row, body_rows, place

_HYPHEN = re.compile(r"(?<=[a-z])- (?=[a-z])")
BODY_SPANNING, SPANNING = 0.15, 0.3
"""The share of lines that may run across columns: below the head's rule, and where the head is not known."""


@dataclass(frozen=True)
class Cell:
    """A cell with text, at its first row and column, counted from 0."""

    row: int
    column: int
    text: str
    box: Box
    rows: int = 1
    columns: int = 1
    heading: bool = False
    """It names columns."""
    label: bool = False
    """It names a row."""


@dataclass(frozen=True)
class Grid:
    """A table of `rows` times `columns`; places that no cell covers are empty."""

    rows: int
    columns: int
    cells: tuple[Cell, ...]

    def covering(self) -> dict[tuple[int, int], Cell]:
        """The cell at each place (row, column) that one covers."""
        return {
            (row, column): cell
            for cell in self.cells
            for row in range(cell.row, cell.row + cell.rows)
            for column in range(cell.column, cell.column + cell.columns)
        }

    def otsl(self) -> list[str]:
        """The grid as tokens (Lysak et al., Optimized Table Tokenization, 2023).

        `fcel` is a cell with text, `ecel` an empty one, `nl` the end of a row; `lcel`, `ucel` and `xcel` are
        places that belong to the cell left of them, above them, or both.
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
    """The grid of a table; every word is in exactly one cell."""
    rules = rules or Rules()
    rows = lines(words, rules.vertical)
    if not rows:
        return Grid(0, 0, ())
    area = union(line.box for line in rows)
    split = _head_length(rows, rules, area)
    columns = _columns(rows, split, rules)
    length = split or _open_head(rows, columns)
    ink = _ink(rows[length:] or rows, columns)
    head = head_rows(rows[:length], columns, rules, ink)
    body = body_rows([place(line, columns, may_span=False) for line in rows[length:]], columns, rules)
    cells = [
        *(cell for row, parts in enumerate(head) for cell in _cells(parts, row, heading=True)),
        *_with_labels(body, len(head), rules, ink),
    ]
    return Grid(len(head) + len(body), len(columns), tuple(cells))


def _head_length(rows: Sequence[Run], rules: Rules, area: Box) -> int:
    """How many lines stand above the first rule with text on both sides; 0 if there is no such rule.

    A rule under some of the headings only is not the one, if there is one under all of them.
    """
    for share in (0.9, 0.7):
        for height in rules.heights(area.left, area.right, share):
            above = sum(line.box.middle < height for line in rows)
            if 0 < above < len(rows):
                return above
    return 0


def _columns(rows: Sequence[Run], split: int, rules: Rules) -> Columns:
    """Columns of the body; of all lines where the body is too short to show them, or has no head."""
    everywhere = find_columns(rows, rules, SPANNING)
    if not split:
        return everywhere
    below = find_columns(rows[split:], rules, BODY_SPANNING)
    return everywhere if len(rows) - split < 3 and len(everywhere) > len(below) else below


def _open_head(rows: Sequence[Run], columns: Columns) -> int:
    """The length of a head that no rule ends: the first line, and one more below headings that span."""
    spans = any(part.first < part.last for part in place(rows[0], columns, may_span=True))
    return min(len(rows), 2 if spans else 1)


def _ink(rows: Sequence[Run], columns: Columns) -> list[Gap]:
    """From where to where the text of each column goes; a column without text is all middle."""
    reach: dict[int, list[float]] = {column: [] for column in range(len(columns))}
    for part in (part for line in rows for part in place(line, columns, may_span=False)):
        if part.first == part.last:
            reach[part.first] += [part.run.box.left, part.run.box.right]
    middles = [
        columns.bounds[min(column, len(columns.bounds) - 1)] if columns.bounds else 0 for column in reach
    ]
    return [(min(xs), max(xs)) if xs else (x, x) for xs, x in zip(reach.values(), middles, strict=True)]


def _cells(row: Row, number: int, *, heading: bool) -> list[Cell]:
    """The cells of a row: parts that share a column are one cell, read line by line."""
    groups: list[list[Part]] = []
    for part in sorted(row.parts, key=lambda part: part.first):
        if groups and part.first <= max(other.last for other in groups[-1]):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_cell(group, number, heading=heading) for group in groups]


def _cell(parts: Sequence[Part], number: int, *, heading: bool) -> Cell:
    """One cell of these parts."""
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
    """The cells of the body; a label alone between two rules stands for all rows between them."""
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
    """The rows between rules that go through the first column."""
    heights = rules.heights(*first)
    starts = [
        number
        for number, (row, after) in enumerate(pairwise(body), start=1)
        if any(row.box.middle < height < after.box.middle for height in heights)
    ]
    return [range(a, b) for a, b in zip([0, *starts], [*starts, len(body)], strict=True) if b - a > 1]


def _lone_label(body: Sequence[Row], band: range) -> int | None:
    """The row of a band's only label, if it stands at the top or half way down and every row has more."""
    labelled = [number for number in band if 0 in body[number].filled()]
    if len(labelled) != 1 or any(body[number].filled() <= {0} or body[number].spans() for number in band):
        return None
    label = next(part.run.box for part in body[labelled[0]].parts if part.first == 0)
    middle = (body[band[0]].box.top + body[band[-1]].box.bottom) / 2
    return labelled[0] if labelled[0] == band[0] or abs(label.middle - middle) < label.height else None
