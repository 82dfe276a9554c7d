"""Files that PDFium makes of a PDF in a child process: images of pages, and parts of the PDF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from fathoms.errors import DocumentError
from fathoms.ingest.workers.pool import parse_in_child
from fathoms.paths import SEAL, publish, sealed, sha256_file, temporary_folder
from fathoms.pdf.parser import PdfParser
from fathoms.pdf.thumbnails import FileMaker
from fathoms.runs.cache import tell_damage
from fathoms.runs.sharing import SharedStore
from fathoms.safety.children import Children
from fathoms.text.fingerprints import fingerprint
from fathoms.types import OFFICE, Attachment, Document

_KIND = "images"
"""The kind of value in the shared cache."""


class PageRenderer(FileMaker):
    """Writes each page as a PNG, at `dpi` dots per inch, or less where a bound asks for it."""

    kind: Literal["images"] = "images"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2", "pillow")
    reader: ClassVar[str] = "fathoms.ingest.workers.pdfium_images"

    dpi: int
    max_pixels: int | None = None
    max_side: int | None = None
    max_bytes: int | None = None

    def identity(self) -> dict[str, Any]:
        """Leave out bounds that are not set, so that images without any are those of earlier versions."""
        found = super().identity()
        options = {name: value for name, value in found["options"].items() if value is not None}
        return {**found, "options": options}


class PartCutter(FileMaker):
    """Writes `length` pages from page `first` on as a PDF."""

    kind: Literal["part"] = "part"
    packages: ClassVar[tuple[str, ...]] = ("pypdfium2",)
    reader: ClassVar[str] = "fathoms.ingest.workers.pdfium_parts"

    first: int
    length: int


def page_images(
    document: Document,
    dpi: int,
    folder: Path,
    parser: PdfParser,
    *,
    max_pixels: int | None = None,
    max_side: int | None = None,
    max_bytes: int | None = None,
    shared: SharedStore | None = None,
) -> dict[int, Path]:
    """Return the image of each page by its number, for models that see; the files are kept below `folder`,
    and are looked for and stored in the shared cache.

    A page is rendered at `dpi`, or at a lower resolution if its image would otherwise have more pixels, a
    longer side in pixels, or more bytes than given. A page that PDFium cannot render has no image. The limits
    are those of `parser`. Raises DocumentError as a parser does, and for an office or web document, of which
    no pictures are made.
    """
    bounds = {"max_pixels": max_pixels, "max_side": max_side, "max_bytes": max_bytes}
    return images_in(
        files_folder(page_renderer(document, dpi, folder, parser, bounds), document, shared=shared)
    )


def page_renderer(
    document: Document, dpi: int, folder: Path, parser: PdfParser, bounds: Mapping[str, int | None]
) -> PageRenderer:
    """Return what renders the pages of a document; the arguments and errors are those of `page_images`."""
    if (suffix := document.path.suffix.lower()) in OFFICE:
        raise DocumentError(
            document.id,
            "not-a-pdf",
            f"is a {suffix[1:].upper()} file, of which no page pictures are made: save it as PDF, take it out"
            " of the corpus, or set ingest.on_error to 'skip', which leaves it out",
        )
    limits = parser.model_dump(include={"timeout", "memory_mb"})
    pages = document.page_count or len(document.pages)
    return PageRenderer(dpi=dpi, folder=folder, max_pages=pages, **bounds, **limits)


def images_in(folder: Path) -> dict[int, Path]:
    """Return the images of pages in a folder by their numbers."""
    return {int(image.stem): image for image in sorted(folder.glob("*.png"))}


def pdf_part(document: Document, first: int, length: int, folder: Path, parser: PdfParser) -> Attachment:
    """Return `length` pages of a document from page `first` on as a PDF, which is kept below `folder`.

    It is for documents that are longer than a model accepts. The limits are those of `parser`. Raises
    DocumentError as a parser does.
    """
    limits = parser.model_dump(include={"timeout", "memory_mb"})
    path = (
        files_folder(PartCutter(first=first, length=length, folder=folder, **limits), document) / "part.pdf"
    )
    return Attachment(
        document=document.id,
        pages=tuple(range(first, first + length)),
        path=path,
        sha256=sha256_file(path),
        size=path.stat().st_size,
    )


def existing_files(maker: FileMaker, document: Document, shared: SharedStore | None = None) -> Path | None:
    """Return the folder with the files of this document, below the maker's folder, into which those of the
    shared cache are put; `None` if they are to be made."""
    own = place(maker, document)
    state = sealed(own)
    if state == "damaged":
        tell_damage(maker.folder.name, f"the files in {own} are damaged and are made again")
    if state == "sound":
        return own
    files = None if shared is None else shared.get_files(_KIND, own.name)
    return None if files is None else keep(maker, document, files)


def share(folder: Path, shared: SharedStore | None) -> bool:
    """Store the files of a document in the shared cache; returns whether there is one and they are not too
    large."""
    files = (path for path in folder.iterdir() if path.name != SEAL)
    return shared is not None and shared.put_files(_KIND, folder.name, files)


def push_images(folder: Path, shared: SharedStore) -> int:
    """Store the images of pages below a folder in the shared cache; returns the number of documents. Pictures
    that were cut out of pages have other names."""
    pushed = 0
    for own in sorted(folder.glob("*/")):
        names = [path.stem for path in own.glob("*.png")]
        if names and all(name.isdecimal() for name in names) and sealed(own) == "sound":
            pushed += share(own, shared)
    return pushed


def keep(maker: FileMaker, document: Document, files: Mapping[str, bytes]) -> Path:
    """Keep files that were made of this document on another machine, by their names; returns their folder."""
    with temporary_folder(maker.folder) as unfinished:
        for name, content in files.items():
            (unfinished / name).write_bytes(content)
        publish(unfinished, own := place(maker, document))
    return own


def place(maker: FileMaker, document: Document) -> Path:
    """The folder for the files of this document."""
    return maker.folder / fingerprint(maker.identity(), document.sha256)


def files_folder(
    maker: FileMaker,
    document: Document,
    children: Children | None = None,
    shared: SharedStore | None = None,
) -> Path:
    """Return the folder with the files of this document, below the maker's folder; makes them if needed.
    `children` starts the process. Raises DocumentError as a parser does."""
    if (known := existing_files(maker, document, shared)) is not None:
        return known
    with temporary_folder(maker.folder) as unfinished:
        parse_in_child(maker.model_copy(update={"folder": unfinished}), document.path, children)
        publish(unfinished, own := place(maker, document))
    share(own, shared)
    return own
