"""Reads one PDF with PyMuPDF. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymupdf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathoms.pdf.raw import RawDocument, RawPage

join_lines = runpy.run_path(str(Path(__file__).parents[2] / "text" / "joining.py"))["join_lines"]
"""That of a module of fathoms, run by its path, because an import would load more of it."""
ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
"""An alef before a lam: where both come from one glyph, which is drawn as lam and alef, they are reversed."""
FAILURES = (RuntimeError, pymupdf.mupdf.FzErrorBase)
MAX_PICTURES = 1000
NARROW = 0.01
DAMAGED = "is damaged beyond what MuPDF can repair; fetch it again, or try kind: pdfium"


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`; `options["join_lines"]` says whether to join
    broken words and lines."""
    joins = bool(options.get("join_lines"))
    shown = pymupdf.TOOLS.mupdf_display_errors()
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.reset_mupdf_warnings()
    try:
        with pymupdf.open(path, filetype="pdf") as document:
            if document.needs_pass:
                return {"error": ("encrypted", "is protected by a password; save a copy without it")}
            count = document.page_count
            pages = [_read_page(document, index, joins) for index in range(min(count, options["max_pages"]))]
            if joins:
                for page, text in zip(pages, join_lines([page["text"] or "" for page in pages]), strict=True):
                    page["text"] = None if page["text"] is None else text
            warnings = ["repaired: the cross-reference table was rebuilt"] if document.is_repaired else []
            warnings += pymupdf.TOOLS.mupdf_warnings().splitlines()
            return {"page_count": count, "pages": pages, "warnings": warnings}
    except FAILURES as error:
        _check_memory(error)
        return {"error": ("damaged", DAMAGED)}
    finally:
        pymupdf.TOOLS.mupdf_display_errors(shown)


def _read_page(document: pymupdf.Document, index: int, joins: bool) -> RawPage:
    """Read one page; a page that MuPDF cannot read has no text."""
    try:
        page = document[index]
        text = page.get_text()
        if joins and ALEF_LAM.search(text):
            shared = _share_glyphs(page)
            text = ALEF_LAM.sub(lambda pair: pair[0][::-1] if next(shared, False) else pair[0], text)
        pictures = min(len(page.get_image_info()), MAX_PICTURES)
    except FAILURES as error:
        _check_memory(error)
        return {"text": None, "pictures": 0}
    return {"text": text, "pictures": pictures}


def _share_glyphs(page: pymupdf.Page) -> Iterator[bool]:
    """Yield for each alef before a lam whether one glyph shows both: the alef then has no width."""
    for block in page.get_text("rawdict")["blocks"]:
        for line in block.get("lines", ()):
            characters = [character for span in line["spans"] for character in span["chars"]]
            for pair in ALEF_LAM.finditer("".join(character["c"] for character in characters)):
                left, _, right, _ = characters[pair.start()]["bbox"]
                yield right - left < NARROW


def _check_memory(error: Exception) -> None:
    """Raise MemoryError if MuPDF ran out of memory, which only the text of its errors tells."""
    if "alloc (" in f"{error} {pymupdf.TOOLS.mupdf_warnings(reset=False)}":
        raise MemoryError from error
