"""Reranking: a cheap retriever proposes, a model that reads question and chunk together decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.models import CrossEncoder
from fathoms.retrieve.base import Corpus, Needs, TextQuery, as_candidates, hits
from fathoms.retrieve.bm25 import BM25
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.hybrid import Hybrid
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.safety.limits import MOST_CHUNKS
from fathoms.types import Hit, Question

First = Annotated[Dense | BM25 | Hybrid, Field(discriminator="kind")]
Reranker = Annotated[CrossEncoder | LLMReranker, Field(discriminator="kind")]


class Rerank(TextQuery):
    """The candidates of `first` in the order of the scores that `by` gives them.

    `query` is what the reranker reads as the question; `first` searches with its own. Equal scores keep
    the order of `first`.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"first", "by"})

    kind: Literal["rerank"] = "rerank"
    first: First = Field(default=Dense(), validate_default=True)
    """What proposes; without a `top_k` of its own it gives 20 chunks."""
    by: Reranker
    """What decides: a cross-encoder, or a language model that is asked about each chunk."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """How many chunks a question gets in the end."""

    @field_validator("first")
    @classmethod
    def _give_candidates(cls, first: First) -> First:
        return as_candidates(first)

    @property
    def needs(self) -> Needs:
        """What the first retriever needs."""
        return self.first.needs

    def identity(self) -> dict[str, Any]:
        """Retriever and reranker count by their own identities."""
        return {**super().identity(), "first": self.first.identity(), "by": self.by.identity()}

    def served(self) -> dict[str, Any]:
        """What the server of a reranking language model says it runs."""
        return self.by.served()

    def check(self) -> None:
        """Raise what the retriever or the reranker would."""
        self.first.check()
        self.by.check()

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The `top_k` candidates of the highest scores for every question; raises ModelError where the
        reranker fails."""
        rows = self.first.search(corpus, questions)
        queries = self.queries(questions)
        pairs = [(query, hit.chunk.indexed) for query, row in zip(queries, rows, strict=True) for hit in row]
        scores = iter(self.by.scores(pairs))
        return [self._reordered(row, [next(scores) for _ in row]) for row in rows]

    def _reordered(self, row: Sequence[Hit], scores: Sequence[float]) -> tuple[Hit, ...]:
        """The best candidates of one question."""
        scored = [(hit.chunk, score) for hit, score in zip(row, scores, strict=True)]
        return hits(sorted(scored, key=lambda pair: -pair[1])[: self.top_k])
