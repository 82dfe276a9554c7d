"""Dense retrieval: the chunks whose embeddings have the highest cosine with the question's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.retrieve.base import Corpus, TextQuery, hits
from fathoms.retrieve.llamaindex import LlamaIndexStore
from fathoms.retrieve.numpy_store import NumpyStore
from fathoms.safety.limits import MOST_CHUNKS
from fathoms.types import Hit, Question

Store = Annotated[NumpyStore | LlamaIndexStore, Field(discriminator="kind")]


class Dense(TextQuery):
    """Exact or approximate nearest neighbours by cosine, over all documents."""

    neutral: ClassVar[frozenset[str]] = frozenset({"store"})

    kind: Literal["dense"] = "dense"
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """How many chunks a question gets."""
    store: Store = NumpyStore()
    """Where the vectors are searched: `numpy` (exact) or any LlamaIndex vector store."""

    def identity(self) -> dict[str, Any]:
        """The store counts by its own identity."""
        return {**super().identity(), "store": self.store.identity()}

    def check(self) -> None:
        """Raise ConfigError where the store is not here."""
        self.store.check()

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The `top_k` nearest chunks of every question; fewer where the corpus holds fewer."""
        if not corpus.chunks or not questions or corpus.vectors is None:
            return [() for _ in questions]
        queries = corpus.embed(self.queries(questions))
        if queries.shape[1] != corpus.vectors.shape[1]:  # the model behind a name was exchanged
            raise ModelError(
                f"embed: questions have vectors of {queries.shape[1]} numbers, the chunks in the cache of"
                f" {corpus.vectors.shape[1]}: the model is another one now; run again with --refresh"
            )
        found = self.store.search(corpus.folder, corpus.vectors, queries, min(self.top_k, len(corpus.chunks)))
        return [hits([(corpus.chunks[index], score) for index, score in row]) for row in found]
