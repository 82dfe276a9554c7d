"""Which child processes read the files of a parser: lasting ones for Docling, one per file for all others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fathoms.ingest.docling.parser import Docling
from fathoms.ingest.parsers.base import PdfParser, Readers
from fathoms.ingest.parsers.pdfium import Pdfium
from fathoms.ingest.parsers.pymupdf import PyMuPDF
from fathoms.ingest.workers.child import OneShotReaders
from fathoms.ingest.workers.second_opinion import SecondOpinion
from fathoms.safety.children import Children
from fathoms.types import Document


def readers_of(parser: PdfParser, children: Children, workers: int) -> Readers:
    """What reads this parser's files, `workers` at a time; `children` keeps every process that is started."""
    if isinstance(parser, Docling):  # its models take many seconds to load
        from fathoms.ingest.docling.readers import DoclingReaders

        return DoclingReaders(parser, children, workers)
    readers = OneShotReaders(parser, children)
    if not isinstance(parser, Pdfium):
        return readers
    other = PyMuPDF(timeout=parser.timeout, memory_mb=parser.memory_mb, max_pages=parser.max_pages)
    return SecondOpinion(readers, OneShotReaders(other, children))


def parse_in_child(parser: PdfParser, path: Path, children: Children | None = None) -> Document:
    """Read one PDF in a child process, within the parser's `timeout` and `memory_mb`.

    Raises DocumentError with the reason for every way in which a file can fail, MissingExtraError where
    the parser's library is not installed. `children` is told of the process, for whoever must end it.
    """
    parser.require()
    with closing(readers_of(parser, children or Children(), workers=1)) as readers:
        return readers.read(path)
