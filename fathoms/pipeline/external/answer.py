"""The format of answers that were made elsewhere: by external pipelines, or in imported result files.

    {"answer": "41.5 m", "contexts": ["...", {"text": "...", "document": "varn.pdf", "page": 1}],
     "citations": ["varn.pdf", {"document": "varn.pdf", "page": 1, "quote": "41.5 m tall"}],
     "usage": {"prompt_tokens": 812, "completion_tokens": 9}}

A pipeline that searches several times may also report each of its rounds, in order:

    "rounds": [{"query": "height of the tower", "contexts": [...], "calls": 1}, ...]

Only `answer` is required, and within a round `contexts`. A key that is absent or null is unknown, and so is
an empty `refusal`, `stop_reason`, `model` or `reasoning`; an empty list means that there are known to be
none. A context is a text or an object with `text`; a citation is a document name or an object with
`document`. Numbers must be finite, pages count from 1, and other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fathoms.answers.citations import all_citations, ranks_of
from fathoms.answers.reasoning import split_parts
from fathoms.pipeline.external.names import DocumentNames, TextPlaces
from fathoms.types import Chunk, Citation, Evidence, Hit, KnownName, Reply, Round, Usage

_Page = Annotated[int, Field(ge=1)]


def bare_text_as(key: str) -> BeforeValidator:
    """Accept a bare text as an object that has nothing but this key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class _External(BaseModel):
    """Base class of values that come from elsewhere."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class Context(_External):
    """One retrieved text that the answer was made from; a higher `score` is better."""

    text: str
    document: KnownName = None
    page: _Page | None = None
    pages: tuple[_Page, ...] = ()
    score: float | None = None

    def hit(self, name: str, rank: int) -> Hit:
        """The context as a hit with the chunk id `NAME:RANK`; without a score it gets 1 / rank."""
        chunk = Chunk(id=f"{name}:{rank}", document=self.document, pages=self.all_pages, text=self.text)
        return Hit(chunk=chunk, score=1 / rank if self.score is None else self.score, rank=rank)

    @property
    def place(self) -> tuple[object, ...]:
        """What two contexts that are the same have in common."""
        return self.text, self.document, self.all_pages

    @property
    def all_pages(self) -> tuple[int, ...]:
        """The pages, however they are given."""
        return self.pages or (() if self.page is None else (self.page,))


class SearchRound(_External):
    """One round of retrieval of a pipeline that searches several times."""

    query: Annotated[str, BeforeValidator(lambda query: "" if query is None else query)] = ""
    """The search text."""
    contexts: tuple[Annotated[Context, bare_text_as("text")], ...]
    """The texts that the round found, best first; an empty list if it found none."""
    calls: Annotated[int, Field(ge=0)] | None = None
    """Number of calls to models that the round took."""


class CitedPlace(Evidence):
    """One cited place. Its numbers must be finite, because a run with others could not be read back."""

    model_config = ConfigDict(allow_inf_nan=False, defer_build=True)


def none_if_empty(value: Any) -> Any:
    """Turn an empty text into `None`, for unknown."""
    return None if isinstance(value, str) and not value.strip() else value


_Words = Annotated[str | None, BeforeValidator(none_if_empty)]


def _counted(usage: Usage) -> Usage:
    """Return the usage unchanged; raises ValueError if one of its counts is negative."""
    for name in Usage.model_fields:
        if (getattr(usage, name) or 0) < 0:
            raise ValueError(f"{name} is below zero")
    return usage


class Parts(_External):
    """The parts of an answer besides its text; `None` means unknown."""

    contexts: tuple[Annotated[Context, bare_text_as("text")], ...] | None = None
    """The retrieved context that the answer was made from, best first."""
    rounds: tuple[SearchRound, ...] | None = None
    """The rounds of retrieval, in order. If there are rounds and no `contexts`, the contexts are those of all
    rounds, each once."""
    citations: tuple[Annotated[CitedPlace, bare_text_as("document")], ...] | None = None
    """The places that the answer itself cites."""
    usage: Annotated[Usage, AfterValidator(_counted)] | None = None
    """Token counts."""
    reasoning: _Words = None
    """The model's reasoning; stored apart and never scored."""
    stop_reason: _Words = None
    """Why the model stopped generating."""
    refusal: _Words = None
    """The reason where the model or a filter refused to answer."""
    model: _Words = None
    """The model that answered."""
    cost: Annotated[float, Field(ge=0, le=1e9)] | None = None
    """Cost of the answer in US dollars."""

    @model_validator(mode="before")
    @classmethod
    def _of_content_parts(cls, data: Any) -> Any:
        """Take the reasoning out of an answer that is a list of content parts."""
        parts = split_parts(data.get("answer")) if isinstance(data, dict) else None
        return {**data, "answer": parts[1], "reasoning": data.get("reasoning") or parts[0]} if parts else data

    def hits(self, name: str) -> tuple[Hit, ...] | None:
        """The contexts as hits in the given order, with chunk ids `NAME:RANK`; `None` where unknown."""
        contexts = self.all_contexts
        return None if contexts is None else _hits(contexts, name)

    @property
    def all_contexts(self) -> tuple[Context, ...] | None:
        """The contexts, or else those of all rounds, each once; `None` where unknown."""
        if self.contexts is not None or self.rounds is None:
            return self.contexts
        found = ((context.place, context) for one in self.rounds for context in one.contexts)
        first: dict[object, Context] = {}
        for place, context in found:
            first.setdefault(place, context.model_copy(update={"score": None}))  # not comparable
        return tuple(first.values())

    def searched(self, name: str) -> tuple[Round, ...]:
        """The rounds with their contexts as hits, with chunk ids `NAME:ROUND:RANK`."""
        return tuple(
            Round(query=one.query, hits=_hits(one.contexts, f"{name}:{number}"), calls=one.calls)
            for number, one in enumerate(self.rounds or (), start=1)
        )

    def cited(
        self, text: str, hits: Sequence[Hit] | None, named: Callable[[str], str] = str
    ) -> tuple[Citation, ...] | None:
        """The places that are cited: those in `citations`, and those written in the answer's text. `None`
        where unknown.

        `hits` have the names of documents as the pipeline reports them, and `named` translates these to the
        names of the data set; a citation may use either.
        """
        reported = None
        if self.citations is not None:
            reported = [Citation(**place.model_dump()) for place in self.citations]
        found = all_citations(text, hits, reported)
        placed = renamed(hits or (), named)

        def place(cited: Citation) -> Citation:
            if not cited.document:
                return cited
            document = named(cited.document)
            ranks = cited.ranks or ranks_of(document, cited.page, placed)
            return cited.model_copy(update={"document": document, "ranks": ranks})

        return None if found is None else tuple(map(place, found))

    def reply(self, text: str, *, first_token: float | None = None, latency: float | None = None) -> Reply:
        """The answer as a model's reply with this text; both times are in seconds."""
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


