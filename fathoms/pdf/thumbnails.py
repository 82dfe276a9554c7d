"""Pictures of pages, and the base of what PDFium makes of a PDF in a child process."""

from __future__ import annotations

import json
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
    words: bool = False
    """Whether to write the words of the pages too."""


class Word(NamedTuple):
    """A word of a page, its place in points from the top left, and what follows it: a space, the end of the
    line, or nothing. A picture on the page is a word without letters."""

    text: str
    box: tuple[float, float, float, float]
    after: str


class Thumbnail(NamedTuple):
    """A picture of a page as a JPEG file, the width and height of the page in points, and its words if they
    were asked for."""

    jpeg: bytes
    size: tuple[float, float]
    words: tuple[Word, ...] = ()


def page_thumbnails(
    path: Path, numbers: Iterable[int], width: int, *, words: bool = False
) -> dict[int, Thumbnail]:
    """Return pictures of some pages of a PDF by page number, for the readers of a report, and with `words`
    what stands where on them.

    A page that does not exist or that PDFium cannot render is left out. Raises DocumentError.
    """
    wanted = tuple(sorted(set(numbers)))
    with tempfile.TemporaryDirectory() as folder:
        maker = Thumbnailer(
            numbers=wanted, width=width, folder=Path(folder), timeout=60, memory_mb=1024, words=words
        )
        with closing(ChildPool(maker, Children())) as pool:
            document = pool.read(path)().open(path)
        pages = [page.elements[0] for page in document.pages if page.elements]
        sizes = {int(page.text): page.bbox[2:] for page in pages if page.bbox}
        return {
            number: Thumbnail(image.read_bytes(), sizes[number], _words(image.with_suffix(".json")))
            for image in sorted(Path(folder).glob("*.jpg"))
            if (number := int(image.stem)) in sizes
        }


def _words(path: Path) -> tuple[Word, ...]:
    """Read the words of a page; none if they were not asked for."""
    if not path.exists():
        return ()
    found = json.loads(path.read_text(encoding="utf-8"))
    return tuple(
        Word(text, (left, top, right, bottom), after) for text, left, top, right, bottom, after in found
    )
