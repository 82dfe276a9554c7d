"""Copies of PDFs with a planted instruction, to be measured or to be uploaded to a service of one's own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from fathoms.errors import DataError
from fathoms.safety.injections import holds

if TYPE_CHECKING:
    import pypdfium2 as pdfium

Where = Literal["page", "hidden"]
"""`page` appends a page that says it; `hidden` writes it in white on the first page."""

_FONT, _SIZE, _LINE, _MARGIN, _WIDTH = "Helvetica", 11.0, 15.0, 56.0, 80
_TINY = 4.0


def inject(pdfs: Sequence[Path], folder: Path, text: str, answer: str, where: Where) -> Iterator[Path]:
    """Write a copy of each PDF with the text in it into a folder, which is made, and yield its path.

    Raises DataError for a PDF that cannot be read, for a copy that is there already, and where `answer`, the
    word that the text asks for, cannot be read in the copy, as in a script that the font does not have.
    """
    import pypdfium2 as pdfium

    folder.mkdir(parents=True, exist_ok=True)
    for path in pdfs:
        to = folder / path.name
        if to.exists():
            raise DataError(f"{to} is there already: name another folder with --to")
        try:
            with pdfium.PdfDocument(path) as document:
                _plant(document, text, where)
                document.save(to)
            if not _is_read(to, answer, where):
                to.unlink()
                raise DataError(f"{to}: the word '{answer}' cannot be written in Latin letters: take another")
        except pdfium.PdfiumError as error:
            raise DataError(f"{path}: no instruction can be planted in it: {error}") from None
        yield to


def _is_read(path: Path, answer: str, where: Where) -> bool:
    """Return whether a word can be read on the page that it was planted on."""
    import pypdfium2 as pdfium

    with pdfium.PdfDocument(path) as document:
        page = document[0 if where == "hidden" else len(document) - 1]
        return holds(page.get_textpage().get_text_range(), answer)


def _plant(document: pdfium.PdfDocument, text: str, where: Where) -> None:
    """Write the text on a new last page in black, or on the first page in white and small."""
    if where == "page":
        page = document.new_page(595, 842)
        top, size, grey = 842 - _MARGIN, _SIZE, 0
    else:
        page = document[0]
        top, size, grey = page.get_height() - _TINY, _TINY, 255
    for number, line in enumerate(wrap(text, _WIDTH)):
        at = (_MARGIN, top - (number + 1) * (_LINE if where == "page" else _TINY + 1))
        _write(document, page, line, at, size, grey)
    page.gen_content()


def _write(
    document: pdfium.PdfDocument,
    page: Any,
    line: str,
    at: tuple[float, float],
    size: float,
    grey: int,
) -> None:
    """Write a line of text on a page; `at` is in points from the bottom left corner."""
    import pypdfium2.raw as raw

    made = raw.FPDFPageObj_NewTextObj(document, _FONT.encode(), size)
    data = (line + "\0").encode("utf-16-le")
    raw.FPDFText_SetText(made, ctypes.cast(ctypes.create_string_buffer(data), raw.FPDF_WIDESTRING))
    raw.FPDFPageObj_SetFillColor(made, grey, grey, grey, 255)
    raw.FPDFPageObj_Transform(made, 1, 0, 0, 1, *at)
    raw.FPDFPage_InsertObject(page, made)
