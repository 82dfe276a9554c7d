"""The shape of an answer that was made elsewhere: imported rows and pipelines of one's own share it.

    {"answer": "41.5 m", "contexts": ["...", {"text": "...", "document": "varn.pdf", "page": 1}],
     "citations": ["varn.pdf", {"document": "varn.pdf", "page": 1, "quote": "41.5 m tall"}],
     "usage": {"prompt_tokens": 812, "completion_tokens": 9}}

Only `answer` must be there. What is absent or null is not known, nor is an empty `refusal`, `stop_reason`,
`model` or `reasoning`; an empty list is known to be empty.
Contexts are texts, or objects with `text`; citations are documents, or objects with `document`. Numbers are
finite, pages count from 1, and keys beside these are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from fathoms.types import Chunk, Evidence, Hit, Reply, Usage

_Page = Annotated[int, Field(ge=1)]


class _Told(BaseModel):
    """A value from elsewhere."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Context(_Told):
    """One text that an answer was made from; a higher `score` is better."""

    text: str
    document: str = ""
    page: _Page | None = None
    pages: tuple[_Page, ...] = ()
    score: float | None = None


class Citation(Evidence):
    """One cited place, its numbers finite: a run could not be read back otherwise."""

    model_config = ConfigDict(allow_inf_nan=False)


def _context(value: Any) -> Any:
    """A bare text is a context of which nothing else is known."""
    return {"text": value} if isinstance(value, str) else value


def _citation(value: Any) -> Any:
    """A bare text is the name of a document."""
    return {"document": value} if isinstance(value, str) else value


def _told(value: Any) -> Any:
    """An empty text tells nothing."""
    return None if isinstance(value, str) and not value.strip() else value


_Words = Annotated[str | None, BeforeValidator(_told)]


def _counted(usage: Usage) -> Usage:
    """Refuse counts below zero."""
    for name in Usage.model_fields:
        if (getattr(usage, name) or 0) < 0:
            raise ValueError(f"{name} is below zero")
    return usage


class Parts(_Told):
    """What comes with an answer."""

    contexts: tuple[Annotated[Context, BeforeValidator(_context)], ...] | None = None
    """What the answer was made from, best first."""
    citations: tuple[Annotated[Citation, BeforeValidator(_citation)], ...] | None = None
    """The places that the answer itself names."""
    usage: Annotated[Usage, AfterValidator(_counted)] | None = None
    """Tokens."""
    reasoning: _Words = None
    """What a model thought; kept apart and never scored."""
    stop_reason: _Words = None
    """Why the model stopped."""
    refusal: _Words = None
    """Why there was no real answer, where it was refused."""
    model: _Words = None
    """The model that answered."""
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What it cost."""

    def hits(self, name: str) -> tuple[Hit, ...] | None:
        """The contexts as chunks with ids `NAME:RANK`, best first as they are listed; `None` where not known.

        A context without a score has 1 / rank, which keeps the order.
        """
        return None if self.contexts is None else tuple(_hits(name, self.contexts))

    def evidence(self) -> tuple[Evidence, ...] | None:
        """The cited places, `None` where not known."""
        if self.citations is None:
            return None
        return tuple(Evidence(**citation.model_dump()) for citation in self.citations)

    def reply(self, text: str, *, first_token: float | None = None, latency: float | None = None) -> Reply:
        """The answer of this text as a model's reply; the times are seconds."""
        return Reply(
            text=text,
            reasoning=self.reasoning or "",
            stop_reason=self.stop_reason,
            refusal=self.refusal,
            model=self.model,
            usage=self.usage or Usage(),
            cost=self.cost,
            first_token=first_token,
            latency=latency,
        )


class Answer(Parts):
    """An answer; the empty text is one too."""

    answer: str
    """What was said."""


def _hits(name: str, contexts: tuple[Context, ...]) -> Iterator[Hit]:
    """One after the other."""
    for rank, context in enumerate(contexts, start=1):
        pages = context.pages or (() if context.page is None else (context.page,))
        chunk = Chunk(id=f"{name}:{rank}", document=context.document, pages=pages, text=context.text)
        yield Hit(chunk=chunk, score=1 / rank if context.score is None else context.score, rank=rank)
