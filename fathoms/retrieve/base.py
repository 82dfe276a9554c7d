"""What every retriever has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from fathoms.config import Component
from fathoms.types import Chunk, Hit, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """All that can be retrieved from.

    `vectors` is float32 of shape (len(chunks), d), L2-normalised, or `None` where the retriever did not
    ask for them; `embed` turns questions into the same space; `folder` is this index's own place in the
    cache.
    """

    chunks: Sequence[Chunk]
    vectors: Vectors | None
    embed: Callable[[Sequence[str]], Vectors]
    folder: Path


class Retriever(Component):
    """Finds chunks for questions."""

    needs: ClassVar[Literal["nothing", "chunks", "vectors"]] = "vectors"

    def check(self) -> None:
        """Raise now what would fail later."""

    @abstractmethod
    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The hits of every question, best first."""


def hits(found: Sequence[tuple[Chunk, float]]) -> tuple[Hit, ...]:
    """Ranked hits from (chunk, score), best first."""
    return tuple(
        Hit(chunk=chunk, score=score, rank=rank) for rank, (chunk, score) in enumerate(found, start=1)
    )
