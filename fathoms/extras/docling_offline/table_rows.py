"""Finds the rows of a table: which lines of text form one row, and which columns their pieces fill."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fathoms.extras.docling_offline.boxes import Box, union
from fathoms.extras.docling_offline.table_columns import Columns, Gap
from fathoms.extras.docling_offline.table_lines import WORD_SPACE, Rules, Run

NUMBER = re.compile(r"[-+\u2212±~<>≤≥]?[$€£]?\s?\.?\d[\d.,]*\s?[%kKMB]?")
"""Matches a cell that is a number; such a cell is never the continuation of the cell above it."""
OVERLAPPING = 0.7
"""Lines that are closer than this many line heights overlap, so they belong to the same row."""
SAME_CELL = 1.35
"""Lines that are further apart than this many times the usual line spacing belong to different rows."""
APART = 3
"""With at least this many rules inside the body, rules separate single rows rather than groups of rows."""


@dataclass
class Part:
    """The text of one line in one cell, which covers the columns from `first` to `last`."""

    first: int
    last: int
    run: Run


@dataclass
class Row:
    """One row of a table: the parts of its lines, from top to bottom."""

    parts: list[Part] = field(default_factory=list)

    @property
    def box(self) -> Box:
        return union(part.run.box for part in self.parts)

    def filled(self) -> set[int]:
        """Return the columns that contain text."""
        return {column for part in self.parts for column in range(part.first, part.last + 1)}

    def last_in(self, column: int) -> Part | None:
        """Return the lowest part that covers a column, `None` if there is none."""
        covering = [part for part in self.parts if part.first <= column <= part.last]
        return covering[-1] if covering else None

    def spans(self) -> bool:
        """Return whether any part covers several columns."""
        return any(part.first < part.last for part in self.parts)


def place(line: Run, columns: Columns, *, may_span: bool) -> list[Part]:
    """Assign the pieces of a line to columns.

    A piece over several columns is cut between them unless `may_span` is set or it is the line's only piece.
    """
    parts: list[Part] = []
    for piece in line.pieces:
        first, last = columns.reach(piece.box, WORD_SPACE * piece.height / 2)
        if first < last and not may_span and len(line.pieces) > 1:
            parts += cut(piece, columns, columns.gaps)
        else:
            parts.append(Part(first, last, piece))
    return _merged(parts)


def cut(piece: Run, columns: Columns, windows: Sequence[Gap]) -> list[Part]:
    """Cut a piece at its widest space within each window; each part goes to the column with most of it."""
    places = set()
    for left, right in windows:
        spaces = [at for at in range(1, len(piece.words)) if left - 1 <= piece.space(at) <= right + 1]
        if spaces:
            places.add(max(spaces, key=piece.gap))
    parts = [(columns.home(run.box), run) for run in piece.cut(sorted(places))]
    return [Part(column, column, run) for column, run in parts]


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Merge neighbouring parts that share a column."""
    found: list[Part] = []
    for part in parts:
        if found and part.first <= found[-1].last:
            before = found.pop()
            found.append(
                Part(
                    before.first,
                    max(part.last, before.last),
                    Run(before.run.words + part.run.words, part.run.walls),
                )
            )
        else:
            found.append(part)
    return found


def body_rows(rows: Sequence[list[Part]], columns: Columns, rules: Rules) -> list[Row]:
    """Join the lines of a table's body to rows."""
    widths = _widths(rows, len(columns))
    leading = _leading(rows)
    inner = rules.between(rows[0][0].run.box.middle, rows[-1][0].run.box.middle) if rows else []
    ruled = len(inner) >= APART
    found: list[Row] = []
    for line in rows:
        row = found[-1] if found else None
        if row is not None and _continues(line, row, rules, leading, widths, ruled=ruled):
            row.parts += line
        else:
            found.append(Row(list(line)))
    return found


def _continues(
    line: Sequence[Part], row: Row, rules: Rules, leading: float, widths: Sequence[float], *, ruled: bool
) -> bool:
    """Return whether a line continues the cells of the row above it."""
    here = Row(list(line))
    above = max((part for part in row.parts), key=lambda part: part.run.box.middle)
    if rules.between(above.run.box.middle, here.box.middle):
        return False
    shared = here.filled() & row.filled()
    nearest = max(
        (part.run.box.middle for part in row.parts if shared & set(range(part.first, part.last + 1))),
        default=above.run.box.middle,
    )
    step, height = here.box.middle - nearest, line[0].run.height
    if step < OVERLAPPING * height:
        return True
    if step > SAME_CELL * leading or here.spans() or row.spans() or not _may_wrap(here, row, ruled=ruled):
        return False
    return all(_wraps(here, row, column, widths) for column in shared)


def _may_wrap(here: Row, row: Row, *, ruled: bool) -> bool:
    """Return whether a line can be the continuation of a row, judging by the columns that it fills.

    A continuation fills fewer columns than the row, and the first column only if it fills no other. Where
    rules separate the rows, it may fill any columns of the row. It fills more columns only in a row whose
    first line is part of a taller cell, with the other cells vertically centred beside it.
    """
    new, old = here.filled(), row.filled()
    if new > old:
        return 0 not in old and not _has_number(row)
    if _has_number(here):
        return False
    return new <= old if ruled else new < old and (0 not in new or len(new) == 1)


def _has_number(row: Row) -> bool:
    """Return whether any part of the row is a number."""
    return any(NUMBER.fullmatch(part.run.text) for part in row.parts)


def _wraps(here: Row, row: Row, column: int, widths: Sequence[float]) -> bool:
    """Return whether text wraps here: the first word of the next line would not fit on the line above."""
    above, below = row.last_in(column), here.last_in(column)
    if above is None or below is None:
        return True
    word = below.run.words[0]
    needed = above.run.box.width + WORD_SPACE * word.box.height / 2 + word.box.width
    return needed > widths[column]


def _widths(rows: Sequence[list[Part]], count: int) -> list[float]:
    """Return the width of the widest text in each column."""
    widths = [0.0] * count
    for part in (part for line in rows for part in line):
        if part.first == part.last:
            widths[part.first] = max(widths[part.first], part.run.box.width)
    return widths


def _leading(rows: Sequence[list[Part]]) -> float:
    """Return the usual line spacing: the 20th percentile of the distances of lines that do not overlap. 0 if
    there is no such pair of lines."""
    middles = [Row(list(line)).box.middle for line in rows]
    heights = [line[0].run.height for line in rows]
    steps = sorted(
        below - above
        for above, below, height in zip(middles, middles[1:], heights, strict=False)
        if below - above >= OVERLAPPING * height
    )
    return steps[len(steps) // 5] if steps else 0.0
