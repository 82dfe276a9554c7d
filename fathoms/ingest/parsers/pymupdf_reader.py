"""Reads one PDF with PyMuPDF. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pymupdf

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument, RawPage

FAILURES = (RuntimeError, pymupdf.mupdf.FzErrorBase)
MAX_PICTURES = 1000
DAMAGED = "is damaged beyond what MuPDF can repair; fetch it again, or try kind: pdfium"


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`."""
    shown = pymupdf.TOOLS.mupdf_display_errors()
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.reset_mupdf_warnings()
    try:
        with pymupdf.open(path, filetype="pdf") as document:
            if document.needs_pass:
                return {"error": ("encrypted", "is protected by a password; save a copy without it")}
            count = document.page_count
            pages = [_read_page(document, index) for index in range(min(count, options["max_pages"]))]
            warnings = ["repaired: the cross-reference table was rebuilt"] if document.is_repaired else []
            warnings += pymupdf.TOOLS.mupdf_warnings().splitlines()
            return {"page_count": count, "pages": pages, "warnings": warnings}
    except FAILURES as error:
        _check_memory(error)
        return {"error": ("damaged", DAMAGED)}
    finally:
        pymupdf.TOOLS.mupdf_display_errors(shown)


def _read_page(document: pymupdf.Document, index: int) -> RawPage:
    """Read one page; a page that MuPDF cannot read has no text."""
    try:
        page = document[index]
        text = page.get_text()
        pictures = min(len(page.get_image_info()), MAX_PICTURES)
    except FAILURES as error:
        _check_memory(error)
        return {"text": None, "pictures": 0}
    return {"text": text, "pictures": pictures}


def _check_memory(error: Exception) -> None:
    """Raise MemoryError if MuPDF ran out of memory, which only the text of its errors tells."""
    if "alloc (" in f"{error} {pymupdf.TOOLS.mupdf_warnings(reset=False)}":
        raise MemoryError from error
