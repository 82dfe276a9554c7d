"""Reads the PDF of one recording. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument

NAME = "pages.json"
"""The embedded file with the pages; `fathoms.corpora.transcripts` writes it."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Return the pages as they were embedded, at most `options["max_pages"]`."""
    with pdfium.PdfDocument(path) as document:
        files = [document.get_attachment(number) for number in range(document.count_attachments())]
        found = [bytes(file.get_data()) for file in files if file.get_name() == NAME]
    if not found:
        return {"error": ("damaged", "is a PDF that was not made of a transcript; call it .pdf")}
    pages = json.loads(found[0])
    return {"page_count": len(pages), "pages": pages[: options["max_pages"]], "warnings": []}
