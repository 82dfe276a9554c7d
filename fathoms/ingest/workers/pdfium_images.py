"""Renders the pages of one PDF. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

if TYPE_CHECKING:
    from fathoms.ingest.parsers.raw import RawDocument, RawPage

POINTS_PER_INCH = 72
LONGEST_SIDE = 8000
"""Longest side of an image in pixels; a page that is metres wide is rendered at a lower resolution."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Write `0001.png`, `0002.png`, ... into `options["folder"]`, at `options["dpi"]` dots an inch."""
    with pdfium.PdfDocument(path) as document:
        count = len(document)
        wanted = min(count, options["max_pages"])
        pages = [_render(document, index, options) for index in range(wanted)]
        return {"page_count": count, "pages": pages, "warnings": []}


def _render(document: pdfium.PdfDocument, index: int, options: dict[str, Any]) -> RawPage:
    """Render one page; a page that PDFium cannot render has no image."""
    try:
        page = document[index]
        scale = min(options["dpi"] / POINTS_PER_INCH, LONGEST_SIDE / max(page.get_size()))
        image = page.render(scale=scale).to_pil().convert("RGB")
    except pdfium.PdfiumError:
        return {"text": None, "pictures": 0}
    image.save(Path(options["folder"]) / f"{index + 1:04}.png")
    return {"text": "", "pictures": 0}
