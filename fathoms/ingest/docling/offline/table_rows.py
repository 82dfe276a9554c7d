"""The rows of a table: which lines of text belong to one row, and which columns their pieces fill."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fathoms.ingest.docling.offline.boxes import Box, union
from fathoms.ingest.docling.offline.table_columns import Columns, Gap
from fathoms.ingest.docling.offline.table_lines import WORD_SPACE, Rules, Run

NUMBER = re.compile(r"[-+\u2212±~<>≤≥]?[$€£]?\s?\.?\d[\d.,]*\s?[%kKMB]?")
"""A cell of this form is complete: it is never the rest of the one above it."""
OVERLAPPING = 0.7
"""Lines nearer than that many heights overlap: they cannot be two rows."""
SAME_CELL = 1.35
"""Lines farther apart than that many times the usual leading are two rows."""
APART = 3
"""Rules inside the body from which on they stand between rows, and not between groups of rows."""


@dataclass
class Part:
    """The text of one line in one cell."""

    first: int
    last: int
    run: Run


@dataclass
class Row:
    """One row: the parts of its lines, from top to bottom."""

    parts: list[Part] = field(default_factory=list)

    @property
    def box(self) -> Box:
        return union(part.run.box for part in self.parts)

    def filled(self) -> set[int]:
        """The columns with text."""
        return {column for part in self.parts for column in range(part.first, part.last + 1)}

    def last_in(self, column: int) -> Part | None:
        """The lowest part that covers a column."""
        covering = [part for part in self.parts if part.first <= column <= part.last]
        return covering[-1] if covering else None

    def spans(self) -> bool:
        """Does a part cover several columns?"""
        return any(part.first < part.last for part in self.parts)


def place(line: Run, columns: Columns, *, may_span: bool) -> list[Part]:
    """The pieces of a line in their columns; where none may span, they are cut between columns."""
    parts: list[Part] = []
    for piece in line.pieces:
        first, last = columns.reach(piece.box, WORD_SPACE * piece.height / 2)
        if first < last and not may_span and len(line.pieces) > 1:
            parts += cut(piece, columns, columns.gaps)
        else:
            parts.append(Part(first, last, piece))
    return _merged(parts)


def cut(piece: Run, columns: Columns, windows: Sequence[Gap]) -> list[Part]:
    """A piece cut at its widest space within each window; every part goes where most of it stands."""
    places = set()
    for left, right in windows:
        spaces = [at for at in range(1, len(piece.words)) if left - 1 <= piece.space(at) <= right + 1]
        if spaces:
            places.add(max(spaces, key=piece.gap))
    parts = [(columns.home(run.box), run) for run in piece.cut(sorted(places))]
    return [Part(column, column, run) for column, run in parts]


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Neighbours that share a column are one part."""
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
    """The lines of a table's body, joined into rows."""
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
    """Does a line go on with the cells of the row above it?"""
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
    """Could the text of a line be the rest of a row, by the columns that it fills?

    The rest fills fewer columns, and not the first among others, unless rules tell the rows apart. It fills
    more where the cells of a row stand half way down beside a taller one.
    """
    new, old = here.filled(), row.filled()
    if new > old:
        return 0 not in old and not _has_number(row)
    if _has_number(here):
        return False
    return new <= old if ruled else new < old and (0 not in new or len(new) == 1)


def _has_number(row: Row) -> bool:
    """Is a part of the row a number?"""
    return any(NUMBER.fullmatch(part.run.text) for part in row.parts)


def _wraps(here: Row, row: Row, column: int, widths: Sequence[float]) -> bool:
    """Would the first word of a cell's next line not have fitted on the line above?"""
    above, below = row.last_in(column), here.last_in(column)
    if above is None or below is None:
        return True
    word = below.run.words[0]
    needed = above.run.box.width + WORD_SPACE * word.box.height / 2 + word.box.width
    return needed > widths[column]


def _widths(rows: Sequence[list[Part]], count: int) -> list[float]:
    """The widest text of every column."""
    widths = [0.0] * count
    for part in (part for line in rows for part in line):
        if part.first == part.last:
            widths[part.first] = max(widths[part.first], part.run.box.width)
    return widths


def _leading(rows: Sequence[list[Part]]) -> float:
    """The distance of lines that follow one another closely, but do not overlap."""
    middles = [Row(list(line)).box.middle for line in rows]
    heights = [line[0].run.height for line in rows]
    steps = sorted(
        below - above
        for above, below, height in zip(middles, middles[1:], heights, strict=False)
        if below - above >= OVERLAPPING * height
    )
    return steps[len(steps) // 5] if steps else 0.0
