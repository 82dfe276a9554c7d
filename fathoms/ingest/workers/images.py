"""Pages as images, for models that see: rendered once by PDFium, in a child process, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from fathoms.ingest.parsers.base import PdfParser
from fathoms.ingest.workers.made import FileMaker, made
from fathoms.types import Document


class PageRenderer(FileMaker):
    """Writes each page as a PNG."""

    kind: Literal["images"] = "images"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pillow")
    reader: ClassVar[str] = "fathoms.ingest.workers.pdfium_images"

    dpi: int


def page_images(document: Document, dpi: int, folder: Path, parser: PdfParser) -> dict[int, Path]:
    """The image of each page by its number, from a folder of the document's own below `folder`.

    Rendered within the limits of `parser` where they are not there yet; a page that PDFium cannot render
    has none. Raises DocumentError as a parser does.
    """
    limits = parser.model_dump(include={"timeout", "memory_mb"})
    renderer = PageRenderer(
        dpi=dpi, folder=folder, max_pages=document.page_count or len(document.pages), **limits
    )
    return {int(image.stem): image for image in sorted(made(renderer, document).glob("*.png"))}
