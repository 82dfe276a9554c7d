"""Compares files of which PDFium may have lost text with what PyMuPDF reads of them, if that is installed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from fathoms.errors import DocumentError
from fathoms.executors import OnPage, Ready
from fathoms.ingest.parsers.pymupdf import PyMuPDF
from fathoms.pdf.child import ChildPool
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.parser import MakeDocument
from fathoms.types import LOST_TEXT, Document


class SecondOpinion:
    """Reads files with one parser, and adds to its warning about lost text how much more PyMuPDF reads.

    The text stays that of the first parser. Sound files cost nothing, and a file on which PyMuPDF fails or
    takes too long keeps the warning as it is.
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
    """Tell in the warning of a document how much more the other parser reads."""
    more = _characters(other) - _characters(document)
    told = "PyMuPDF reads no more"
    if more > 0:
        told = f"PyMuPDF reads {more} characters more: compare with ingest: {{kind: {PyMuPDF().kind}}}"
    warnings = tuple(f"{line}; {told}" if LOST_TEXT in line else line for line in document.warnings)
    return Parsed.of(document.model_copy(update={"warnings": warnings}))


def _characters(document: Document) -> int:
    """Count the characters of all pages, without white space."""
    return sum(len("".join((page.text or "").split())) for page in document.pages)
