"""Asks PyMuPDF, if that is installed, for what PDFium leaves out of a file."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from fathoms.errors import DocumentError
from fathoms.executors import OnPage, Ready
from fathoms.ingest.parsers.missing_text import IN_FONTS, numbered
from fathoms.pdf.child import ChildPool
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.parser import MakeDocument
from fathoms.types import LOST_TEXT, Document, Page

MORE = 1.1
"""How many times the characters of a page the other parser has to read for its text to be taken."""


class SecondOpinion:
    """Reads files with one parser, and with PyMuPDF too if the first loses text.

    Pages where it leaves text out, because a font is not in the file, are taken from PyMuPDF; otherwise
    the text stays that of the first parser, and its warning says how much more PyMuPDF reads. Sound files
    cost nothing, and a file on which PyMuPDF fails or takes too long keeps the warning as it is.
    """

    def __init__(self, pool: ChildPool, other: ChildPool) -> None:
        self._pool = pool
        self._other = other

    def read(self, path: Path, on_page: OnPage | None = None) -> MakeDocument:
        """Read one file, where text may be lost with both parsers; raises DocumentError as the first parser
        does."""
        make = self._pool.read(path)
        if not isinstance(make, Ready):
            return make
        is_lost = any(LOST_TEXT in warning for warning in make.outcome.facts.warnings)
        if is_lost and find_spec("pymupdf"):
            with suppress(DocumentError):
                other = self._other.read(path)()
                return partial(_compared, make.outcome.open(path), other.open(path))
        return make

    def close(self) -> None:
        """End the processes that wait for a file."""
        self._pool.close()
        self._other.close()


def _compared(document: Document, other: Document) -> Parsed:
    """Take the pages where the first parser leaves text out from the other one, and say so; of a file that
    lacks text for other reasons, say how much more the other parser reads."""
    pages, taken = list(document.pages), []
    if any(IN_FONTS in warning for warning in document.warnings):
        for at, (page, second) in enumerate(zip(document.pages, other.pages, strict=False)):
            if _characters(second) > MORE * _characters(page):
                pages[at] = page.model_copy(update={"text": second.text})
                taken.append(page.number)
    more = sum(map(_characters, other.pages)) - sum(map(_characters, pages))
    said = "PyMuPDF reads no more"
    if more > 0:
        said = f"PyMuPDF reads {more} characters more: compare with ingest: {{kind: pymupdf}}"
    warnings = []
    for line in document.warnings:
        reasons = line.partition(": ")[2]
        if LOST_TEXT not in line:
            warnings.append(line)
        elif taken and more <= 0 and "; " not in reasons:
            warnings.append(f"{numbered(taken)} read by PyMuPDF, because PDFium leaves text out: {reasons}")
        else:
            also = [f"{numbered(taken)} read by PyMuPDF instead"] if taken else []
            warnings.append("; ".join([line, *also, said]))
    return Parsed.of(document.model_copy(update={"pages": tuple(pages), "warnings": tuple(warnings)}))


def _characters(page: Page) -> int:
    """Count the characters of a page, without white space."""
    return len("".join(page.text.split()))
