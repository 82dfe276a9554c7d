"""Embedding of texts, and of pictures of pages, as work for an executor, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.executors import OnPage, Packed, Work
from fathoms.models.embed.process import APART, embed, embed_pages
from fathoms.safety.children import Children

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import Embedder, PageEmbedder

    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EmbedWork(Work[Sequence[str], "Vectors"]):
    """Embeds batches of texts; the outcome of a batch is float32 of shape (texts, width).

    On one machine the batches follow one another, because a local model uses all of its processors, and a
    server is asked from one place.
    """

    embedder: Embedder
    query: bool = False

    def open(self, children: Children, workers: int) -> EmbedWork:
        """Return this: the process of the model is that of `embed`, which outlives the work."""
        return self

    def do(self, item: Sequence[str], on_page: OnPage) -> Callable[[], Vectors]:
        """Return what gives the vectors of a batch."""
        return partial(embed, self.embedder, item, query=self.query)

    def close(self) -> None:
        """Do nothing, because the model outlives the work."""

    def most(self, items: Sequence[Sequence[str]]) -> int:
        """This process asks the model, one batch after another."""
        return 0

    @property
    def is_local(self) -> bool:
        """Whether the model runs on the machine that embeds, so that more machines are of use."""
        return self.embedder.kind in APART

    def identity(self) -> dict[str, Any]:
        """The identity of the model, with the hashes of its weights."""
        return self.embedder.identity()

    def for_workers(self) -> EmbedWork:
        """A model that shares a machine with others uses one thread there unless a number is given."""
        embedder = self.embedder
        if getattr(embedder, "threads", 0) is None:
            embedder = embedder.model_copy(update={"threads": 1})
        return EmbedWork(embedder, self.query)


@dataclass(frozen=True)
class PageEmbedWork(Work[Sequence[Path], "list[Vectors]"]):
    """Embeds batches of pictures of pages with a local model; the outcome of a batch has the vectors of each
    picture, float32 of shape (vectors, width). A worker of a cluster is sent the pictures."""

    embedder: PageEmbedder

    def open(self, children: Children, workers: int) -> PageEmbedWork:
        """Return this: the process of the model is that of `embed_pages`, which outlives the work."""
        return self

    def do(self, item: Sequence[Path], on_page: OnPage) -> Callable[[], list[Vectors]]:
        """Return what gives the vectors of a batch."""
        return partial(embed_pages, self.embedder, item)

    def close(self) -> None:
        """Do nothing, because the model outlives the work."""

    def most(self, items: Sequence[Sequence[Path]]) -> int:
        """This process asks the model, one batch after another."""
        return 0

    def identity(self) -> dict[str, Any]:
        """The identity of the model, with the hashes of its weights."""
        return self.embedder.identity()

    def sent(self, item: Sequence[Path]) -> list[Packed]:
        """Return the pictures as they are sent to another machine."""
        return [Packed.of(picture) for picture in item]

    def arrived(self, sent: Sequence[Packed], folder: Path) -> list[Path]:
        """The pictures, each in a folder of its own, because pages of several documents have one name."""
        return [file.unpack(folder / str(number)) for number, file in enumerate(sent)]
