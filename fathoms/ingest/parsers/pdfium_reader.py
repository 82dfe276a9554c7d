"""Reads one PDF with PDFium. It runs in a child process and therefore imports nothing of fathoms.

It calls the library itself, without the Python classes of pypdfium2: these make an object with a finalizer of
each document, page and text, which takes a tenth of the time, and the process starts slower with them.
"""

from __future__ import annotations

import ctypes
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2_raw as pdfium_c

if TYPE_CHECKING:
    from fathoms.ingest.parsers.raw import RawDocument, RawPage


def _untyped(function: Any, *types: Any) -> Any:
    """Return a function of PDFium that takes and returns addresses as numbers, given the type of its result
    and those of its arguments: with typed pointers ctypes takes half as long again."""
    address: Any = ctypes.cast(function, ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(*types)(address)


_AT, _INT = ctypes.c_void_p, ctypes.c_int
_OPEN = _untyped(pdfium_c.FPDF_LoadDocument, _AT, ctypes.c_char_p, ctypes.c_char_p)
_CLOSE = _untyped(pdfium_c.FPDF_CloseDocument, None, _AT)
_PAGES = _untyped(pdfium_c.FPDF_GetPageCount, _INT, _AT)
_IS_SOUND = _untyped(pdfium_c.FPDF_DocumentHasValidCrossReferenceTable, _INT, _AT)
_OPEN_PAGE = _untyped(pdfium_c.FPDF_LoadPage, _AT, _AT, _INT)
_CLOSE_PAGE = _untyped(pdfium_c.FPDF_ClosePage, None, _AT)
_OPEN_TEXT = _untyped(pdfium_c.FPDFText_LoadPage, _AT, _AT)
_CLOSE_TEXT = _untyped(pdfium_c.FPDFText_ClosePage, None, _AT)
_CHARACTERS = _untyped(pdfium_c.FPDFText_CountChars, _INT, _AT)
_GET_TEXT = _untyped(pdfium_c.FPDFText_GetText, _INT, _AT, _INT, _INT, _AT)
_ON_PAGE = (
    _untyped(pdfium_c.FPDFPage_CountObjects, _INT, _AT),
    _untyped(pdfium_c.FPDFPage_GetObject, _AT, _AT, _INT),
)
_IN_FORM = (
    _untyped(pdfium_c.FPDFFormObj_CountObjects, _INT, _AT),
    _untyped(pdfium_c.FPDFFormObj_GetObject, _AT, _AT, ctypes.c_ulong),
)
_KIND = _untyped(pdfium_c.FPDFPageObj_GetType, _INT, _AT)

LINE_END_HYPHEN = "\ufffe"
"""The character with which PDFium replaces a hyphen and the line break after it."""
MAX_PICTURES = 1000
MAX_DEPTH = 15
"""How deep nested forms are searched for pictures; a hostile file nests them without end."""


def _begin() -> None:
    """Start the library, which does nothing where pypdfium2 has started it."""
    config = pdfium_c.FPDF_LIBRARY_CONFIG(
        version=2, m_pUserFontPaths=None, m_pIsolate=None, m_v8EmbedderSlot=0
    )
    pdfium_c.FPDF_InitLibraryWithConfig(config)


missing_text = runpy.run_path(str(Path(__file__).with_name("missing_text.py")))["missing_text"]
"""That of the module beside this one, run by its path, because an import would load all of `ingest`."""
_begin()


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`."""
    document = _OPEN(path.encode("utf-8", "surrogateescape"), None)
    try:
        count = _PAGES(document)
        if count < 1:
            return {"error": refusal(pdfium_c.FPDF_GetLastError())}
        read = [_read_page(document, index) for index in range(min(count, options["max_pages"]))]
        warnings = [] if _IS_SOUND(document) else ["repaired: the cross-reference table was rebuilt"]
    finally:
        _CLOSE(document)
    facts = [(page["text"], shows) for page, shows in read]
    try:
        warnings += missing_text(path, facts, count)
    except MemoryError:  # no failure, because the text has already been read
        warnings.append("not checked for missing text: memory_mb is too low for that")
    return {"page_count": count, "pages": [page for page, _ in read], "warnings": warnings}


def refusal(code: int) -> tuple[str, str]:
    """Return why PDFium did not open the file, given its code of the error: a reason of DocumentError, and a
    sentence."""
    if code == pdfium_c.FPDF_ERR_PASSWORD:
        return "encrypted", "is protected by a password; save a copy without it"
    if code == pdfium_c.FPDF_ERR_SECURITY:
        return "encrypted", "is encrypted in a way that PDFium does not know; save a copy without encryption"
    return "damaged", "is damaged beyond what PDFium can repair; fetch it again, or try kind: pymupdf"


def _read_page(document: int, index: int) -> tuple[RawPage, int]:
    """Read one page, and count its objects that show text, at most `MAX_PICTURES` and only if it has no text.
    A page that PDFium cannot read has no text."""
    page = _OPEN_PAGE(document, index)
    try:
        text = _text(page) if page else None
        if text is None:
            return {"text": None, "pictures": 0}, 0
        shows = 0 if text.strip() else _count(page, pdfium_c.FPDF_PAGEOBJ_TEXT)
        return {"text": text, "pictures": _count(page, pdfium_c.FPDF_PAGEOBJ_IMAGE)}, shows
    finally:
        _CLOSE_PAGE(page)


def _count(parent: int, kind: int, depth: int = MAX_DEPTH) -> int:
    """Count the objects of a kind on the page at an address, or in a form if `depth` is less, at most
    `MAX_PICTURES`."""
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


def _text(page: int) -> str | None:
    """Return the text of a page, with hyphens and line breaks at line ends; `None` if it cannot be read.

    PDFium's call for text in a box, which pypdfium2 uses, loses the line breaks after raised and lowered
    characters.
    """
    text = _OPEN_TEXT(page)
    try:
        count = _CHARACTERS(text)
        if count < 0:
            return None
        units = bytearray(4 * count + 4)
        written = _GET_TEXT(text, 0, count, ctypes.byref(ctypes.c_char.from_buffer(units)))
    finally:
        _CLOSE_TEXT(text)
    found = units[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    return found.replace(LINE_END_HYPHEN, "-\n")
