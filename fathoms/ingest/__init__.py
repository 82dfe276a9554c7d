"""PDFs in, chunks out: `parse` a PDF to a `Document`, `chunk` a `Document` to retrievable pieces.

A PDF is never read in this process: `parse_in_child` and `parse_all` give each one a child process with
its own limits on time and memory, because a parser in native code may crash, loop or exhaust memory on a
file that somebody else made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fathoms.ingest.chunkers.chunker import BaseChunker
from fathoms.ingest.cut_outs import MARGIN, cut_out_images, cut_outs, has_boxes
from fathoms.ingest.workers.page_files import page_images, pdf_part
from fathoms.ingest.workers.parallel import parse_all
from fathoms.ingest.workers.pool import parse_in_child
from fathoms.pdf.parser import ElementKind, PdfParser
from fathoms.pdf.pictures import fitted_picture
from fathoms.registry import OneOf, components_of

if TYPE_CHECKING:
    from fathoms.ingest.chunkers.docling import DoclingHybridChunker
    from fathoms.ingest.chunkers.pages import PageChunker
    from fathoms.ingest.chunkers.sentence import SentenceChunker
    from fathoms.ingest.docling.parser import Docling
    from fathoms.ingest.parsers.pdfium import Pdfium
    from fathoms.ingest.parsers.pymupdf import PyMuPDF
    from fathoms.ingest.parsers.python import PythonParser

__getattr__ = components_of("parsers", "chunkers")

Parser = Annotated[PdfParser, OneOf("parsers")]
Chunker = Annotated[BaseChunker, OneOf("chunkers")]

__all__ = [
    "MARGIN",
    "Chunker",
    "Docling",
    "DoclingHybridChunker",
    "ElementKind",
    "PageChunker",
    "Parser",
    "PdfParser",
    "Pdfium",
    "PyMuPDF",
    "PythonParser",
    "SentenceChunker",
    "cut_out_images",
    "cut_outs",
    "fitted_picture",
    "has_boxes",
    "page_images",
    "parse_all",
    "parse_in_child",
    "pdf_part",
]
