"""Corrects the regions that a detector found on a page with what the PDF itself draws there.

On a page with a text layer, the PDF says which images and drawings there are. A figure with nothing drawn in
it is then text, a figure that contains only rules is a table, a table with one column is text, and an image
that the detector missed becomes a figure. On a scan the PDF says nothing; there, only figures with a low
score and nested regions are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fathoms.extras.docling_offline.boxes import Box, union
from fathoms.extras.docling_offline.layout_detector import Region
from fathoms.extras.docling_offline.table_grid import Grid, read_table
from fathoms.extras.docling_offline.table_lines import Rules, Word, lines, read_rules

FIGURE, TABLE = "figure", "table"
CERTAIN = 1.0
"""The score of regions that follow from the PDF itself."""
WHOLE_PAGE = 0.85
"""An image that covers at least this share of the page is a scan or a background."""
PICTURE = 0.02
"""An image that covers at least this share of the page is a picture; a smaller one is a logo or an icon."""
LIKELY = 0.6
"""A figure on a scan with a lower score is dropped."""
DRAWN = 0.15
"""The share of a figure's area that images or drawings must cover."""
WRITTEN = 0.3
"""The share of a figure's area that text may cover if it contains no image or line; with more, it is text on
a coloured background."""
REACH = 24.0
"""The largest distance, in points, between a table and a rule above or below that belongs to it."""


@dataclass(frozen=True)
class PageContent:
    """What the PDF itself says is on a page; all boxes are in points from the top left corner."""

    page: Box
    words: Sequence[Word] = ()
    rules: Sequence[Box] = ()
    drawings: Sequence[Box] = ()
    """The bounding boxes of vector drawings; shapes that touch count as one."""
    bitmaps: Sequence[Box] = ()

    @property
    def scanned(self) -> bool:
        """Whether the page has no text and consists of one large image."""
        return not self.words and any(box.area >= WHOLE_PAGE * self.page.area for box in self.bitmaps)

    @property
    def images(self) -> list[Box]:
        """The images on the page, without those that fill it."""
        return [
            box for box in self.bitmaps if box.inside(self.page) and box.area < WHOLE_PAGE * self.page.area
        ]


def refine(regions: Iterable[Region], content: PageContent) -> list[Region]:
    """Return the regions of a page with corrected labels and boxes, without those that are wrong."""
    found = [
        region
        for region in regions
        # a figure with a low score on a scan may well be text
        if not (content.scanned and region.label == FIGURE and region.score < LIKELY)
    ]
    if content.words:
        found = [better for region in found for better in _judge(region, content, found)]
        found += [Region(FIGURE, CERTAIN, box) for box in missed_pictures(found, content)]
    return _without_nested(found)


def _without_nested(regions: Iterable[Region]) -> list[Region]:
    """Return the regions, best first, without figures and tables that conflict with a better one."""
    selected: list[Region] = []
    for region in sorted(regions, key=lambda region: -region.score):
        boxes = [other for other in selected if other.label in (FIGURE, TABLE)]
        if region.label not in (FIGURE, TABLE) or not any(_rivals(region, other) for other in boxes):
            selected.append(region)
    return selected


def _rivals(one: Region, other: Region) -> bool:
    """Return whether two figures or tables exclude each other: one is in the other, or two tables overlap."""
    if one.label == other.label == TABLE and one.box.shared(other.box) > 0.02 * one.box.area:
        return True
    return _nested(one.box, other.box)


def _nested(one: Box, other: Box) -> bool:
    """Return whether more than 70% of one box lies in the other."""
    return max(one.inside(other), other.inside(one)) > 0.7


def _judge(region: Region, content: PageContent, others: Sequence[Region]) -> list[Region]:
    """Return the region unchanged or corrected, or an empty list to drop it. The text in a dropped region
    remains: Docling's post-processing makes text blocks of it."""
    if region.label == FIGURE and not is_drawn(region.box, content):
        if not _all_rules(region.box, content):
            return []
        region = region._replace(label=TABLE)
    if region.label == FIGURE:
        figures = [other.box for other in others if other.label == FIGURE]
        if _has_core(region.box, figures, content):
            return []
        parts = [image for image in content.images if image.inside(region.box) > 0.5]
        return [region._replace(box=union([region.box, *parts]))]
    if region.label == TABLE:
        smaller = [other.box for other in others if other.label == TABLE]
        smaller = [box for box in smaller if box.area < 0.7 * region.box.area]
        if sum(box.inside(region.box) > 0.9 for box in smaller) > 1:
            return []
        whole = region._replace(box=within_rules(region, content, others))
        return [whole] if min(_grid(r.box, content).columns for r in (region, whole)) > 1 else []
    return [region]


def _has_core(box: Box, figures: Iterable[Box], content: PageContent) -> bool:
    """Return whether a smaller figure contains everything drawn in this one, so that the rest is text."""
    drawn = [
        shape
        for shape in [*content.images, *content.drawings]
        if shape.inside(box) > 0.5 and shape.height > 3
    ]
    smaller = [other for other in figures if other.inside(box) > 0.9 and other.area < 0.7 * box.area]
    return any(all(shape.inside(other) > 0.9 for shape in drawn) for other in smaller)


