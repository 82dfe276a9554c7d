"""Copies of PDFs with a planted instruction, to be measured or to be uploaded to a service of one's own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from fathoms.errors import DataError, StoreError
from fathoms.paths import temporary_folder
from fathoms.safety.injections import holds

if TYPE_CHECKING:
    import pypdfium2 as pdfium

Where = Literal["page", "hidden"]
"""`page` appends a page that says it; `hidden` writes it in white on the first page."""

_FONT, _SIZE, _LINE, _MARGIN, _WIDTH = "Helvetica", 11.0, 15.0, 56.0, 80
_TINY = 4.0


class _NoRoomError(Exception):
    """A line of the text goes beyond the edge of the page."""


def inject(pdfs: Sequence[Path], folder: Path, text: str, answer: str, where: Where) -> Iterator[Path]:
    """Write a copy of each PDF with the text in it into a folder, which is made, and yield its path. A copy
    has its name only when it is complete.

    Raises DataError for a PDF that cannot be read, for a copy that is there already, for a text that does not
    fit on the page, and where `answer`, the word that the text asks for, cannot be read in the copy, as in a
    script that the font does not have; StoreError where a copy cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in pdfs:
        to = folder / path.name
        if to.exists():
            raise DataError(f"{to} is there already: name another folder with --to")
        with temporary_folder(folder) as unfinished:
            copy = unfinished / path.name
            if not _planted(path, copy, text, answer, where):
                raise DataError(f"{to}: the word '{answer}' cannot be written in Latin letters: take another")
            copy.rename(to)
        yield to


def _planted(path: Path, copy: Path, text: str, answer: str, where: Where) -> bool:
    """Write a copy of a PDF with the text in it, and return whether the word that it asks for can be read;
    raises DataError and StoreError."""
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(path) as document:
            _plant(document, text, where)
            document.save(copy)
        return _is_read(copy, answer, where)
    except pdfium.PdfiumError as error:
        raise DataError(f"{path}: no instruction can be planted in it: {error}") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be copied: {error}") from error
    except _NoRoomError:
        page = "the added page" if where == "page" else "the first page"
        raise DataError(f"{path}: the instruction does not fit on {page}: take a shorter one") from None


def _is_read(path: Path, answer: str, where: Where) -> bool:
    """Return whether a word can be read on the page that it was planted on."""
    import pypdfium2 as pdfium

    with pdfium.PdfDocument(path) as document:
        page = document[0 if where == "hidden" else len(document) - 1]
        return holds(page.get_textpage().get_text_range(), answer)


def _plant(document: pdfium.PdfDocument, text: str, where: Where) -> None:
    """Write the text on a new last page in black, or on the first page in white and small."""
    appended = where == "page"
    page = document.new_page(595, 842) if appended else document[0]
    size, line, grey = (_SIZE, _LINE, 0) if appended else (_TINY, _TINY + 1, 255)
    left, _, _, top = page.get_bbox()  # what is seen of the MediaBox, which need not begin at 0
    top -= _MARGIN if appended else _TINY
    for number, words in enumerate(wrap(text, _WIDTH), start=1):
        _write(document, page, words, (left + _MARGIN, top - number * line), size, grey)
    page.gen_content()


def _write(
    document: pdfium.PdfDocument,
    page: Any,
    line: str,
    at: tuple[float, float],
    size: float,
    grey: int,
) -> None:
    """Write a line of text on a page; `at` is in points, in the coordinates of the page. Raises _NoRoomError
    where it goes beyond the edge."""
    import pypdfium2.raw as raw

    text_object = raw.FPDFPageObj_NewTextObj(document, _FONT.encode(), size)
    data = (line + "\0").encode("utf-16-le")
    raw.FPDFText_SetText(text_object, ctypes.cast(ctypes.create_string_buffer(data), raw.FPDF_WIDESTRING))
    raw.FPDFPageObj_SetFillColor(text_object, grey, grey, grey, 255)
    raw.FPDFPageObj_Transform(text_object, 1, 0, 0, 1, *at)
    edges = [ctypes.c_float() for _ in range(4)]
    raw.FPDFPageObj_GetBounds(text_object, *edges)
    raw.FPDFPage_InsertObject(page, text_object)
    _, _, right, _ = (edge.value for edge in edges)
    if at[1] < page.get_bbox()[1] or right > page.get_bbox()[2]:
        raise _NoRoomError
