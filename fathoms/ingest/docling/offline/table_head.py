"""The head of a table: its rows of headings, and the columns that a heading over several of them spans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import comb

from fathoms.ingest.docling.offline.boxes import Box
from fathoms.ingest.docling.offline.table_columns import Columns, Gap
from fathoms.ingest.docling.offline.table_lines import Rules, Run
from fathoms.ingest.docling.offline.table_rows import Part, Row, place

CENTRED = 4.0
"""Points by which a wider span must fit the middle of a heading better than the columns it touches."""

IN_LINE = 1.5
"""Points by which a heading may be off the edge or the middle of its column."""

MANY = 1000
"""Ways to divide columns among headings from which on none is tried."""


def head_rows(rows: Sequence[Run], columns: Columns, rules: Rules, ink: Sequence[Gap]) -> list[Row]:
    """The lines of a head as rows: a new row begins below a rule and below headings that span columns."""
    found: list[Row] = []
    for index, line in enumerate(rows):
        parts = [each for part in place(line, columns, may_span=True) for each in _apart(part, ink)]
        if found and not _begins(line, rows[index - 1], found[-1], rules):
            found[-1].parts += parts
        else:
            found.append(Row(parts))
    for upper, lower in pairwise(found):
        _stretch(upper, lower, rules, ink)
    if found:
        _stretch_last(found, ink)
    return found


def _apart(part: Part, ink: Sequence[Gap]) -> list[Part]:
    """Two or more headings that stand so close that they look like one: each is in line with its column."""
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
    """How far a heading is from beginning, ending or having its middle where its column does."""
    return min(abs(box.left - column[0]), abs(box.right - column[1]), abs(box.centre - sum(column) / 2))


def _begins(line: Run, above: Run, row: Row, rules: Rules) -> bool:
    """Does this line begin a row of its own?"""
    if line.box.middle - above.box.middle < line.height / 2:
        return False
    return row.spans() or bool(rules.between(above.box.middle, line.box.middle))


def _stretch(upper: Row, lower: Row, rules: Rules, ink: Sequence[Gap]) -> None:
    """Let every heading of a row span the columns it stands over, where the row below has some."""
    below = lower.filled()
    ink = _with_headings(ink, lower)
    for rule in rules.between(upper.box.middle, lower.box.middle):
        _share_rule(rule, upper, ink)
    for part in upper.parts:
        first, last = _centred(part, _free(part, upper, below), ink)
        if below.issuperset(range(first, last + 1)):
            part.first, part.last = first, last


def _stretch_last(head: Sequence[Row], ink: Sequence[Gap]) -> None:
    """Let a heading of the lowest row span columns that have none, unless it is in line with its own."""
    bare = set(range(len(ink))).difference(*(row.filled() for row in head))
    for part in head[-1].parts:
        if bare and part.first == part.last and _off(part.run.box, ink[part.first]) >= IN_LINE:
            part.first, part.last = _centred(part, bare | {part.first}, ink)
            bare -= set(range(part.first, part.last + 1))


def _with_headings(ink: Sequence[Gap], row: Row) -> list[Gap]:
    """From where to where each column goes, with its heading in this row."""
    found = list(ink)
    for part in row.parts:
        if part.first == part.last:
            left, right = found[part.first]
            found[part.first] = min(left, part.run.box.left), max(right, part.run.box.right)
    return found


def _share_rule(rule: Box, row: Row, ink: Sequence[Gap]) -> None:
    """Divide the columns over a rule among the headings on it, so that each stands in the middle of its own.

    A rule that runs below an empty corner says nothing.
    """
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
    """How far the middle of these columns is to the right of that of a heading."""
    return (ink[first][0] + ink[last][1]) / 2 - part.run.box.centre


def _free(part: Part, row: Row, below: set[int]) -> set[int]:
    """The columns a heading could take: its own, and those with no heading here but one below."""
    taken = {c for other in row.parts if other is not part for c in range(other.first, other.last + 1)}
    return (below - taken) | set(range(part.first, part.last + 1))


def _centred(part: Part, free: set[int], ink: Sequence[Gap]) -> tuple[int, int]:
    """The widest span over whose middle a heading stands, if it is clearly off that of its own columns."""
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
