"""Renders small images of some pages. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument, RawPage

TALLEST = 3
"""Largest ratio of height to width; a longer page is rendered narrower."""
QUALITY = 60


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Write `0001.jpg`, ... for the pages `options["numbers"]` into `options["folder"]`, at most
    `options["width"]` pixels wide."""
    with pdfium.PdfDocument(path) as document:
        numbers = [number for number in options["numbers"] if 0 < number <= len(document)]
        pages = [_render(document, number, options) for number in numbers]
        return {"page_count": len(pages), "pages": pages, "warnings": []}


def _render(document: pdfium.PdfDocument, number: int, options: dict[str, Any]) -> RawPage:
    """Render one page; a page that PDFium cannot render has no picture. Its only element is the page itself,
    with its number as text and its size in points as box."""
    width = options["width"]
    try:
        page = document[number - 1]
        size = page.get_width(), page.get_height()
        scale = min(width / size[0], TALLEST * width / size[1])
        image = page.render(scale=scale).to_pil().convert("RGB")
    except (pdfium.PdfiumError, ZeroDivisionError):
        return {"text": None, "pictures": 0}
    image.save(Path(options["folder"]) / f"{number:04}.jpg", quality=QUALITY, optimize=True)
    return {"text": "", "elements": [{"kind": "picture", "text": str(number), "bbox": (0.0, 0.0, *size)}]}