def is_drawn(box: Box, content: PageContent) -> bool:
    """Return whether images, or drawings other than rules and backgrounds, fill enough of a figure."""
    if any(image.shared(box) > DRAWN * box.area for image in content.images):
        return True
    shapes = [
        shape for shape in content.drawings if min(shape.width, shape.height) > 3 and shape.inside(box) > 0.5
    ]
    drawn = sum(shape.shared(box) for shape in shapes)
    if drawn < DRAWN * box.area or _all_rules(box, content):
        return False
    lined = any(rule.inside(box) > 0.5 or rule.grown(1).inside(box) > 0.5 for rule in content.rules)
    return lined or sum(word.box.shared(box) for word in content.words) < WRITTEN * box.area


def _all_rules(box: Box, content: PageContent) -> bool:
    """Return whether a box contains only rules and text that forms a table."""
    if any(image.shared(box) > 0.01 * box.area for image in content.images):
        return False
    rules = read_rules(content.rules, box)
    shapes = [s for s in content.drawings if min(s.width, s.height) > 3 and s.inside(box) > 0.5]
    if len(rules.horizontal) < 2 or not all(_is_lattice(shape, rules) for shape in shapes):
        return False
    grid = _grid(box, content)
    return min(grid.rows, grid.columns) > 1 and len(grid.covering()) > 0.6 * grid.rows * grid.columns


def _is_lattice(shape: Box, rules: Rules) -> bool:
    """Return whether a shape is a grid of rules: rules at its top and bottom, and inside it both ways."""
    rows = rules.heights(shape.left, shape.right, share=0.9)
    columns = {round(rule.centre) for rule in rules.vertical}
    return len(rows) > 2 and len(columns) > 2 and rows[0] - shape.top < 3 and shape.bottom - rows[-1] < 3


def within_rules(region: Region, content: PageContent, others: Sequence[Region]) -> Box:
    """Return the box of a table, adjusted to the rules of equal length that run through it or just beyond.

    If there are three such rules or more, a caption or note that the detector included is cut off at the
    first or the last one.
    """
    box = region.box
    near = Box(box.left - 2 * REACH, box.top - REACH, box.right + 2 * REACH, box.bottom + REACH)
    rules = [
        rule
        for rule in read_rules(content.rules, near).horizontal
        if rule.width > 0.5 * box.width and box.top - REACH <= rule.middle <= box.bottom + REACH
    ]
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
    if len(alike) < 3 or _in_columns(box._replace(bottom=top), content):
        top = min(box.top, top)
    if len(alike) < 3 or _in_columns(box._replace(top=bottom), content):
        bottom = max(box.bottom, bottom)
    return Box(min(box.left, longest.left), top, max(box.right, longest.right), bottom)


def _in_columns(box: Box, content: PageContent) -> bool:
    """Return whether the lines in a box look like table rows: they have two pieces or more on average."""
    rows = lines(word for word in content.words if word.box.inside(box) > 0.5)
    return sum(len(row.pieces) for row in rows) >= 2 * len(rows) > 0


def _beyond(rule: Box, box: Box, blocks: Iterable[Box], closed: tuple[bool, bool]) -> bool:
    """Return whether a rule is outside of a table and separated from it by another block or an end rule.
    `closed` says whether the table has a rule at its top and at its bottom."""
    if rule.middle < box.top - 4:
        return closed[0] or any(rule.middle < block.middle and block.bottom < box.top + 2 for block in blocks)
    if rule.middle > box.bottom + 4:
        return closed[1] or any(block.middle < rule.middle and box.bottom < block.top + 2 for block in blocks)
    return False


def missed_pictures(regions: Iterable[Region], content: PageContent) -> list[Box]:
    """Return the large images, and drawings that contain images, that are in no figure or table region."""
    images = content.images
    drawings = [box for box in content.drawings if any(image.inside(box) > 0.9 for image in images)]
    large = [box for box in _together([*images, *drawings]) if box.area >= PICTURE * content.page.area]
    known = [region.box for region in regions if region.label in (FIGURE, TABLE)]
    return [
        box
        for box in large
        if box.area < WHOLE_PAGE * content.page.area and not any(box.inside(other) > 0.7 for other in known)
    ]


def _together(boxes: Iterable[Box], apart: float = 3.0) -> list[Box]:
    """Merge boxes that touch, such as the tiles of one image."""
    found: list[Box] = []
    for box in boxes:
        touching = [other for other in found if other.grown(apart).shared(box.grown(apart))]
        found = [other for other in found if other not in touching]
        found.append(union([box, *touching]))
    return found


def _grid(box: Box, content: PageContent) -> Grid:
    """Read the words and rules in a box as a table."""
    words = [word for word in content.words if word.box.inside(box) > 0.5]
    return read_table(words, read_rules(content.rules, box))
