"""Reads one PDF with PDFium. It runs in a child process and therefore imports nothing of fathoms.

It calls the library itself, without the Python classes of pypdfium2: these make an object with a finalizer of
each document, page and text, which takes a tenth of the time, and importing them takes as long as reading 20
pages.
"""

from __future__ import annotations

import ctypes
import math
import re
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
_BOUNDS = _function("FPDFPageObj_GetBounds", _INT, _AT, _AT, _AT, _AT, _AT)
_MATRIX = _function("FPDFPageObj_GetMatrix", _INT, _AT, _AT)
_FONT_SIZE = _function("FPDFTextObj_GetFontSize", _INT, _AT, _AT)
_CHARACTER_AT = _function("FPDFText_GetCharIndexFromTextIndex", _INT, _AT, _INT)
_ORIGIN = _function("FPDFText_GetCharOrigin", _INT, _AT, _INT, _AT, _AT)
_BEGIN_FORMS = _function("FPDFDOC_InitFormFillEnvironment", _AT, _AT, _AT)
_END_FORMS = _function("FPDFDOC_ExitFormFillEnvironment", None, _AT)
_ANNOTATIONS = _function("FPDFPage_GetAnnotCount", _INT, _AT)
_ANNOTATION = _function("FPDFPage_GetAnnot", _AT, _AT, _INT)
_CLOSE_ANNOTATION = _function("FPDFPage_CloseAnnot", None, _AT)
_SUBTYPE = _function("FPDFAnnot_GetSubtype", _INT, _AT)
_FLAGS = _function("FPDFAnnot_GetFlags", _INT, _AT)
_STRING = _function("FPDFAnnot_GetStringValue", _LONG, _AT, ctypes.c_char_p, _AT, _LONG)
_FIELD_KIND = _function("FPDFAnnot_GetFormFieldType", _INT, _AT, _AT)
_FIELD_FLAGS = _function("FPDFAnnot_GetFormFieldFlags", _INT, _AT, _AT)
_FIELD_VALUE = _function("FPDFAnnot_GetFormFieldValue", _LONG, _AT, _AT, _AT, _LONG)
_FIELD_LABEL = _function("FPDFAnnot_GetFormFieldAlternateName", _LONG, _AT, _AT, _AT, _LONG)
_FIELD_NAME = _function("FPDFAnnot_GetFormFieldName", _LONG, _AT, _AT, _AT, _LONG)
_BEGIN(ctypes.byref(_Config(version=2)))  # without effect if pypdfium2 did this before

PASSWORD, SECURITY = 4, 5
"""The errors of a document that wants a password, and of one in an encryption that PDFium does not know."""
TEXT, IMAGE, FORM = 1, 3, 5
"""The kinds of objects on a page."""
LINE_END_HYPHEN = "\ufffe"
"""The character with which PDFium replaces a hyphen and the line break after it."""
MAX_PICTURES = 1000
MOST_OBJECTS = 200_000
"""How many objects of a page are looked at, those in its forms included."""
MAX_NOTES = 10_000
"""How many annotations of a page are looked at."""
NARROW = 0.01
"""Width in points below which PDFium leaves out a text object, whatever it says: that of vertical text whose
font is not in the file."""
FREE_TEXT, WIDGET = 3, 20
"""The kinds of annotations with text of a page's own: free text, and fields of a form."""
HIDDEN = 2 | 32
"""The flags of annotations that no page shows."""
TICK_BOX, RADIO, DROP_DOWN, LIST, TEXT_FIELD = 2, 3, 4, 5, 6
"""The kinds of fields with a value that a page shows."""
PASSWORD_FIELD = 1 << 13
LEAST_LOST, LEAST_SHARE = 2, 0.01
"""With no more characters than this left out of a page, or no larger a share of its text, nothing is said."""
MOST_IN_ONE = 10_000
"""Most characters that are assumed in one text object."""
LONGEST_VALUE = 2 * 1024 * 1024
"""Longest value in bytes that is read of one field."""
ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
"""An alef before a lam: where both come from one glyph, which is drawn as lam and alef, they are reversed."""
MAX_DEPTH = 15
"""How deep nested forms are searched for pictures; a hostile file nests them without end."""


