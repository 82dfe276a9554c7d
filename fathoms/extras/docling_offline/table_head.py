"""Reads the head of a table: its rows of headings, and which columns each heading spans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import comb

from fathoms.extras.docling_offline.boxes import Box
from fathoms.extras.docling_offline.table_columns import Columns, Gap
from fathoms.extras.docling_offline.table_lines import Rules, Run
from fathoms.extras.docling_offline.table_rows import Part, Row, place

CENTRED = 4.0
"""A heading spans more columns than it touches only if it is closer to their middle by this many points."""

IN_LINE = 1.5
"""Maximum distance, in points, between a heading and the edge or middle of the column it is aligned with."""

MANY = 1000
"""With more ways than this to divide columns among headings, none is tried."""


def head_rows(rows: Sequence[Run], columns: Columns, rules: Rules, ink: Sequence[Gap]) -> list[Row]:
    """Join the lines of a head to rows; a new row begins below a rule and below a row with spanning headings.

    `ink` is the horizontal range of the text of each column.
    """
    found: list[Row] = []
    for index, line in enumerate(rows):
        parts = [each for part in place(line, columns, may_span=True) for each in _apart(part, ink)]
        above = rows[index - 1].box.middle
        overlaps = line.box.middle - above < line.height / 2
        if found and (overlaps or not (found[-1].spans() or rules.between(above, line.box.middle))):
            found[-1].parts += parts
        else:
            found.append(Row(parts))
    for upper, lower in pairwise(found):
        _stretch(upper, lower, rules, ink)
    if found:
        _stretch_last(found, ink)
    return found


def _apart(part: Part, ink: Sequence[Gap]) -> list[Part]:
    """Split a part that consists of several close headings, if each of them is aligned with its column."""
    run, found = part.run, []
    for column in range(part.first, part.last):
        cuts = [run.cut([at]) for at in range(1, len(run.words))]
        if not cuts:
            return [part]
        here, run = min(
            cuts, key=lambda cut: _off(cut[0].box, ink[column]) + _off(cut[1].box, ink[column + 1])
        )
        found.append(Part(column, column, here))
    found.append(Part(part.last, part.last, run))
    return found if all(_off(each.run.box, ink[each.first]) < IN_LINE for each in found) else [part]


def _off(box: Box, column: Gap) -> float:
    """Return the distance in points of a heading from the nearest alignment: left, right or centred."""
    return min(abs(box.left - column[0]), abs(box.right - column[1]), abs(box.centre - sum(column) / 2))


def _stretch(upper: Row, lower: Row, rules: Rules, ink: Sequence[Gap]) -> None:
    """Extend each heading of the upper row to the columns it is above, if the lower row fills them all."""
    below = lower.filled()
    ink = _with_headings(ink, lower)
    for rule in rules.between(upper.box.middle, lower.box.middle):
        _share_rule(rule, upper, ink)
    for part in upper.parts:
        first, last = _centred(part, _free(part, upper, below), ink)
        if below.issuperset(range(first, last + 1)):
            part.first, part.last = first, last


def _stretch_last(head: Sequence[Row], ink: Sequence[Gap]) -> None:
    """Extend headings of the lowest row to columns without any heading, unless aligned with their own."""
    bare = set(range(len(ink))).difference(*(row.filled() for row in head))
    for part in head[-1].parts:
        if bare and part.first == part.last and _off(part.run.box, ink[part.first]) >= IN_LINE:
            part.first, part.last = _centred(part, bare | {part.first}, ink)
            bare -= set(range(part.first, part.last + 1))


def _with_headings(ink: Sequence[Gap], row: Row) -> list[Gap]:
    """Return the range of each column, enlarged by its heading in this row."""
    found = list(ink)
    for part in row.parts:
        if part.first == part.last:
            left, right = found[part.first]
            found[part.first] = min(left, part.run.box.left), max(right, part.run.box.right)
    return found


def _share_rule(rule: Box, row: Row, ink: Sequence[Gap]) -> None:
    """Divide the columns that a rule covers among the headings above it, each centred over its own. A rule
    that also runs below an empty top left corner is ignored."""
    covered = [c for c, (left, right) in enumerate(ink) if rule.left <= (left + right) / 2 <= rule.right]
    parts = [part for part in row.parts if rule.left - 2 <= part.run.box.centre <= rule.right + 2]
    if not parts or not covered or (covered[0] == 0 and parts[0].first > 0):
        return
    if not 0 < comb(len(covered) - 1, len(parts) - 1) <= MANY:
        return

    def off(cuts: Sequence[int]) -> float:
        spans = pairwise([covered[0], *cuts, covered[-1] + 1])
        found = [_from_middle(part, a, b - 1, ink) for part, (a, b) in zip(parts, spans, strict=True)]
        return max(found) - min(found) + sum(map(abs, found)) / len(found)

    best = min(combinations(covered[1:], len(parts) - 1), key=off)
    for part, (first, after) in zip(parts, pairwise([covered[0], *best, covered[-1] + 1]), strict=True):
        part.first, part.last = first, after - 1


def _from_middle(part: Part, first: int, last: int, ink: Sequence[Gap]) -> float:
    """Return the signed distance from the middle of a heading to the middle of columns; right is positive."""
    return (ink[first][0] + ink[last][1]) / 2 - part.run.box.centre


def _free(part: Part, row: Row, below: set[int]) -> set[int]:
    """Return the columns that a heading may span: its own, and those with a heading only in the row below."""
    taken = {c for other in row.parts if other is not part for c in range(other.first, other.last + 1)}
    return (below - taken) | set(range(part.first, part.last + 1))


def _centred(part: Part, free: set[int], ink: Sequence[Gap]) -> tuple[int, int]:
    """Return the widest span of free columns over which a heading is centred. If it is about as well centred
    over its own columns, these are returned."""
    spans = [
        (first, last)
        for first in range(part.first + 1)
        for last in range(part.last, len(ink))
        if free.issuperset(range(first, last + 1))
    ]
    off = {span: abs(_from_middle(part, *span, ink)) for span in spans}
    best = min(off.values())
    if best + CENTRED < off[part.first, part.last]:
        return max(spans, key=lambda span: (off[span] <= best + CENTRED / 2, span[1] - span[0], -off[span]))
    return part.first, part.last
