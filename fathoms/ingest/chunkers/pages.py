"""Chunking by page: each page becomes one chunk."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import package_version
from fathoms.ingest.chunkers.boxes import page_boxes
from fathoms.ingest.chunkers.chunker import BaseChunker
from fathoms.types import Chunk, Document

HIGHEST_DPI = 600


class PageChunker(BaseChunker):
    """Makes one chunk per page. Pages without text are left out, unless pages are rendered as images, which
    is what `image_dpi` or `max_pixels` asks for."""

    pages_per_child: ClassVar[int] = 0
    """No child process pays: a page is taken as it is."""

    inert: ClassVar[bool] = True
    kind: Literal["page"] = "page"
    image_dpi: int | None = Field(default=None, ge=20, le=HIGHEST_DPI)
    """Resolution, in dots per inch, at which retrieved pages are rendered as images for a vision model.
    Without it, chunks are text. Retrieval uses the text of the page in both cases."""
    max_pixels: int | None = Field(default=None, ge=10_000, le=64_000_000)
    """Largest number of pixels of the image of a page, width times height: a page that would have more at
    `image_dpi` is rendered at a lower resolution. Without `image_dpi`, pages have this many pixels, but at
    most 600 dots per inch."""

    @property
    def dpi(self) -> int | None:
        """Resolution in dots per inch that is not exceeded; `None` if pages are not rendered."""
        return self.image_dpi if self.max_pixels is None else self.image_dpi or HIGHEST_DPI

    def identity(self) -> dict[str, Any]:
        """Return what the results depend on; with images, this includes the versions of the renderer."""
        found = super().identity()
        if self.max_pixels is None:  # the identity that the chunker had before there was this option
            del found["options"]["max_pixels"]
        if self.dpi is not None:
            found["versions"] = {name: package_version(name) for name in ("pypdfium2", "pillow")}
        return found

    def check(self) -> None:
        """Do nothing: this chunker needs no optional package."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document in page order; ids are `FILE#pPAGEc1`."""
        name = document.id
        return [
            Chunk(
                id=f"{name}#p{page.number}c1",
                document=name,
                pages=(page.number,),
                boxes=page_boxes(page),
                modality="text" if self.dpi is None else "image",
                text=page.text,
            )
            for page in document.pages
            if page.text.strip() or self.dpi is not None
        ]
