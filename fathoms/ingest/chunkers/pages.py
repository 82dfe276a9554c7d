"""Chunking by page: each page becomes one chunk."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, package_version
from fathoms.ingest.chunkers.boxes import page_boxes
from fathoms.types import Chunk, Document


class PageChunker(Component):
    """Makes one chunk per page. Pages without text are left out, unless `image_dpi` is set."""

    reads: ClassVar[str | None] = None

    kind: Literal["page"] = "page"
    image_dpi: int | None = Field(default=None, ge=20, le=600)
    """Resolution, in dots per inch, at which retrieved pages are rendered as images for a vision model.
    Without it, chunks are text. Retrieval uses the text of the page in both cases."""

    def identity(self) -> dict[str, Any]:
        """Return what the results depend on; with images, this includes the versions of the renderer."""
        found = super().identity()
        if self.image_dpi is not None:
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
                modality="text" if self.image_dpi is None else "image",
                text=page.text,
            )
            for page in document.pages
            if page.text.strip() or self.image_dpi is not None
        ]
