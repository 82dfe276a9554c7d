"""Reads one PDF with PDFium. It runs in a child process and therefore imports nothing of fathoms."""

from __future__ import annotations

import ctypes
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

if TYPE_CHECKING:
    from fathoms.ingest.parsers.raw import RawDocument, RawPage

MISSING_TEXT = runpy.run_path(str(Path(__file__).with_name("missing_text.py")))
"""The module `missing_text`. It is run by its path, because an import would load all of `ingest`."""

LINE_END_HYPHEN = "\ufffe"
"""The character with which PDFium replaces a hyphen and the line break after it."""


def _untyped(function: Any, *types: Any) -> Any:
    """Return a function of PDFium that takes and returns addresses as numbers, given the type of its result
    and those of its arguments: it is called for every object of every page, and with typed pointers ctypes
    takes half as long again."""
    address: Any = ctypes.cast(function, ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(*types)(address)


_AT, _INT = ctypes.c_void_p, ctypes.c_int
_ON_PAGE = (
    _untyped(pdfium_c.FPDFPage_CountObjects, _INT, _AT),
    _untyped(pdfium_c.FPDFPage_GetObject, _AT, _AT, _INT),
)
_IN_FORM = (
    _untyped(pdfium_c.FPDFFormObj_CountObjects, _INT, _AT),
    _untyped(pdfium_c.FPDFFormObj_GetObject, _AT, _AT, ctypes.c_ulong),
)
_KIND = _untyped(pdfium_c.FPDFPageObj_GetType, _INT, _AT)

MAX_PICTURES = 1000
MAX_DEPTH = 15
"""How deep nested forms are searched for pictures; a hostile file nests them without end."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`."""
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        return {"error": refusal(error)}
    with document:
        count = len(document)
        read = [_read_page(document, index) for index in range(min(count, options["max_pages"]))]
        pages = [page for page, _ in read]
        sound = pdfium_c.FPDF_DocumentHasValidCrossReferenceTable(document)
        warnings = [] if sound else ["repaired: the cross-reference table was rebuilt"]
        facts = [(page["text"], shows) for page, shows in read]
        try:
            warnings += MISSING_TEXT["missing_text"](path, facts, count)
        except MemoryError:  # no failure, because the text has already been read
            warnings.append("not checked for missing text: memory_mb is too low for that")
        return {"page_count": count, "pages": pages, "warnings": warnings}


def refusal(error: pdfium.PdfiumError) -> tuple[str, str]:
    """Return why PDFium did not open the file: a reason of DocumentError, and a sentence."""
    if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
        return "encrypted", "is protected by a password; save a copy without it"
    if error.err_code == pdfium_c.FPDF_ERR_SECURITY:
        return "encrypted", "is encrypted in a way that PDFium does not know; save a copy without encryption"
    return "damaged", "is damaged beyond what PDFium can repair; fetch it again, or try kind: pymupdf"


def _read_page(document: pdfium.PdfDocument, index: int) -> tuple[RawPage, int]:
    """Read one page, and count its objects that show text, at most `MAX_PICTURES` and only if it has no text.
    A page that PDFium cannot read has no text."""
    try:
        page = document[index]
        text = _text(page.get_textpage())
        at = ctypes.cast(page.raw, ctypes.c_void_p).value
        pictures = _count(at, pdfium_c.FPDF_PAGEOBJ_IMAGE)
        shows = 0 if text.strip() else _count(at, pdfium_c.FPDF_PAGEOBJ_TEXT)
    except pdfium.PdfiumError:
        return {"text": None, "pictures": 0}, 0
    page.close()
    return {"text": text, "pictures": pictures}, shows


def _count(parent: int | None, kind: int, depth: int = MAX_DEPTH) -> int:
    """Count the objects of a kind on the page at an address, or in a form if `depth` is less, at most
    `MAX_PICTURES`.

    It uses the raw calls, because pypdfium2's `get_objects` makes a Python object of each one,
    which takes about half as long as reading the text.
    """
    count, get = _ON_PAGE if depth == MAX_DEPTH else _IN_FORM
    found = 0
    for index in range(count(parent)):
        each = get(parent, index)
        its_kind = _KIND(each)
        if its_kind == kind:
            found += 1
        elif its_kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth > 1:
            found += _count(each, kind, depth - 1)
        if found >= MAX_PICTURES:
            return MAX_PICTURES
    return found


def _text(textpage: pdfium.PdfTextPage) -> str:
    """Return the text of a page, with hyphens and line breaks at line ends.

    It uses the raw call, because pypdfium2's `get_text_range` recurses over characters that have no text, and
    its `get_text_bounded` loses the line breaks after raised and lowered characters.
    """
    count = textpage.count_chars()
    units = (ctypes.c_ushort * (2 * count + 2))()
    written = pdfium_c.FPDFText_GetText(textpage, 0, count, units)
    text = bytes(units)[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    return text.replace(LINE_END_HYPHEN, "-\n")
