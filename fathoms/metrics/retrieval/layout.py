"""Layout boxes: how much of the gold boxes the boxes of chunks overlap.

A box is (x0, y0, x1, y1) in points from the top left corner of its page. Overlaps are those of the union of
boxes: what two chunks cover is counted once, and so is what two gold boxes share. A recall thus cannot exceed
1; it can in the released code of MMDocIR, which adds overlaps up (`added`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from fathoms.metrics.retrieval.coverage import boxes_of
from fathoms.metrics.retrieval.gold import GoldBox
from fathoms.types import Box, Chunk, Place

FOUND = 0.5
"""A gold box is found when this share of its area is covered."""


def area(boxes: Iterable[Box]) -> float:
    """Return the area of the union of boxes on one page, in square points."""
    drawn = [box for box in boxes if box[0] < box[2] and box[1] < box[3]]
    edges = sorted({edge for box in drawn for edge in (box[0], box[2])})
    total = 0.0
    for left, right in pairwise(edges):
        low = float("-inf")
        height = 0.0
        for top, bottom in sorted((box[1], box[3]) for box in drawn if box[0] <= left and box[2] >= right):
            height += max(0.0, bottom - max(top, low))
            low = max(low, bottom)
        total += (right - left) * height
    return total


def overlap(gold: Iterable[Box], boxes: Sequence[Box]) -> float:
    """Return the area of the gold boxes on one page that the other boxes cover."""
    return area(
        (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])) for a in gold for b in boxes
    )


def layout_recall(gold: Iterable[GoldBox], chunks: Iterable[Chunk], *, added: bool = False) -> float | None:
    """Return the overlap area of the boxes of chunks and the gold boxes, over the area of the gold boxes, in
    [0, 1]; `None` if the gold boxes have no area. The areas of several pages are added up.

    With `added`, it is that of `added_recall`.
    """
    retrieved = [placed for chunk in chunks for placed in boxes_of(chunk)]
    if added:
        return added_recall(list(gold), retrieved)
    by_page: dict[Place, list[Box]] = {}
    for place, box in gold:
        by_page.setdefault(place, []).append(box)
    whole = sum(map(area, by_page.values()))
    covered = sum(
        overlap(boxes, [box for page, box in retrieved if page == place]) for place, boxes in by_page.items()
    )
    return covered / whole if whole else None


def added_recall(gold: Sequence[GoldBox], boxes: Sequence[GoldBox]) -> float | None:
    """Return the overlaps of every gold box with every other box, added up, over the areas of the gold boxes,
    added up, as in MMDocIR's released code; `None` if the gold boxes have no area."""
    size = sum(area([box]) for _, box in gold)
    found = sum(overlap([box], [other]) for place, box in gold for page, other in boxes if page == place)
    return found / size if size else None


def ranked_boxes(gold: Sequence[GoldBox], chunks: Iterable[Chunk]) -> list[GoldBox | str]:
    """Return what ranked chunks cover: the gold boxes that each chunk finds, or else the id of the chunk.

    A gold box is found by the first chunk with which at least half of its area (`FOUND`) is covered. A chunk
    that only covers boxes that are found already takes no place, as a second chunk of a page takes none.
    """
    covered: dict[Place, list[Box]] = {}
    found: list[GoldBox | str] = []
    for chunk in chunks:
        own = boxes_of(chunk)
        again = False
        new = []
        for place, box in own:
            covered.setdefault(place, []).append(box)
        for one in gold:
            place, box = one
            if not any(page == place and overlap([box], [other]) for page, other in own):
                continue
            if one in found:
                again = True
            elif overlap([box], covered[place]) >= FOUND * area([box]):
                new.append(one)
        found += new or ([] if again else [chunk.id])
    return found
