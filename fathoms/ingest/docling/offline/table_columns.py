"""The columns of a table: the white that goes down through its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fathoms.ingest.docling.offline.boxes import Box
from fathoms.ingest.docling.offline.table_lines import WORD_SPACE, Rules, Run

Gap = tuple[float, float]
"""White from one x to another, wholly between two columns."""
SIGNS = frozenset("+±×=/")  # noqa: RUF001


@dataclass(frozen=True)
class Columns:
    """Columns from left to right."""

    gaps: tuple[Gap, ...]

    def __len__(self) -> int:
        return len(self.gaps) + 1

    @property
    def bounds(self) -> list[float]:
        """The middle of every gap."""
        return [(left + right) / 2 for left, right in self.gaps]

    def home(self, box: Box) -> int:
        """The column that holds most of a box."""
        edges = [box.left, *(min(max(bound, box.left), box.right) for bound in self.bounds), box.right]
        widths = [right - left for left, right in pairwise(edges)]
        return widths.index(max(widths))

    def reach(self, box: Box, slack: float) -> tuple[int, int]:
        """The first and last column whose text a box stands over, by more than `slack` points."""
        first = sum(white <= box.left + slack for white, _ in self.gaps)
        last = sum(text < box.right - slack for _, text in self.gaps)
        return (first, last) if first <= last else (self.home(box), self.home(box))


def find_columns(rows: Sequence[Run], rules: Rules, spanning: float) -> Columns:
    """Columns of lines of text; up to that share of the lines may run across several of them.

    A line that runs across is left out if the others then show more columns. A line of a single piece says
    nothing about columns: it may be the rest of a cell, or a heading over all of them.
    """
    telling = [line for line in rows if len(line.pieces) > 1]
    spare = int(spanning * len(telling)) if len(telling) > 3 else 0
    found = _gaps(telling)
    for _ in range(spare):
        fewer = [(len(_gaps(rest)), rest) for rest in _each_left_out(telling)]
        count, rest = max(fewer, key=lambda pair: pair[0])
        if count <= len(found):
            break
        telling, found = rest, _gaps(rest)
    found = _between_values(telling, found)
    return Columns(tuple(sorted([*found, *_ruled(telling, rules, found)])))


def _between_values(rows: Sequence[Run], found: Sequence[Gap]) -> list[Gap]:
    """The gaps without those on both sides of a sign: `0.31 ± 0.02` is one value."""
    columns = Columns(tuple(found))
    held: dict[int, set[str]] = {}
    for piece in (piece for line in rows for piece in line.pieces):
        held.setdefault(columns.home(piece.box), set()).add(piece.text)
    signs = {column for column, texts in held.items() if texts <= SIGNS}
    return [gap for number, gap in enumerate(found) if not {number, number + 1} & signs]


def _each_left_out(rows: list[Run]) -> list[list[Run]]:
    """The lines without the first, without the second, and so on."""
    return [rows[:place] + rows[place + 1 :] for place in range(len(rows))]


def _gaps(rows: Sequence[Run]) -> list[Gap]:
    """The white that no piece of any line touches; with few lines it must be wider to count."""
    if not rows:
        return []
    height = sorted(line.height for line in rows)[len(rows) // 2]
    least = (WORD_SPACE if len(rows) > 3 else 1.5 * WORD_SPACE) * height
    pieces = sorted(piece.box for line in rows for piece in line.pieces)
    found: list[Gap] = []
    reached = pieces[0].right
    for box in pieces:
        if box.left - reached >= least:
            found.append((reached, box.left))
        reached = max(reached, box.right)
    return found


def _ruled(rows: Sequence[Run], rules: Rules, found: Sequence[Gap]) -> list[Gap]:
    """Columns that only a vertical rule tells apart: no text crosses it, and there is text on both sides."""
    pieces = [piece.box for line in rows for piece in line.pieces]
    extra: list[Gap] = []
    for x in (rule.centre for rule in rules.vertical):
        known = any(left - 1 <= x <= right + 1 for left, right in [*found, *extra])
        crossed = any(box.left < x - 1 and box.right > x + 1 for box in pieces)
        sides = {box.centre < x for box in pieces}
        if not known and not crossed and len(sides) == 2:
            extra.append((x, x))
    return extra
