"""The base class of all chunkers."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from fathoms.component import Component
from fathoms.types import Chunk, Document


class BaseChunker(Component):
    """Splits the text of a document into the chunks that are searched."""

    reads: ClassVar[str | None] = None
    """The parser's own document format that is split in the place of the pages' text, such as `docling`."""
    pages_per_child: ClassVar[int] = 2000
    """From how many pages on a child process pays, because of what it has to import."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if a requirement (package, weights) is missing; called before a run."""

    @abstractmethod
    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document, in their order."""
