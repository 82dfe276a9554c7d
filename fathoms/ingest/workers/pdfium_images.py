"""Renders the pages of one PDF. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument, RawPage

POINTS_PER_INCH = 72
LONGEST_SIDE = 8000
"""Longest side of an image in pixels; a page that is metres wide is rendered at a lower resolution."""
ATTEMPTS = 8
"""How often a page is rendered smaller, at most, until its file is small enough."""
LEVEL = 3
"""Level of compression of a PNG file. Zlib's own, 6, takes half as long again, and made the files of 57 pages
of papers and of the sample corpus a fifth larger."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Write `0001.png`, `0002.png`, ... into `options["folder"]`, at `options["dpi"]` dots an inch.

    The resolution of a page is lower where its image would have more than `options["max_pixels"]` pixels, a
    side of more than `options["max_side"]` pixels, or a file of more than `options["max_bytes"]` bytes; a
    bound that is missing or `None` does not apply.
    """
    with pdfium.PdfDocument(path) as document:
        count = len(document)
        wanted = min(count, options["max_pages"])
        pages = [_render(document, index, options) for index in range(wanted)]
        return {"page_count": count, "pages": pages, "warnings": []}


def _render(document: pdfium.PdfDocument, index: int, options: dict[str, Any]) -> RawPage:
    """Render one page; a page that PDFium cannot render has no image."""
    try:
        page = document[index]
        width, height = page.get_size()
        scale = _scale(width, height, options)
        image = page.render(scale=scale).to_pil().convert("RGB")
    except pdfium.PdfiumError:
        return {"text": None, "pictures": 0}
    path = Path(options["folder"]) / f"{index + 1:04}.png"
    image.save(path, compress_level=LEVEL)
    most: int = options.get("max_bytes") or 0
    for _ in range(ATTEMPTS if most else 0):
        if (size := path.stat().st_size) <= most:
            break
        scale *= max(0.5, 0.95 * math.sqrt(most / size))  # the size of a file grows about as its pixels do
        page.render(scale=scale).to_pil().convert("RGB").save(path, compress_level=LEVEL)
    return {"text": "", "pictures": 0}


def _scale(width: float, height: float, options: dict[str, Any]) -> float:
    """Return how many pixels to render for a point of a page of this size in points."""
    side: int = min(options.get("max_side") or LONGEST_SIDE, LONGEST_SIDE)
    pixels: int | None = options.get("max_pixels")
    dpi: int = options["dpi"]
    scale = min(dpi / POINTS_PER_INCH, side / max(width, height))
    if pixels is None:
        return scale
    scale = min(scale, math.sqrt(pixels / (width * height)))
    while scale * max(width, height) > 1 and math.ceil(width * scale) * math.ceil(height * scale) > pixels:
        scale *= 0.999  # PDFium rounds both sides up
    return scale
