"""Reranking: a fast retriever selects candidates, and a model that reads question and chunk sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.models import CrossEncoder
from fathoms.retrieve.base import Index, Needs, TextQuery, as_candidates, hits
from fathoms.retrieve.bm25 import BM25
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.hybrid import Hybrid
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

First = Annotated[Dense | BM25 | Hybrid, Field(discriminator="kind")]
Reranker = Annotated[CrossEncoder | LLMReranker, Field(discriminator="kind")]


class Rerank(TextQuery):
    """Sorts the candidates of the retriever `first` by the scores of the reranker `by`.

    `query` is the text that the reranker reads as the question; `first` searches with its own `query`.
    Candidates with equal scores keep the order of `first`.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"first", "by"})

    kind: Literal["rerank"] = "rerank"
    first: First = Field(default=Dense(), validate_default=True)
    """The retriever that selects the candidates. It returns 20 chunks unless its `top_k` is set."""
    by: Reranker
    """The reranker: a cross-encoder, or a language model that grades each chunk."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks per question after reranking."""

    @field_validator("first")
    @classmethod
    def _give_candidates(cls, first: First) -> First:
        return as_candidates(first)

    @property
    def needs(self) -> Needs:
        """The input that the first retriever needs."""
        return self.first.needs

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identities of the first retriever and of the reranker."""
        return {**super().identity(), "first": self.first.identity(), "by": self.by.identity()}

    def served(self) -> dict[str, Any]:
        """Return what the server of the reranking language model reports about the model it runs."""
        return self.by.served()

    def check(self) -> None:
        """Check the first retriever and the reranker; raises their errors."""
        self.first.check()
        self.by.check()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` candidates with the highest scores for each question.

        Raises ModelError if the reranker fails.
        """
        rows = self.first.search(index, questions)
        queries = self.queries(questions)
        pairs = [(query, hit.chunk.indexed) for query, row in zip(queries, rows, strict=True) for hit in row]
        scores = iter(self.by.scores(pairs))
        scored = [[(hit.chunk, next(scores)) for hit in row] for row in rows]
        return [hits(sorted(row, key=lambda pair: -pair[1])[: self.top_k]) for row in scored]
