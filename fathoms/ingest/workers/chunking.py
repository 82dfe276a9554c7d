"""Chunking as work for an executor: in this process for few pages, in child processes for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from pydantic import TypeAdapter

from fathoms.errors import FathomsError, error_of
from fathoms.executors import OnPage, Work
from fathoms.safety.children import Child, ChildEndedError, Children
from fathoms.types import Chunk, Document, DocumentFacts

CHILD = "fathoms.ingest.workers.chunk_child"
_CHUNKS = TypeAdapter(list[Chunk])


class Chunks(Protocol):
    """What a chunker has to have to be used here; `ingest.chunkers` has the kinds."""

    pages_per_child: ClassVar[int]

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document in order."""

    def identity(self) -> dict[str, Any]:
        """Return what they depend on."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return the options of the chunker, as pydantic does."""


Item = DocumentFacts | Document
"""A document that is loaded when its turn comes, or, on its way to another machine, the document itself."""


@dataclass(frozen=True)
class ChunkWork(Work[Item, list[Chunk]]):
    """The work of splitting documents into chunks, here or in child processes.

    `load` returns a document with all that the chunker reads, when its turn comes. `pages_each` is the number
    of pages from which a child process pays; that of the chunker if not given.
    """

    chunker: Chunks
    load: Callable[[Item], Document]
    pages_each: int | None = None

    def open(self, children: Children, workers: int) -> _Here | _Apart:
        """Return this process for one worker, and child processes for several."""
        return _Here(self) if workers == 1 else _Apart(self, children)

    def most(self, items: Sequence[Item]) -> int:
        """One worker per `pages_each` pages; none where there would be a single one."""
        if not (each := self.pages_each or self.chunker.pages_per_child):
            return 0
        several = sum(map(_pages, items)) // each
        return min(several, len(items)) if several > 1 else 0

    def identity(self) -> dict[str, Any]:
        """The identity of the chunker."""
        return self.chunker.identity()

    def for_workers(self) -> ChunkWork:
        """The same for documents that were loaded before they were sent."""
        return ChunkWork(self.chunker, _loaded, self.pages_each)

    def sent(self, item: Item) -> Document:
        """The document with all that the chunker reads."""
        return self.load(item)

    def killed(self, item: Item, why: str) -> list[Chunk]:
        """Raise the error: a document without chunks would be missing from the corpus unseen."""
        raise FathomsError(f"{item.id} cannot be chunked: it {why}")


def _loaded(item: Item) -> Document:
    """Return a document that was loaded before."""
    assert isinstance(item, Document)
    return item


def _pages(item: Item) -> int:
    """Return the number of pages of a document."""
    return item.pages if isinstance(item, DocumentFacts) else len(item.pages)


class _Here:
    """Chunks documents in the process that asks."""

    def __init__(self, work: ChunkWork) -> None:
        self._work = work

    def do(self, item: Item, on_page: OnPage) -> Callable[[], list[Chunk]]:
        """Return what makes the chunks of a document."""
        return lambda: self._work.chunker.chunk(self._work.load(item))

    def close(self) -> None:
        """Do nothing, because no child process was started."""


class _Apart:
    """Chunks documents in child processes, which load their tokenizers once."""

    def __init__(self, work: ChunkWork, children: Children) -> None:
        self._work = work
        self._children = children
        self._idle: list[Child] = []

    def do(self, item: Item, on_page: OnPage) -> Callable[[], list[Chunk]]:
        """Have a document split, and return what reads the chunks; raises FathomsError if the process dies,
        and its errors."""
        child = self._taken() or self._started()
        document = self._work.load(item)
        child.send({"document": document.model_dump_json(), "native": document.native})
        try:
            head, data = child.receive()
        except ChildEndedError as ended:
            child.end()
            raise FathomsError(f"{item.id} cannot be chunked: the process ended ({ended.how})") from None
        if "error" in head:
            child.end()
            raise error_of(*head["error"])
        self._idle.append(child)
        return partial(_CHUNKS.validate_json, data)

    def close(self) -> None:
        """End the child processes that are free."""
        while (child := self._taken()) is not None:
            child.end()

    def _taken(self) -> Child | None:
        """Take an idle process; `None` if there is none."""
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _started(self) -> Child:
        """Start a process and tell it the chunker."""
        child = self._children.start(CHILD, stderr="inherit")
        child.send(self._work.chunker.model_dump(mode="json"))
        return child
