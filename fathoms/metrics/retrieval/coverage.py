"""What a chunk covers: its document, pages and boxes.

| chunk | pages that it covers |
|---|---|
| a piece of text | every page with a part of it, so both pages if it begins on one and ends on the next |
| a whole document | the pages whose text it holds, all of them unless the document was cut off |
| an attached file | all pages of the file, or those that were cut out of it |
| the image of a page | that page |
| a context whose service names no document or no page | unknown |
"""

from __future__ import annotations

from fathoms.metrics.retrieval.gold import GoldBox
from fathoms.types import Chunk, Place

UNKNOWN_PAGE = 0
"""The number of a page that is not known; it is never a gold page."""


def pages_of(chunk: Chunk) -> tuple[Place, ...]:
    """Return the pages that a chunk covers, in order; empty if they are not known."""
    return chunk.places


def boxes_of(chunk: Chunk) -> tuple[GoldBox, ...]:
    """Return the layout boxes that a chunk is made of, each with its page; empty if they are not known."""
    return tuple(((chunk.source, placed.page), placed.bbox) for placed in chunk.boxes)
