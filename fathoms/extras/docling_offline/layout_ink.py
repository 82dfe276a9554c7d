"""Finds blocks of ink on a scanned page that no region covers, such as paragraphs that the detector missed.

The method is the recursive X-Y cut (Nagy and Seth, 1984): a block is cut along white bands that go all the
way through it, between columns and between lines, until no band is wide enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fathoms.extras.docling_offline.boxes import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Mask = NDArray[np.bool_]

DARK = 150
"""Grey level, 0 to 255, below which a pixel counts as ink."""
BETWEEN_BLOCKS, BETWEEN_COLUMNS = 9, 14
"""White bands wider than this, in points, cut a block; lines and words respectively are closer together."""
COLUMN = 0.3
"""Minimum width of a column, as a share of the page width; a narrower block is part of a line."""
SMALLEST = 5
"""Minimum width and height of a block in points; anything smaller is a speck or the edge of the paper."""


def ink_blocks(image: Image, page: Box, known: Iterable[Box]) -> list[Box]:
    """Return the blocks of ink outside the known boxes, in page coordinates."""
    import numpy as np

    # One pixel per point, so that the limits above, which are in points, also hold for pixels.
    size = max(1, round(page.width)), max(1, round(page.height))
    mask = np.asarray(image.convert("L").resize(size)) < DARK
    for box in known:
        left, top, right, bottom = (max(0, round(side)) for side in box)
        mask[top:bottom, left:right] = False
    return list(_cut(_without_specks(mask), 0, 0, COLUMN * page.width))


def _without_specks(mask: Mask) -> Mask:
    """Keep only the dark pixels that have at least two dark pixels among their four neighbours."""
    import numpy as np

    near = np.zeros(mask.shape, dtype=int)
    near[1:] += mask[:-1]
    near[:-1] += mask[1:]
    near[:, 1:] += mask[:, :-1]
    near[:, :-1] += mask[:, 1:]
    return mask & (near > 1)


def _cut(mask: Mask, left: int, top: int, column: float) -> Iterator[Box]:
    """Yield the blocks in a part of a page, by cutting it recursively. The top left corner of `mask` is at
    (left, top) on the page; a column is at least `column` points wide."""
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
    """Return the ranges (start, end) of dark places; up to `white` light places do not end a range."""
    import numpy as np

    places = np.flatnonzero(dark)
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > white)
    starts = [int(places[0]), *(int(places[at + 1]) for at in breaks)]
    ends = [*(int(places[at]) + 1 for at in breaks), int(places[-1]) + 1]
    return list(zip(starts, ends, strict=True))