def _hits(contexts: Sequence[Context], name: str) -> tuple[Hit, ...]:
    """Contexts as hits in the given order, with chunk ids `NAME:RANK`."""
    return tuple(context.hit(name, rank) for rank, context in enumerate(contexts, start=1))


def renamed(hits: Sequence[Hit], named: Callable[[str], str | None]) -> tuple[Hit, ...]:
    """The hits with the names of their documents translated."""
    return tuple(
        hit.model_copy(update={"chunk": hit.chunk.model_copy(update={"document": named(hit.chunk.document)})})
        if hit.chunk.document
        else hit
        for hit in hits
    )


def renamed_in_rounds(rounds: Sequence[Round], named: Callable[[str], str | None]) -> tuple[Round, ...]:
    """The rounds with the names of the documents of their hits translated."""
    return tuple(one.model_copy(update={"hits": renamed(one.hits, named)}) for one in rounds)


def with_places(
    hits: Sequence[Hit] | None, rounds: Sequence[Round], names: DocumentNames, texts: TextPlaces
) -> tuple[tuple[Hit, ...] | None, tuple[Round, ...], int, int]:
    """The hits and rounds of an answer, of which those that name no document, or only a key that says nothing
    of the place, have the places where their texts stand; and how many texts were found, and were not."""
    keyless = None if hits is None else renamed(hits, names.without_key)
    return texts.placed(keyless, renamed_in_rounds(rounds, names.without_key))


class Answer(Parts):
    """An answer with its other parts. The empty text is a valid answer."""

    answer: str
    """The text of the answer."""
