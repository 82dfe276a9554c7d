"""Pages as small pictures, for people who look at a report: made by PDFium in a child process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal

from fathoms.ingest.workers.made import FileMaker
from fathoms.ingest.workers.readers import parse_in_child


class Thumbnailer(FileMaker):
    """Writes some pages as JPEG files, `width` pixels wide."""

    kind: Literal["thumbnails"] = "thumbnails"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pillow")
    reader: ClassVar[str] = "fathoms.ingest.workers.pdfium_thumbnails"

    numbers: tuple[int, ...]
    width: int


def page_thumbnails(path: Path, numbers: Iterable[int], width: int) -> dict[int, bytes]:
    """JPEG files of some pages of a PDF, by number; a page that is not there, or that PDFium cannot render,
    has none. Raises DocumentError as a parser does."""
    wanted = tuple(sorted(set(numbers)))
    with tempfile.TemporaryDirectory() as folder:
        maker = Thumbnailer(numbers=wanted, width=width, folder=Path(folder), timeout=60, memory_mb=1024)
        parse_in_child(maker, path)
        return {int(image.stem): image.read_bytes() for image in sorted(Path(folder).glob("*.jpg"))}
