"""PDFs in, chunks out: `parse` a PDF to a `Document`, `chunk` a `Document` to retrievable pieces.

A PDF is never read in this process: `parse_in_child` and `parse_all` give each one a child process with
its own limits on time and memory, because a parser in native code may crash, loop or exhaust memory on a
file that somebody else made.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.ingest.child import parse_in_child
from fathoms.ingest.docling import Docling
from fathoms.ingest.docling_chunk import DoclingHybridChunker
from fathoms.ingest.images import page_images
from fathoms.ingest.pages import PageChunker
from fathoms.ingest.parallel import parse_all
from fathoms.ingest.parser import ElementKind, PdfParser
from fathoms.ingest.parts import pdf_part
from fathoms.ingest.pdfium import Pdfium
from fathoms.ingest.pymupdf import PyMuPDF
from fathoms.ingest.python import PythonParser
from fathoms.ingest.sentence import SentenceChunker

Parser = Annotated[Pdfium | PyMuPDF | Docling | PythonParser, Field(discriminator="kind")]
Chunker = Annotated[SentenceChunker | PageChunker | DoclingHybridChunker, Field(discriminator="kind")]

__all__ = [
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
    "page_images",
    "parse_all",
    "parse_in_child",
    "pdf_part",
]
