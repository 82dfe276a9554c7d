"""A chunk a page."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.config import Component
from fathoms.types import Chunk, Document


class PageChunker(Component):
    """Each page as one chunk; pages without text give none."""

    reads: ClassVar[str | None] = None
    kind: Literal["page"] = "page"

    def check(self) -> None:
        """Nothing can be missing."""

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in the order of its pages; ids are `FILE#pPAGEc1`."""
        name = document.id
        return [
            Chunk(id=f"{name}#p{page.number}c1", document=name, pages=(page.number,), text=page.text)
            for page in document.pages
            if page.text.strip()
        ]
