"""What Docling knows of a page, as plain boxes from the top left corner."""

from __future__ import annotations

from docling.datamodel.base_models import Page
from docling_core.types.doc import BoundingBox

from fathoms.ingest.docling.offline.boxes import Box

RULE = 2.5
"""Points: what is drawn thicker is no rule."""


def box_of(box: BoundingBox) -> Box:
    """A box of Docling's that counts from the top left corner."""
    return Box(min(box.l, box.r), min(box.t, box.b), max(box.l, box.r), max(box.t, box.b))


def page_rules(page: Page) -> list[Box]:
    """The rules drawn on a page: strokes and the edges of boxes, thin filled rectangles."""
    if page._backend is None:
        return []
    thin = page._backend.get_thin_shape_boxes(max_thickness=RULE) or []
    strokes = page._backend.get_shape_lines() or []
    return [box_of(box) for box in [*thin, *strokes]]


def page_drawings(page: Page) -> list[Box]:
    """What is drawn with lines and fills, shapes that touch taken together."""
    found = page._backend.get_connected_shape_bounding_boxes() if page._backend else None
    return [box_of(box) for box in found or []]


def page_bitmaps(page: Page) -> list[Box]:
    """The images on a page."""
    return [box_of(box) for box in page._backend.get_bitmap_rects()] if page._backend else []
