"""Small pictures of pages, and the base of what PDFium makes of a PDF in a child process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from fathoms.pdf.child import ChildPool
from fathoms.pdf.parser import PdfParser
from fathoms.safety.children import Children


class FileMaker(PdfParser):
    """Writes files into `folder`: a parser, with its limits, that returns no text."""

    neutral: ClassVar[frozenset[str]] = PdfParser.neutral | {"folder"}
    gives_transcripts: ClassVar[bool] = False

    folder: Path

    def reader_options(self) -> dict[str, Any]:
        """Add the folder to the options, although it changes nothing in the files."""
        return {**super().reader_options(), "folder": str(self.folder)}


class Thumbnailer(FileMaker):
    """Writes the pages `numbers` as JPEG files, `width` pixels wide."""

    kind: Literal["thumbnails"] = "thumbnails"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pillow")
    reader: ClassVar[str] = "fathoms.pdf.pdfium_thumbnails"

    numbers: tuple[int, ...]
    width: int


class Thumbnail(NamedTuple):
    """A small picture of a page as a JPEG file, and the width and height of the page in points."""

    jpeg: bytes
    size: tuple[float, float]


def page_thumbnails(path: Path, numbers: Iterable[int], width: int) -> dict[int, Thumbnail]:
    """Return small pictures of some pages of a PDF by page number, for the readers of a report.

    A page that does not exist or that PDFium cannot render is left out. Raises DocumentError.
    """
    wanted = tuple(sorted(set(numbers)))
    with tempfile.TemporaryDirectory() as folder:
        maker = Thumbnailer(numbers=wanted, width=width, folder=Path(folder), timeout=60, memory_mb=1024)
        with closing(ChildPool(maker, Children())) as pool:
            document = pool.read(path)().open(path)
        pages = [page.elements[0] for page in document.pages if page.elements]
        sizes = {int(page.text): page.bbox[2:] for page in pages if page.bbox}
        return {
            number: Thumbnail(image.read_bytes(), sizes[number])
            for image in sorted(Path(folder).glob("*.jpg"))
            if (number := int(image.stem)) in sizes
        }
