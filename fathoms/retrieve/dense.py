"""Dense retrieval: find the chunks whose embeddings have the highest cosine similarity to the question's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.retrieve.base import Index, TextQuery, hits
from fathoms.retrieve.llamaindex import LlamaIndexStore
from fathoms.retrieve.numpy_store import NumpyStore
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

Store = Annotated[NumpyStore | LlamaIndexStore, Field(discriminator="kind")]


class Dense(TextQuery):
    """`kind: dense`: exact or approximate nearest-neighbour search by cosine similarity."""

    neutral: ClassVar[frozenset[str]] = frozenset({"store"})

    kind: Literal["dense"] = "dense"
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks per question."""
    store: Store = NumpyStore()
    """The vector store: `numpy` (exact search) or any vector store of LlamaIndex."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identity of the store."""
        return {**super().identity(), "store": self.store.identity()}

    def check(self) -> None:
        """Check the store; raises ConfigError if its class cannot be imported."""
        self.store.check()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` nearest chunks of each question, or all chunks if the index has fewer.

        Raises ModelError if the vectors of questions and chunks differ in length.
        """
        if not index.chunks or not questions or index.vectors is None:
            return [() for _ in questions]
        queries = index.embed(self.queries(questions))
        # the server now runs another model under the same name than when the chunks were embedded
        if queries.shape[1] != index.vectors.shape[1]:
            raise ModelError(
                f"embed: questions have vectors of {queries.shape[1]} numbers, the chunks in the cache of"
                f" {index.vectors.shape[1]}: the embedding model has changed; run again with --refresh"
            )
        found = self.store.search(index.folder, index.vectors, queries, min(self.top_k, len(index.chunks)))
        return [hits([(index.chunks[at], score) for at, score in row]) for row in found]
