"""Rendering the pages of documents as work for an executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import DocumentError
from fathoms.executors import Executor, OnPage, Packed, Work
from fathoms.ingest.workers.page_files import (
    PageRenderer,
    existing_files,
    files_folder,
    images_in,
    keep,
    page_renderer,
    place,
    share,
)
from fathoms.pdf.parser import PdfParser
from fathoms.runs.sharing import SharedStore
from fathoms.safety.children import Children
from fathoms.types import Document

Images = dict[int, Path] | DocumentError


class Rendered(NamedTuple):
    """A document, and the folder below which the images of its pages are kept."""

    document: Document
    folder: Path


@dataclass(frozen=True)
class RenderWork(Work[Rendered, Images]):
    """Renders documents as `page_images` does, with the same `bounds`; the outcome of one that cannot be
    rendered is its error.

    A worker of a cluster is sent the PDF, and sends the images back.
    """

    dpi: int
    parser: PdfParser
    bounds: Mapping[str, int]

    def all(
        self,
        executor: Executor,
        documents: Sequence[Document],
        folder: Path,
        shared: SharedStore | None = None,
    ) -> list[Images]:
        """Return the images of all pages of documents, which are kept below a folder; only those that are
        neither there nor in the shared cache are made."""
        items = [Rendered(document, folder) for document in documents]
        found = {
            at: known for at, item in enumerate(items) if (known := self._known(item, shared)) is not None
        }
        new = [at for at in range(len(items)) if at not in found]

        def done(number: int, images: Images, seconds: float) -> None:
            item = items[new[number]]
            if shared is not None and not isinstance(images, DocumentError):
                share(place(self.renderer(item), item.document), shared)

        found.update(zip(new, executor.run(self, [items[at] for at in new], done), strict=True))
        return [found[at] for at in range(len(items))]

    def _known(self, item: Rendered, shared: SharedStore | None) -> Images | None:
        """Return the images that were made before, or why there can be none; `None` if they are to be
        made."""
        try:
            folder = existing_files(self.renderer(item), item.document, shared)
        except DocumentError as error:
            return error
        return None if folder is None else images_in(folder)

    def open(self, children: Children, workers: int) -> _Rendering:
        """Return what renders; each document has a child process of its own."""
        return _Rendering(self, children)

    def identity(self) -> dict[str, Any]:
        """The identity of the renderer."""
        return PageRenderer(dpi=self.dpi, folder=Path(), **self.bounds).identity()

    def sent(self, item: Rendered) -> tuple[Document, Packed]:
        """The document without its pages, and its file."""
        document, pages = item.document, item.document.page_count or len(item.document.pages)
        bare = document.model_copy(update={"pages": (), "page_count": pages, "native": None})
        return bare, Packed.of(document.path)

    def arrived(self, sent: tuple[Document, Packed], folder: Path) -> Rendered:
        """The document with a file of its own."""
        document, file = sent
        return Rendered(document.model_copy(update={"path": file.unpack(folder)}), folder / "images")

    def returned(self, outcome: Images) -> dict[str, bytes] | DocumentError:
        """The images by their names."""
        if isinstance(outcome, DocumentError):
            return outcome
        return {path.name: path.read_bytes() for path in outcome.values()}

    def received(self, item: Rendered, returned: dict[str, bytes] | DocumentError) -> Images:
        """The images as files of this machine."""
        if isinstance(returned, DocumentError):
            return returned
        return images_in(keep(self.renderer(item), item.document, returned))

    def killed(self, item: Rendered, why: str) -> Images:
        """The failure of the document."""
        return DocumentError(item.document.id, "crash", f"{why}; fetch it again, or leave it out")

    def renderer(self, item: Rendered) -> PageRenderer:
        """Return what renders the pages of the document into its folder."""
        return page_renderer(item.document, self.dpi, item.folder, self.parser, self.bounds)


class _Rendering:
    """Renders documents in child processes."""

    def __init__(self, work: RenderWork, children: Children) -> None:
        self._work = work
        self._children = children

    def do(self, item: Rendered, on_page: OnPage) -> Callable[[], Images]:
        """Render a document, and return what gives its images, or the error that occurred instead."""
        images: Images
        try:
            images = images_in(files_folder(self._work.renderer(item), item.document, self._children))
        except DocumentError as error:
            images = error
        return lambda: images

    def close(self) -> None:
        """Do nothing: each process has ended."""