_HERE = Path(__file__)
_MISSING = runpy.run_path(str(_HERE.with_name("missing_text.py")))
examined, missing_text = _MISSING["examined"], _MISSING["missing_text"]
join_lines = runpy.run_path(str(_HERE.parents[2] / "text" / "joining.py"))["join_lines"]
"""Those of modules of fathoms, run by their paths, because an import would load all of `ingest`."""


class _Read(NamedTuple):
    """What is known of a page: its text, `None` if it cannot be read, the number of its images, that of its
    objects that show text where it gives none, and about how many characters PDFium leaves out of it."""

    text: str | None
    pictures: int = 0
    shows: int = 0
    lost: int = 0


def read(path: str, options: dict[str, Any]) -> RawDocument:
    """Read the pages of a PDF, at most `options["max_pages"]`; `options["join_lines"]` says whether to join
    broken words and lines."""
    joins = bool(options.get("join_lines"))
    known = examined(path)
    document = _OPEN(path.encode("utf-8", "surrogateescape"), None)
    forms = _Forms(document) if known.has_notes else None
    try:
        count = _PAGES(document)
        if (
            document
            and count == 0
            and known.defined
            and not (known.claimed or known.contents or known.damaged)
        ):
            return {"page_count": 0, "pages": [], "warnings": []}
        if count < 1:
            return {"error": refusal(_ERROR())}
        wanted = range(min(count, options["max_pages"]))
        read = [_read_page(document, index, joins, forms, known.lacks_fonts) for index in wanted]
        warnings = [] if _IS_SOUND(document) else ["repaired: the cross-reference table was rebuilt"]
    finally:
        if forms:
            forms.close()
        _CLOSE(document)
    warnings += missing_text(known, [(page.text, page.shows, page.lost) for page in read], count)
    texts = [page.text for page in read]
    if joins:
        joined = iter(join_lines([text for text in texts if text is not None]))
        texts = [None if text is None else next(joined) for text in texts]
    pages: list[RawPage] = [
        {"text": text, "pictures": page.pictures} for text, page in zip(texts, read, strict=True)
    ]
    return {"page_count": count, "pages": pages, "warnings": warnings}


def refusal(code: int) -> tuple[str, str]:
    """Return why PDFium did not open the file, given its code of the error: a reason of DocumentError, and a
    sentence."""
    if code == PASSWORD:
        return "encrypted", "is protected by a password; save a copy without it"
    if code == SECURITY:
        return "encrypted", "is encrypted in a way that PDFium does not know; save a copy without encryption"
    return "damaged", "is damaged beyond what PDFium can repair; fetch it again, or try kind: pymupdf"


def _read_page(document: int, index: int, joins: bool, forms: _Forms | None, lacks_fonts: bool) -> _Read:
    """Read one page, with the values of its form and its free text after what is written on it."""
    page = _OPEN_PAGE(document, index)
    try:
        text = _text(page, joins) if page else None
        if text is None:
            return _Read(None)
        objects = _Objects(lacks_fonts)
        objects.count(page)
        lost = objects.lost
        if lost and lost <= max(LEAST_LOST, LEAST_SHARE * len("".join(text.split()))):
            lost = 0
        shows = 0 if text.strip() else min(objects.texts, MAX_PICTURES)
        if forms:
            text = "\n".join([text, *forms.values(page)])
        return _Read(text, min(objects.pictures, MAX_PICTURES), shows, lost)
    finally:
        _CLOSE_PAGE(page)


