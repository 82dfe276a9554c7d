"""A chunk a page."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, package_version
from fathoms.types import Chunk, Document


class PageChunker(Component):
    """Each page as one chunk; pages without text give none, unless images are asked for."""

    reads: ClassVar[str | None] = None

    kind: Literal["page"] = "page"
    image_dpi: int | None = Field(default=None, ge=20, le=600)
    """Dots an inch at which pages are rendered for a model that sees; without it there are no images. The
    text is what they are found by."""

    def identity(self) -> dict[str, Any]:
        """With the versions of what renders, where it does."""
        found = super().identity()
        if self.image_dpi is not None:
            found["versions"] = {name: package_version(name) for name in ("pypdfium2", "pillow")}
        return found

    def check(self) -> None:
        """Nothing can be missing."""

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in the order of its pages; ids are `FILE#pPAGEc1`."""
        name = document.id
        return [
            Chunk(
                id=f"{name}#p{page.number}c1",
                document=name,
                pages=(page.number,),
                modality="text" if self.image_dpi is None else "image",
                text=page.text,
            )
            for page in document.pages
            if page.text.strip() or self.image_dpi is not None
        ]
