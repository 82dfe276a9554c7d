"""Dense retrieval: find the chunks whose embeddings have the highest cosine similarity to the question's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.registry import OneOf
from fathoms.retrieve.approximation import recall, sample
from fathoms.retrieve.numpy_store import NumpyStore, exact_search
from fathoms.retrieve.retriever import RANKS_TEXTS, Index, TextQuery, VectorStore, hits
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Floats

Store = Annotated[VectorStore, OneOf("stores")]
_LEAST = 10
"""The least number of chunks for which recall is computed."""


class Dense(TextQuery):
    """`kind: dense`: exact or approximate nearest-neighbour search by cosine similarity."""

    neutral: ClassVar[frozenset[str]] = frozenset({"store"})

    usable_in: ClassVar[frozenset[str]] = RANKS_TEXTS

    kind: Literal["dense"] = "dense"
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks per question."""
    store: Store = NumpyStore()
    """The vector store: `numpy` (exact search), `ivf` (approximate search by LanceDB), or any vector store of
    LlamaIndex."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identity of the store."""
        return {**super().identity(), "store": self.store.identity()}

    def check(self) -> None:
        """Check the store; raises ConfigError if its class cannot be imported."""
        self.store.check()

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of the vectors, and of what the store keeps besides them; `None` without any."""
        return None if index.vectors is None else int(index.vectors.nbytes) + self.store.nbytes(index.vectors)

    def assess(self, index: Index, questions: Sequence[Question]) -> None:
        """Note in the index which share of the 10 best chunks, or `top_k` if that is more, an approximate
        search finds, over some of the questions."""
        if not self.store.approximate or not index.chunks or not questions or index.vectors is None:
            return
        some = sample(questions)
        queries, k = self._embedded(index, some), min(max(_LEAST, self.top_k), len(index.chunks))
        found = self.store.search(index.folder, index.vectors, queries, k)
        exact = exact_search(index.vectors, queries, k)
        ours, theirs = ([[at for at, _ in row] for row in rows] for rows in (found, exact))
        index.notes["chunk_approximation"] = {
            "options": {"store": self.store.kind, **self.store.model_dump(exclude={"kind"})},
            "k": k,
            "recall": recall(ours, theirs, k),
            "questions": len(some),
            "chunks": len(index.chunks),
        }

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` nearest chunks of each question, or all chunks if the index has fewer.

        Raises ModelError if the vectors of questions and chunks differ in length.
        """
        if not index.chunks or not questions or index.vectors is None:
            return [() for _ in questions]
        queries = self._embedded(index, questions)
        found = self.store.search(index.folder, index.vectors, queries, min(self.top_k, len(index.chunks)))
        return [hits([(index.chunks[at], score) for at, score in row]) for row in found]

    def _embedded(self, index: Index, questions: Sequence[Question]) -> Floats:
        """Return the vectors of questions; raises ModelError if those of the chunks have another length."""
        queries = index.embed(self.queries(questions))
        width = 0 if index.vectors is None else index.vectors.shape[1]
        # the server now runs another model under the same name than when the chunks were embedded
        if queries.shape[1] != width:
            raise ModelError(
                f"embed: questions have vectors of {queries.shape[1]} numbers, the chunks in the cache of"
                f" {width}: the embedding model has changed; run again with --refresh"
            )
        return queries
