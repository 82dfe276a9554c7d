"""Reranking: a fast retriever selects candidates, and a model that reads question and chunk sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.models import CrossEncoder, Generator
from fathoms.models.caller import ModelCalls
from fathoms.registry import OneOf
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.retrieve.retriever import Index, Retriever, TextQuery, as_candidates, hits
from fathoms.retrieve.wrapping import Wrapping
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Prompt, Purpose, Question

First = Annotated[Retriever, OneOf("retrievers", within="rerank")]
Reranker = Annotated[CrossEncoder | LLMReranker, OneOf("rerankers")]


class Rerank(Wrapping, TextQuery):
    """Sorts the candidates of the retriever `first` by the scores of the reranker `by`.

    `query` is the text that the reranker reads as the question; `first` searches with its own `query`.
    Candidates with equal scores keep the order of `first`. Pages that `first` finds by their images are
    reranked by their text. A cross-encoder sorts the candidates of all questions in one batch, and a language
    model those of one question at a time, before it is answered.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"first", "by"})
    wraps: ClassVar[str] = "first"

    usable_in: ClassVar[frozenset[str]] = frozenset({"degrade", "distractors", "injected", "quote-search"})

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

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identities of the first retriever and of the reranker."""
        return {**super().identity(), "by": self.by.identity()}

    def served(self) -> dict[str, Any]:
        """Return what the server of the reranking language model reports about the model it runs."""
        return self.by.served()

    def check(self) -> None:
        """Check the first retriever and the reranker; raises their errors."""
        super().check()
        self.by.check()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` candidates with the highest scores for each question, or all candidates where a
        language model will sort them (`refine`)."""
        rows = self.first.search(index, questions)
        if isinstance(self.by, LLMReranker):
            return rows
        queries = self.queries(questions)
        pairs = [(query, hit.chunk.indexed) for query, row in zip(queries, rows, strict=True) for hit in row]
        scores = iter(self.by.scores(pairs))
        return [self._best(row, [next(scores) for _ in row]) for row in rows]

    @property
    def called(self) -> dict[Purpose, Generator]:
        """The language model that grades the candidates; none for a cross-encoder."""
        return {"rerank": self.by.generate} if isinstance(self.by, LLMReranker) else {}

    async def refine(
        self, index: Index, question: Question, candidates: Sequence[Hit], calls: ModelCalls
    ) -> tuple[Hit, ...]:
        """Return the `top_k` candidates with the highest grades of the language model. Raises ModelError and
        Stopped."""
        if not isinstance(self.by, LLMReranker):
            return tuple(candidates)
        (query,) = self.queries([question])
        passages = [hit.chunk.indexed for hit in candidates]
        return self._best(candidates, await self.by.grades(query, passages, calls))

    def without_refining(self, candidates: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the first `top_k` candidates."""
        return tuple(candidates[: self.top_k])

    def refining_prompts(self, question: Question, candidates: Sequence[Hit]) -> list[Prompt]:
        """Return one prompt per candidate; none for a cross-encoder."""
        if not isinstance(self.by, LLMReranker):
            return []
        (query,) = self.queries([question])
        return [self.by.prompt_of(query, hit.chunk.indexed) for hit in candidates]

    def _best(self, candidates: Sequence[Hit], scores: Sequence[float]) -> tuple[Hit, ...]:
        """The `top_k` candidates with the highest scores, with new ranks."""
        scored = [(hit.chunk, score) for hit, score in zip(candidates, scores, strict=True)]
        return hits(sorted(scored, key=lambda pair: -pair[1])[: self.top_k])
