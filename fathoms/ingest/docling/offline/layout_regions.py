"""What a detector found on a page, set right by what the PDF itself says is drawn there.

A page with a text layer tells which images and drawings it holds. There, a figure with nothing drawn in it
is text; a figure with nothing but rules is a table; a table of one column is text; and an image that the
detector missed is a picture. A scan tells nothing, and its regions stay as they were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fathoms.ingest.docling.offline.boxes import Box, union
from fathoms.ingest.docling.offline.layout_detector import Region
from fathoms.ingest.docling.offline.table_grid import Grid, read_table
from fathoms.ingest.docling.offline.table_lines import Rules, Word, lines, read_rules

FIGURE, TABLE = "figure", "table"
CERTAIN = 1.0
"""The score of what the PDF says."""
WHOLE_PAGE = 0.85
"""The share of a page from which an image is the page itself: a scan, or a background."""
PICTURE = 0.02
"""The share of a page from which an image is a picture: a smaller one is a logo or an icon."""
LIKELY = 0.6
"""The score of a figure that is believed without looking."""
DRAWN = 0.15
"""The share of a figure that must be drawn on."""
WRITTEN = 0.3
"""The share of a figure that text may cover where no image or line is in it: more is text on grey."""
REACH = 24.0
"""Points from a table to the rule above or below that still belongs to it."""


@dataclass(frozen=True)
class Marks:
    """What is on a page by its PDF."""

    page: Box
    words: Sequence[Word] = ()
    rules: Sequence[Box] = ()
    drawings: Sequence[Box] = ()
    """Shapes that touch one another, taken together."""
    bitmaps: Sequence[Box] = ()

    @property
    def scanned(self) -> bool:
        """Is the page an image, with no text of its own?"""
        return not self.words and any(box.area >= WHOLE_PAGE * self.page.area for box in self.bitmaps)

    @property
    def images(self) -> list[Box]:
        """The images that are not the page itself."""
        return [
            box for box in self.bitmaps if box.inside(self.page) and box.area < WHOLE_PAGE * self.page.area
        ]


def refine(regions: Iterable[Region], marks: Marks) -> list[Region]:
    """The regions of a page, each with the label and the box that the PDF bears out."""
    found = [region for region in regions if not _doubtful(region, marks)]
    if marks.words:
        found = [better for region in found for better in _judge(region, marks, found)]
        found += [Region(FIGURE, CERTAIN, box) for box in missed_pictures(found, marks)]
    return _without_nested(found)


def _doubtful(region: Region, marks: Marks) -> bool:
    """On a scan a figure is dropped if it is unlikely, since the text in it may be."""
    return marks.scanned and region.label == FIGURE and region.score < LIKELY


def _without_nested(regions: Iterable[Region]) -> list[Region]:
    """The regions, best first, without the figures and tables that a better one rules out."""
    kept: list[Region] = []
    for region in sorted(regions, key=lambda region: -region.score):
        boxes = [other for other in kept if other.label in (FIGURE, TABLE)]
        if region.label not in (FIGURE, TABLE) or not any(_rivals(region, other) for other in boxes):
            kept.append(region)
    return kept


def _rivals(one: Region, other: Region) -> bool:
    """Can only one of two figures or tables be right? Tables never overlap."""
    if one.label == other.label == TABLE and one.box.shared(other.box) > 0.02 * one.box.area:
        return True
    return _nested(one.box, other.box)


def _nested(one: Box, other: Box) -> bool:
    """Does one lie in the other, for the most part?"""
    return max(one.inside(other), other.inside(one)) > 0.7


def _judge(region: Region, marks: Marks, others: Sequence[Region]) -> list[Region]:
    """The region as it stands, or as something else, or not at all."""
    if region.label == FIGURE and not is_drawn(region.box, marks):
        if not _all_rules(region.box, marks):
            return []
        region = region._replace(label=TABLE)
    if region.label == FIGURE:
        figures = [other.box for other in others if other.label == FIGURE]
        return (
            [] if _has_core(region.box, figures, marks) else [region._replace(box=_whole(region.box, marks))]
        )
    if region.label == TABLE:
        parts = [other for other in others if other.label == TABLE and other.box.area < 0.7 * region.box.area]
        if sum(other.box.inside(region.box) > 0.9 for other in parts) > 1:
            return []
        whole = region._replace(box=within_rules(region, marks, others))
        return [whole] if min(_grid(r.box, marks).columns for r in (region, whole)) > 1 else []
    return [region]


def _has_core(box: Box, figures: Iterable[Box], marks: Marks) -> bool:
    """Does a smaller figure hold everything that is drawn in this one? Then the rest is text around it."""
    drawn = [mark for mark in [*marks.images, *marks.drawings] if mark.inside(box) > 0.5 and mark.height > 3]
    smaller = [other for other in figures if other.inside(box) > 0.9 and other.area < 0.7 * box.area]
    return any(all(mark.inside(other) > 0.9 for mark in drawn) for other in smaller)


def _whole(box: Box, marks: Marks) -> Box:
    """A figure with all of the images that lie in it for the most part."""
    return union([box, *(image for image in marks.images if image.inside(box) > 0.5)])


def is_drawn(box: Box, marks: Marks) -> bool:
    """Does an image or a drawing other than rules and backgrounds fill enough of a figure?"""
    if any(image.shared(box) > DRAWN * box.area for image in marks.images):
        return True
    shapes = [
        shape for shape in marks.drawings if min(shape.width, shape.height) > 3 and shape.inside(box) > 0.5
    ]
    drawn = sum(shape.shared(box) for shape in shapes)
    if drawn < DRAWN * box.area or _all_rules(box, marks):
        return False
    lined = any(rule.inside(box) > 0.5 or rule.grown(1).inside(box) > 0.5 for rule in marks.rules)
    return lined or sum(word.box.shared(box) for word in marks.words) < WRITTEN * box.area


def _all_rules(box: Box, marks: Marks) -> bool:
    """Is everything that is drawn in a box rules, and the text in it a table?"""
    if any(image.shared(box) > 0.01 * box.area for image in marks.images):
        return False
    rules = read_rules(marks.rules, box)
    shapes = [s for s in marks.drawings if min(s.width, s.height) > 3 and s.inside(box) > 0.5]
    if len(rules.horizontal) < 2 or not all(_is_lattice(shape, rules) for shape in shapes):
        return False
    grid = _grid(box, marks)
    return min(grid.rows, grid.columns) > 1 and len(grid.covering()) > 0.6 * grid.rows * grid.columns


def _is_lattice(shape: Box, rules: Rules) -> bool:
    """Do rules go along all four sides of a shape and through it both ways?"""
    rows = rules.heights(shape.left, shape.right, share=0.9)
    columns = {round(rule.centre) for rule in rules.vertical}
    return len(rows) > 2 and len(columns) > 2 and rows[0] - shape.top < 3 and shape.bottom - rows[-1] < 3


def within_rules(region: Region, marks: Marks, others: Sequence[Region]) -> Box:
    """A table's box, as wide and high as the rules of equal length that run through it and just beyond.

    A caption or a note that the detector took along is cut off at the first or last of three such rules.
    """
    box = region.box
    near = Box(box.left - 2 * REACH, box.top - REACH, box.right + 2 * REACH, box.bottom + REACH)
    rules = [rule for rule in read_rules(marks.rules, near).horizontal if _reaches(rule, box)]
    own = [rule for rule in rules if box.top - 3 <= rule.middle <= box.bottom + 3]
    if not own:
        return box
    longest = max(own, key=lambda rule: rule.width)
    alike = [r for r in rules if abs(r.left - longest.left) < 4 and abs(r.right - longest.right) < 4]
    blocks = [other.box for other in others if other is not region and not _nested(other.box, box)]
    closed = (
        any(abs(rule.middle - box.top) < 4 for rule in alike),
        any(abs(rule.middle - box.bottom) < 4 for rule in alike),
    )
    alike = [rule for rule in alike if not _beyond(rule, box, blocks, closed)]
    if not alike:
        return box
    top, bottom = alike[0].top, alike[-1].bottom
    if len(alike) < 3 or _in_columns(box._replace(bottom=top), marks):
        top = min(box.top, top)
    if len(alike) < 3 or _in_columns(box._replace(top=bottom), marks):
        bottom = max(box.bottom, bottom)
    return Box(min(box.left, longest.left), top, max(box.right, longest.right), bottom)


def _in_columns(box: Box, marks: Marks) -> bool:
    """Do the lines in a box look like rows of a table, not like a caption or a note?"""
    rows = lines(word for word in marks.words if word.box.inside(box) > 0.5)
    return sum(len(row.pieces) for row in rows) >= 2 * len(rows) > 0


def _reaches(rule: Box, box: Box) -> bool:
    """Is a rule long and near enough to be one of a table's?"""
    return rule.width > 0.5 * box.width and box.top - REACH <= rule.middle <= box.bottom + REACH


