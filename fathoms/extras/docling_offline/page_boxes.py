"""Converts Docling's page geometry to `Box` values: points from the top left corner of the page."""

from __future__ import annotations

from docling.datamodel.base_models import Page
from docling_core.types.doc import BoundingBox

from fathoms.extras.docling_offline.boxes import Box

RULE = 2.5
"""Maximum thickness of a rule (a drawn line), in points."""


def box_of(box: BoundingBox) -> Box:
    """Convert a Docling box that already has its origin at the top left corner."""
    return Box(min(box.l, box.r), min(box.t, box.b), max(box.l, box.r), max(box.t, box.b))


def page_rules(page: Page) -> list[Box]:
    """Return the rules drawn on a page: stroked lines, the edges of boxes, and thin filled rectangles."""
    if page._backend is None:
        return []
    thin = page._backend.get_thin_shape_boxes(max_thickness=RULE) or []
    strokes = page._backend.get_shape_lines() or []
    return [box_of(box) for box in [*thin, *strokes]]


def page_drawings(page: Page) -> list[Box]:
    """Return the bounding boxes of the vector drawings on a page; shapes that touch count as one."""
    found = page._backend.get_connected_shape_bounding_boxes() if page._backend else None
    return [box_of(box) for box in found or []]


def page_bitmaps(page: Page) -> list[Box]:
    """Return the boxes of the bitmap images on a page."""
    return [box_of(box) for box in page._backend.get_bitmap_rects()] if page._backend else []
