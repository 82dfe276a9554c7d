"""Finds the columns of a table, which are separated by white space that runs down through its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fathoms.extras.docling_offline.boxes import Box
from fathoms.extras.docling_offline.table_lines import WORD_SPACE, Rules, Run

Gap = tuple[float, float]
"""The left and right x coordinate of a range; for columns, the white space between two of them."""
SIGNS = frozenset("+±×=/")  # noqa: RUF001
"""Signs that join two numbers to one value, so text that consists only of them is not a column."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table, given by the gaps between them from left to right."""

    gaps: tuple[Gap, ...]

    def __len__(self) -> int:
        return len(self.gaps) + 1

    @property
    def bounds(self) -> list[float]:
        """The x coordinate of the middle of every gap."""
        return [(left + right) / 2 for left, right in self.gaps]

    def home(self, box: Box) -> int:
        """Return the column that contains the largest part of a box's width."""
        edges = [box.left, *(min(max(bound, box.left), box.right) for bound in self.bounds), box.right]
        widths = [right - left for left, right in pairwise(edges)]
        return widths.index(max(widths))

    def reach(self, box: Box, slack: float) -> tuple[int, int]:
        """Return the first and the last column whose text a box overlaps by more than `slack` points."""
        first = sum(white <= box.left + slack for white, _ in self.gaps)
        last = sum(text < box.right - slack for _, text in self.gaps)
        return (first, last) if first <= last else (self.home(box), self.home(box))


def find_columns(rows: Sequence[Run], rules: Rules, spanning: float) -> Columns:
    """Find the columns of lines of text; up to the share `spanning` of the lines may cross several columns.

    A line counts as crossing columns, and is ignored, if the others show more columns without it. Lines with
    a single piece are always ignored: such a line may be the rest of a cell or a heading over all columns.
    """
    telling = [line for line in rows if len(line.pieces) > 1]
    spare = int(spanning * len(telling)) if len(telling) > 3 else 0
    found = _gaps(telling)
    for _ in range(spare):
        left_out = [telling[:place] + telling[place + 1 :] for place in range(len(telling))]
        fewer = [(len(_gaps(rest)), rest) for rest in left_out]
        count, rest = max(fewer, key=lambda pair: pair[0])
        if count <= len(found):
            break
        telling, found = rest, _gaps(rest)
    found = _between_values(telling, found)
    return Columns(tuple(sorted([*found, *_ruled(telling, rules, found)])))


def _between_values(rows: Sequence[Run], found: Sequence[Gap]) -> list[Gap]:
    """Return the gaps without those beside a column of signs: `0.31 ± 0.02` is one value, not three."""
    columns = Columns(tuple(found))
    texts_by_column: dict[int, set[str]] = {}
    for piece in (piece for line in rows for piece in line.pieces):
        texts_by_column.setdefault(columns.home(piece.box), set()).add(piece.text)
    signs = {column for column, texts in texts_by_column.items() if texts <= SIGNS}
    return [gap for number, gap in enumerate(found) if not {number, number + 1} & signs]


def _gaps(rows: Sequence[Run]) -> list[Gap]:
    """Return the gaps that no piece of any line touches; with three lines or fewer they must be wider."""
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
    """Return a gap for each vertical rule that separates columns without a gap of white space. No text may
    cross such a rule, and there must be text on both sides of it."""
    pieces = [piece.box for line in rows for piece in line.pieces]
    extra: list[Gap] = []
    for x in (rule.centre for rule in rules.vertical):
        known = any(left - 1 <= x <= right + 1 for left, right in [*found, *extra])
        crossed = any(box.left < x - 1 and box.right > x + 1 for box in pieces)
        sides = {box.centre < x for box in pieces}
        if not known and not crossed and len(sides) == 2:
            extra.append((x, x))
    return extra
