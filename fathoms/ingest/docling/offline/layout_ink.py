"""Blocks of ink on a scanned page that no region covers: the lines of a paragraph that the detector missed.

Recursive X-Y cut (Nagy and Seth, 1984): a block is cut along white that goes all the way through it, between
columns and between lines, until none is wide enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fathoms.ingest.docling.offline.boxes import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Mask = NDArray[np.bool_]

DARK = 150
"""Of 255: ink is darker."""
BETWEEN_BLOCKS, BETWEEN_COLUMNS = 9, 14
"""Points of white that cut a block: more than there is between lines, and between words."""
COLUMN = 0.3
"""The share of the page's width from which on a block beside another is a column, not the rest of a line."""
SMALLEST = 5
"""Points: a narrower or lower block is a speck, or the edge of the paper."""


def ink_blocks(image: Image, page: Box, known: Iterable[Box]) -> list[Box]:
    """The blocks of ink outside the known boxes, in the coordinates of the page, from top to bottom."""
    import numpy as np

    size = max(1, round(page.width)), max(1, round(page.height))
    mask = np.asarray(image.convert("L").resize(size)) < DARK
    for box in known:
        left, top, right, bottom = (max(0, round(side)) for side in box)
        mask[top:bottom, left:right] = False
    return list(_cut(_without_specks(mask), 0, 0, COLUMN * page.width))


def _without_specks(mask: Mask) -> Mask:
    """The dark pixels with at least two dark neighbours, above, below or beside."""
    import numpy as np

    near = np.zeros(mask.shape, dtype=int)
    near[1:] += mask[:-1]
    near[:-1] += mask[1:]
    near[:, 1:] += mask[:, :-1]
    near[:, :-1] += mask[:, 1:]
    return mask & (near > 1)


def _cut(mask: Mask, left: int, top: int, column: float) -> Iterator[Box]:
    """The blocks of the part of a page that begins at (left, top); a column is at least `column` wide."""
    across = [span for span in _stretches(mask.any(axis=0), BETWEEN_COLUMNS) if span[1] - span[0] >= SMALLEST]
    if not across:
        return
    if len(across) == 1 or min(end - begin for begin, end in across) < column:
        across = [(across[0][0], across[-1][1])]
    for begin, end in across:
        part = mask[:, begin:end]
        down = _stretches(part.any(axis=1), BETWEEN_BLOCKS)
        if len(across) == len(down) == 1 and (end - begin, down[0][1] - down[0][0]) == mask.shape[::-1]:
            yield Box(left, top, left + end - begin, top + mask.shape[0])
            continue
        for first, after in down:
            if after - first >= SMALLEST:
                yield from _cut(part[first:after], left + begin, top + first, column)


def _stretches(dark: Any, white: int) -> list[tuple[int, int]]:
    """From where to where a row of places is dark, with at most `white` light ones in between."""
    import numpy as np

    places = np.flatnonzero(dark)
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > white)
    starts = [int(places[0]), *(int(places[at + 1]) for at in breaks)]
    ends = [*(int(places[at]) + 1 for at in breaks), int(places[-1]) + 1]
    return list(zip(starts, ends, strict=True))
