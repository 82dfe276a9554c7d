"""Reads one PDF with PDFium. It runs in a child process and therefore imports nothing of fathoms.

It calls the library itself, without the Python classes of pypdfium2: these make an object with a finalizer of
each document, page and text, which takes a tenth of the time, and importing them takes as long as reading 20
pages.
"""

from __future__ import annotations

import ctypes
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathoms.pdf.raw import RawDocument, RawPage


def _library() -> ctypes.CDLL:
    """Load the library that pypdfium2 brings. Importing its bindings, of all functions, takes a fifth of the
    time in which a child process starts; that is done where the library lies elsewhere."""
    spec = find_spec("pypdfium2_raw")
    folder = Path(str(spec.origin)).parent if spec else Path()
    for name in ("libpdfium.so", "libpdfium.dylib", "pdfium.dll"):
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name))
    from pypdfium2_raw import bindings

    library: ctypes.CDLL = bindings._libs["pdfium"]
    return library


class _Config(ctypes.Structure):
    """How the library is started: the version of this structure, and nothing of what only others need."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("font_paths", ctypes.c_void_p),
        ("isolate", ctypes.c_void_p),
        ("slot", ctypes.c_uint),
    )


_PDFIUM = _library()


def _function(name: str, *types: Any) -> Any:
    """Return a function of PDFium that takes and returns addresses as numbers, given the type of its result
    and those of its arguments: with typed pointers ctypes takes half as long again."""
    return ctypes.CFUNCTYPE(*types)((name, _PDFIUM))


_AT, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_ulong
_BEGIN = _function("FPDF_InitLibraryWithConfig", None, ctypes.POINTER(_Config))
_ERROR = _function("FPDF_GetLastError", _LONG)
_OPEN = _function("FPDF_LoadDocument", _AT, ctypes.c_char_p, ctypes.c_char_p)
_CLOSE = _function("FPDF_CloseDocument", None, _AT)
_PAGES = _function("FPDF_GetPageCount", _INT, _AT)
_IS_SOUND = _function("FPDF_DocumentHasValidCrossReferenceTable", _INT, _AT)
_OPEN_PAGE = _function("FPDF_LoadPage", _AT, _AT, _INT)
_CLOSE_PAGE = _function("FPDF_ClosePage", None, _AT)
_OPEN_TEXT = _function("FPDFText_LoadPage", _AT, _AT)
_CLOSE_TEXT = _function("FPDFText_ClosePage", None, _AT)
_CHARACTERS = _function("FPDFText_CountChars", _INT, _AT)
_GET_TEXT = _function("FPDFText_GetText", _INT, _AT, _INT, _INT, _AT)
_ON_PAGE = (
    _function("FPDFPage_CountObjects", _INT, _AT),
    _function("FPDFPage_GetObject", _AT, _AT, _INT),
)
_IN_FORM = (
    _function("FPDFFormObj_CountObjects", _INT, _AT),
    _function("FPDFFormObj_GetObject", _AT, _AT, _LONG),
)
_KIND = _function("FPDFPageObj_GetType", _INT, _AT)
_BEGIN(ctypes.byref(_Config(version=2)))  # which does nothing where pypdfium2 has begun

PASSWORD, SECURITY = 4, 5
"""The errors of a document that wants a password, and of one in an encryption that PDFium does not know."""
TEXT, IMAGE, FORM = 1, 3, 5
"""The kinds of objects on a page."""
LINE_END_HYPHEN = "\ufffe"
"""The character with which PDFium replaces a hyphen and the line break after it."""
MAX_PICTURES = 1000
MAX_DEPTH = 15
"""How deep nested forms are searched for pictures; a hostile file nests them without end."""


missing_text = runpy.run_path(str(Path(__file__).with_name("missing_text.py")))["missing_text"]
"""That of the module beside this one, run by its path, because an import would load all of `ingest`."""


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`."""
    document = _OPEN(path.encode("utf-8", "surrogateescape"), None)
    try:
        count = _PAGES(document)
        if count < 1:
            return {"error": refusal(_ERROR())}
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
    if code == PASSWORD:
        return "encrypted", "is protected by a password; save a copy without it"
    if code == SECURITY:
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
        shows = 0 if text.strip() else _count(page, TEXT)
        return {"text": text, "pictures": _count(page, IMAGE)}, shows
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
        elif its_kind == FORM and depth > 1:
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