def _beyond(rule: Box, box: Box, blocks: Iterable[Box], closed: tuple[bool, bool]) -> bool:
    """Is a rule outside, beyond something else or beyond the rule that ends the table there?"""
    if rule.middle < box.top - 4:
        return closed[0] or any(rule.middle < block.middle and block.bottom < box.top + 2 for block in blocks)
    if rule.middle > box.bottom + 4:
        return closed[1] or any(block.middle < rule.middle and box.bottom < block.top + 2 for block in blocks)
    return False


def missed_pictures(regions: Iterable[Region], marks: Marks) -> list[Box]:
    """Images, and drawings with images in them, that are as large as a picture and that no region is."""
    images = marks.images
    drawings = [box for box in marks.drawings if any(image.inside(box) > 0.9 for image in images)]
    large = [box for box in _together([*images, *drawings]) if box.area >= PICTURE * marks.page.area]
    known = [region.box for region in regions if region.label in (FIGURE, TABLE)]
    return [
        box
        for box in large
        if box.area < WHOLE_PAGE * marks.page.area and not any(box.inside(other) > 0.7 for other in known)
    ]


def _together(boxes: Iterable[Box], apart: float = 3.0) -> list[Box]:
    """Boxes that touch, as the tiles of one image do, made one."""
    found: list[Box] = []
    for box in boxes:
        touching = [other for other in found if other.grown(apart).shared(box.grown(apart))]
        found = [other for other in found if other not in touching]
        found.append(union([box, *touching]))
    return found


def _grid(box: Box, marks: Marks) -> Grid:
    """The table that the words in a box make."""
    words = [word for word in marks.words if word.box.inside(box) > 0.5]
    return read_table(words, read_rules(marks.rules, box))
