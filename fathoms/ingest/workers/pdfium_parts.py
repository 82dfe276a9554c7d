"""Cuts pages out of one PDF. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Write `options["length"]` pages from `options["first"]` on (from 1) as `part.pdf` into
    `options["folder"]`."""
    first, length = options["first"], options["length"]
    with pdfium.PdfDocument(path) as document, pdfium.PdfDocument.new() as part:
        part.import_pages(document, list(range(first - 1, first - 1 + length)))
        part.save(Path(options["folder"]) / "part.pdf")
    return {"page_count": length, "pages": [{"text": ""}] * length, "warnings": []}
