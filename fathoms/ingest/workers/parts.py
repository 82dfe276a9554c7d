"""Parts of a PDF that is more than a model takes: cut out once by PDFium, in a child process, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from fathoms.ingest.parsers.base import PdfParser
from fathoms.ingest.workers.made import FileMaker, made
from fathoms.paths import sha256_file
from fathoms.types import Attachment, Document


class PartCutter(FileMaker):
    """Writes `length` pages from `first` on as a PDF."""

    kind: Literal["part"] = "part"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    reader: ClassVar[str] = "fathoms.ingest.workers.pdfium_parts"

    first: int
    length: int


def pdf_part(document: Document, first: int, length: int, folder: Path, parser: PdfParser) -> Attachment:
    """`length` pages of a document from page `first` on as a PDF below `folder`.

    Cut within the limits of `parser`; raises DocumentError as a parser does.
    """
    limits = parser.model_dump(include={"timeout", "memory_mb"})
    cutter = PartCutter(first=first, length=length, folder=folder, **limits)
    path = made(cutter, document) / "part.pdf"
    return Attachment(
        document=document.id,
        pages=tuple(range(first, first + length)),
        path=path,
        sha256=sha256_file(path),
        size=path.stat().st_size,
    )
