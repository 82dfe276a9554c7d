"""Pages as images, for models that see: rendered once by PDFium, in a child process, and kept."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar, Literal

from fathoms.config import fingerprint
from fathoms.ingest.child import parse_in_child
from fathoms.ingest.parser import PdfParser
from fathoms.types import Document


class PageRenderer(PdfParser):
    """Writes each page as a PNG into `folder`; a parser that finds no text, with a parser's limits."""

    kind: Literal["images"] = "images"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pillow")
    reader: ClassVar[str] = "fathoms.ingest.pdfium_images"
    neutral: ClassVar[frozenset[str]] = PdfParser.neutral | {"folder"}

    dpi: int
    folder: Path

    def reader_options(self) -> dict[str, Any]:
        """With the folder, which changes nothing in the images."""
        return {**super().reader_options(), "folder": str(self.folder)}


def page_images(document: Document, dpi: int, folder: Path, parser: PdfParser) -> dict[int, Path]:
    """The image of each page by its number, from a folder of the document's own below `folder`.

    Rendered within the limits of `parser` where they are not there yet; a page that PDFium cannot render
    has none. Raises DocumentError as a parser does.
    """
    limits = parser.model_dump(include={"timeout", "memory_mb"})
    renderer = PageRenderer(dpi=dpi, folder=folder, max_pages=len(document.pages), **limits)
    own = folder / fingerprint(renderer.identity(), document.sha256)
    if not own.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            parse_in_child(renderer.model_copy(update={"folder": Path(unfinished)}), document.path)
            _publish(Path(unfinished), own)
    return {int(image.stem): image for image in sorted(own.glob("*.png"))}


def _publish(unfinished: Path, own: Path) -> None:
    """Give finished images their name at once; who came first is right."""
    finished = unfinished / "finished"
    finished.mkdir()
    for image in unfinished.glob("*.png"):
        image.replace(finished / image.name)
    try:
        finished.rename(own)
    except OSError:
        shutil.rmtree(finished)
        if not own.is_dir():
            raise
