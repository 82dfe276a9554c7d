"""Map-reduce: a question is asked of each document by itself, and one more call combines what they say.

This is the component: which documents are asked, and with which of their chunks. The calls are made by
`fathoms/pipeline/each_document.py`, because their prompts are packed like every other prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.models import Generator
from fathoms.models.chat.room import room_for_prompt
from fathoms.registry import OneOf
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.retriever import Index, Retriever, hits
from fathoms.retrieve.wrapping import Wrapping
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Chunk, Hit, Purpose, Question

Ranked = Annotated[Retriever, OneOf("retrievers", within="each-document")]
MOST_DOCUMENTS = 10_000
_AROUND = " \t\r\n*_#>\"'`.!:"
"""White space, and signs that models put around a short reply."""


class EachDocument(Wrapping):
    """Asks one question of each document by itself, with the best chunks of that document alone, and then
    combines the partial answers by one more call to the model that answers.

    It is for questions whose evidence lies in many documents. Documents that say nothing are left out before
    the partial answers are combined. A document whose call fails for good is left out as well, and counted;
    the question fails only if all of them do.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"retriever", "generate"})

    kind: Literal["each-document"] = "each-document"
    retriever: Ranked = Field(default=Dense(), validate_default=True)
    """The retriever that ranks the chunks; its `top_k` does not matter."""
    chunks: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """The most chunks of one document, its best ones, which are in the prompt of its call."""
    documents: int = Field(default=100, ge=1, le=MOST_DOCUMENTS)
    """The most documents per question, those with the best chunk. Each of them takes a call."""
    candidates: int = Field(default=1000, ge=1, le=MOST_CHUNKS)
    """How many of the best chunks are looked at. A document without a chunk among them is not asked."""
    generate: Generator | None = None
    """The model that is asked about each document. Default: the model that answers."""
    prompt: str | None = None
    """What the model is asked about each document, with the placeholders `{context}`, `{question}` and
    `{files}` (the name of the document); null takes the template `each-document`. It must ask for the words
    of `nothing` where the document does not help."""
    nothing: str = Field(default="NOTHING FOUND", min_length=1)
    """What the model replies, by itself or as its first line, where a document says nothing."""

    @field_validator("retriever")
    @classmethod
    def _is_known_beforehand(cls, retriever: Ranked) -> Ranked:
        if retriever.called:
            raise ValueError("a language model cannot rank the chunks of all documents: name its 'retriever'")
        return retriever

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str | None) -> str | None:
        for place in ("{question}", "{context}") if prompt is not None else ():
            if place not in (prompt or ""):
                raise ValueError(f"must contain {place}")
        return prompt

    def identity(self) -> dict[str, Any]:
        """Extend the identity by those of the inner retriever and of the model."""
        model = None if self.generate is None else self.generate.identity()
        return {**super().identity(), "generate": model}

    def served(self) -> dict[str, Any]:
        """Return what the server of the model reports about the model it runs."""
        return {} if self.generate is None else self.generate.served()

    def check(self) -> None:
        """Check the inner retriever and the model; raises their errors, and ConfigError if `max_tokens`
        leaves no room for a prompt."""
        super().check()
        if self.generate is not None:
            room_for_prompt(self.generate, "retrieve.generate")
            self.generate.check()

    @property
    def called(self) -> dict[Purpose, Generator]:
        """The model that is asked about each document; none in a run that only searches."""
        return {} if self.generate is None else {"extract": self.generate}

    @property
    def most_pictures(self) -> int | None:
        """The most pictures in one request, which has the chunks of one document."""
        return self.chunks

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the best chunks of each of the best documents, in the order of the inner retriever."""
        deep = self.retriever.model_copy(update={"top_k": self.candidates})
        return [self._best(row) for row in deep.search(index, questions)]

    def _best(self, ranked: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return at most `chunks` hits of each of the first `documents` documents."""
        taken: dict[str, int] = {}
        best: list[tuple[Chunk, float]] = []
        for hit in ranked:
            name = hit.chunk.source
            if name not in taken and len(taken) == self.documents:
                continue
            taken[name] = taken.get(name, 0) + 1
            if taken[name] <= self.chunks:
                best.append((hit.chunk, hit.score))
        return hits(best)

    def by_document(self, found: Sequence[Hit]) -> dict[str, tuple[Hit, ...]]:
        """Return the hits of each document, the document with the best hit first."""
        groups: dict[str, list[Hit]] = {}
        for hit in found:
            groups.setdefault(hit.chunk.source, []).append(hit)
        return {name: tuple(group) for name, group in groups.items()}

    def says_nothing(self, reply: str) -> bool:
        """Whether a reply says that its document does not help."""
        first = reply.strip().partition("\n")[0]
        return re.sub(r"\s+", " ", first.strip(_AROUND)).casefold() == self.nothing.strip(_AROUND).casefold()
