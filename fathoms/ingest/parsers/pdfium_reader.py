"""Reading one PDF with PDFium. Runs in a child process, therefore imports nothing of fathoms."""

from __future__ import annotations

import ctypes
import runpy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

if TYPE_CHECKING:
    from fathoms.ingest.parsers.reading import PageReading, Reading

PROMISES = runpy.run_path(str(Path(__file__).with_name("promises.py")))
"""The module beside this one. It is run by its path, as this one is: an import would load all of fathoms."""

LINE_END_HYPHEN = "\ufffe"
"""What PDFium puts in the place of a hyphen and the line break after it."""

MAX_PICTURES = 1000
MAX_DEPTH = 15
"""How deep forms are searched for pictures: forms may nest, and a hostile file nests them without end."""


def read(path: str, options: dict[str, Any]) -> Reading:
    """The pages of a PDF, at most `options["max_pages"]`."""
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
            warnings += PROMISES["missing_text"](path, facts, count)
        except MemoryError:  # the text is read: a limit that is just enough for it is no failure
            warnings.append("not checked for missing text: memory_mb is too low for that")
        return {"page_count": count, "pages": pages, "warnings": warnings}


def refusal(error: pdfium.PdfiumError) -> tuple[str, str]:
    """Why PDFium did not open the file."""
    if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
        return "encrypted", "is protected by a password; save a copy without it"
    if error.err_code == pdfium_c.FPDF_ERR_SECURITY:
        return "encrypted", "is encrypted in a way that PDFium does not know; save a copy without encryption"
    return "damaged", "is damaged beyond what PDFium can repair; fetch it again, or try kind: pymupdf"


def _read_page(document: pdfium.PdfDocument, index: int) -> tuple[PageReading, int]:
    """One page, and how many of its objects show text; a page that PDFium refuses has no text."""
    try:
        page = document[index]
        text = _text(page.get_textpage())
        images = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=MAX_DEPTH)
        pictures = sum(1 for _ in islice(images, MAX_PICTURES))
        shows = 0 if text.strip() else _shows(page)
    except pdfium.PdfiumError:
        return {"text": None, "pictures": 0}, 0
    page.close()
    return {"text": text, "pictures": pictures}, shows


def _shows(page: pdfium.PdfPage) -> int:
    """How many objects of a page show text, as far as `MAX_PICTURES` objects go."""
    texts = page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=MAX_DEPTH)
    return sum(1 for _ in islice(texts, MAX_PICTURES))


def _text(textpage: pdfium.PdfTextPage) -> str:
    """The text of a page, with the hyphens at line ends as they stand there.

    By the raw call: pypdfium2's `get_text_range` recurses over characters that have no text, and its
    `get_text_bounded` loses the line breaks after raised and lowered characters.
    """
    count = textpage.count_chars()
    units = (ctypes.c_ushort * (2 * count + 2))()
    written = pdfium_c.FPDFText_GetText(textpage, 0, count, units)
    text = bytes(units)[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    return text.replace(LINE_END_HYPHEN, "-\n")