class _Objects:
    """Counts the images on a page, its text objects, and, where the file lacks fonts, about how many
    characters PDFium leaves out."""

    def __init__(self, lacks_fonts: bool) -> None:
        self._lacks_fonts = lacks_fonts
        self.pictures = self.texts = self.lost = self._seen = 0
        self._numbers = (ctypes.c_float * 6)()
        start = ctypes.addressof(self._numbers)
        self._at = (start, start + 4, start + 8, start + 12)

    def count(self, parent: int, depth: int = MAX_DEPTH) -> None:
        """Count what is on the page at an address, or in a form if `depth` is less."""
        count, get = _ON_PAGE if depth == MAX_DEPTH else _IN_FORM
        lacks_fonts, numbers, (left, bottom, right, top) = self._lacks_fonts, self._numbers, self._at
        objects = min(count(parent), MOST_OBJECTS - self._seen)
        self._seen += objects
        for index in range(objects):
            each = get(parent, index)
            kind = _KIND(each)
            if kind == TEXT:
                self.texts += 1
                if not lacks_fonts or not _BOUNDS(each, left, bottom, right, top):
                    continue
                if numbers[2] - numbers[0] < NARROW:
                    self.lost += self._characters(each, numbers[3] - numbers[1])
            elif kind == IMAGE:
                self.pictures += 1
            elif kind == FORM and depth > 1:
                self.count(each, depth - 1)

    def _characters(self, each: int, height: float) -> int:
        """Estimate the number of characters of a text object that is one column of this height."""
        at = self._at[0]
        _MATRIX(each, at)
        scale = math.hypot(self._numbers[2], self._numbers[3])
        _FONT_SIZE(each, at)
        size = abs(self._numbers[0] * scale)
        return 1 + min(round(height / size), MOST_IN_ONE) if size > NARROW else 1


class _Forms:
    """Reads the annotations of pages that hold text; the form of the document is opened for the first."""

    def __init__(self, document: int) -> None:
        self._document = document
        self._form: int | None = None
        # PDFium wants a structure of calls, all optional, that begins with its version
        self._calls = (ctypes.c_int * 256)(2)

    def close(self) -> None:
        """Close the form, which has to be done before its document is closed."""
        if self._form:
            _END_FORMS(self._form)

    def values(self, page: int) -> list[str]:
        """Return the free text on a page, and the values of its fields, each with its label if it has one."""
        found = []
        for index in range(min(_ANNOTATIONS(page), MAX_NOTES)):
            each = _ANNOTATION(page, index)
            kind = _SUBTYPE(each)
            if kind in (FREE_TEXT, WIDGET) and not _FLAGS(each) & HIDDEN:
                found.append(_string(_STRING, each, b"Contents") if kind == FREE_TEXT else self._value(each))
            _CLOSE_ANNOTATION(each)
        return [value for value in found if value.strip()]

    def _value(self, field: int) -> str:
        """Return the value of a field that has one, otherwise nothing."""
        if self._form is None:
            self._form = _BEGIN_FORMS(self._document, ctypes.addressof(self._calls)) or 0
        form = self._form
        kind = _FIELD_KIND(form, field) if form else 0
        label = _string(_FIELD_LABEL, form, field).strip() if kind > 0 else ""
        if kind in (TICK_BOX, RADIO):
            state = _string(_STRING, field, b"AS")
            is_off = state in ("", "Off")
            return "" if is_off else f"{label or _string(_FIELD_NAME, form, field)}: {state}"
        hidden = kind == TEXT_FIELD and _FIELD_FLAGS(form, field) & PASSWORD_FIELD
        if kind not in (DROP_DOWN, LIST, TEXT_FIELD) or hidden:
            return ""
        value = _string(_FIELD_VALUE, form, field)
        return f"{label}: {value}" if label and value.strip() else value


def _string(call: Any, *given: Any) -> str:
    """Return a string of PDFium, whose calls write at most as many bytes as they are given room for."""
    size = min(call(*given, None, 0), LONGEST_VALUE)
    if size <= 2:
        return ""
    units = bytearray(size)
    if call(*given, ctypes.addressof(ctypes.c_char.from_buffer(units)), size) > size:
        return ""
    return units[:-2].decode("utf-16-le", "replace")


def _text(page: int, joins: bool) -> str | None:
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
        found = units[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
        if joins and not found.isascii():
            found = ALEF_LAM.sub(lambda pair: _in_order(text, pair), found)
    finally:
        _CLOSE_TEXT(text)
    return found.replace(LINE_END_HYPHEN, "-\n")


def _in_order(text: int, pair: re.Match[str]) -> str:
    """Return an alef and a lam in the order in which they are read: reversed if one glyph shows both."""
    places = (ctypes.c_double * 4)()
    start = ctypes.addressof(places)
    for number in (0, 1):
        at = _CHARACTER_AT(text, pair.start() + number)
        if at < 0 or not _ORIGIN(text, at, start + 16 * number, start + 16 * number + 8):
            return pair[0]
    return pair[0][::-1] if places[:2] == places[2:] else pair[0]
