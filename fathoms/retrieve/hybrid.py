"""Hybrid retrieval: combine the rankings of several retrievers by reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from fathoms.registry import OneOf
from fathoms.retrieve.bm25 import BM25
from fathoms.retrieve.dense import Dense
from fathoms.retrieve.fusion import Page, fused, fused_pages
from fathoms.retrieve.page_search import PageHandling
from fathoms.retrieve.retriever import RANKS_TEXTS, Index, Needs, Retriever, as_candidates
from fathoms.retrieve.visual import Visual
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

Part = Annotated[Retriever, OneOf("retrievers", within="hybrid")]


class Hybrid(Retriever):
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). The score of a chunk is the sum of

        weight / (k + rank)

    over the rankings that contain it, with ranks counted from 1. The scores of the retrievers are not used,
    so they need not be comparable. Chunks with equal sums keep their order in the index.

    If one of the retrievers searches by page images (`visual`), pages are fused instead of chunks: a page has
    the rank of its best chunk among the different pages of a ranking, and the hits are pages, shown as the
    visual retriever says. Chunks whose pages are not known have no part in it.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"of"})

    usable_in: ClassVar[frozenset[str]] = RANKS_TEXTS - {"hybrid"}

    kind: Literal["hybrid"] = "hybrid"
    of: tuple[Part, ...] = Field(default=(Dense(), BM25()), min_length=2, validate_default=True)
    """The retrievers to combine, two or more. Each returns 20 chunks, or pages, unless its `top_k` is set."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks, or of pages, per question after the fusion."""
    k: int = Field(default=60, ge=0, le=1_000_000)
    """Smoothing constant of the fusion: the higher it is, the less the first ranks stand out. The paper uses
    60."""
    weights: tuple[Annotated[float, Field(gt=0)], ...] | None = None
    """Weight of each ranking, in the order of `of`; 1 for each if not given."""

    @field_validator("of")
    @classmethod
    def _give_candidates(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if sum(isinstance(part, Visual) for part in parts) > 1:
            raise ValueError("only one of the retrievers can search by page images")
        return tuple(as_candidates(part) for part in parts)

    @model_validator(mode="after")
    def _check_weights(self) -> Hybrid:
        if self.weights is not None and len(self.weights) != len(self.of):
            raise ValueError(f"{len(self.weights)} weights for {len(self.of)} retrievers")
        return self

    @property
    def needs(self) -> Needs:
        """`vectors` if one of the retrievers needs them, otherwise `chunks`."""
        return "vectors" if any(part.needs == "vectors" for part in self.of) else "chunks"

    @property
    def pages(self) -> PageHandling | None:
        """How the retriever by page images embeds and shows pages; `None` if there is none."""
        return None if self._visual is None else self._visual.pages

    @property
    def _visual(self) -> Visual | None:
        """The retriever by page images; `None` if there is none."""
        return next((part for part in self.of if isinstance(part, Visual)), None)

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the identities of the retrievers."""
        return {**super().identity(), "of": [part.identity() for part in self.of]}

    def check(self) -> None:
        """Check every retriever; raises their errors."""
        for part in self.of:
            part.check()

    def index_bytes(self, index: Index) -> int | None:
        """Return the sum over the different kinds of retrievers, `None` if one is not known."""
        sizes = {part.kind: part.index_bytes(index) for part in self.of}
        known = [size for size in sizes.values() if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def prepare(self, index: Index, progress: Callable[[int, int], None]) -> None:
        """Build what each retriever searches."""
        for part in self.of:
            part.prepare(index, progress)

    def assess(self, index: Index, questions: Sequence[Question]) -> None:
        """Note what those retrievers lose that are approximate."""
        for part in self.of:
            part.assess(index, questions)

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` chunks, or pages, with the highest sums for each question."""
        weights = self.weights or [1.0] * len(self.of)
        if (visual := self._visual) is not None:
            ranked = zip(*(_pages(part, index, questions) for part in self.of), strict=True)
            rows_of_pages = [fused_pages(each, weights, k=self.k, top_k=self.top_k) for each in ranked]
            hits = [visual.hits_of(index, row) for row in rows_of_pages]
            return visual.with_heatmaps(index, questions, rows_of_pages, hits)
        rows = zip(*(part.search(index, questions) for part in self.of), strict=True)
        return [fused(index, rankings, weights, k=self.k, top_k=self.top_k) for rankings in rows]


def _pages(part: Retriever, index: Index, questions: Sequence[Question]) -> list[list[Page]]:
    """Return the pages that a retriever finds for each question, best first; a page can occur again."""
    if isinstance(part, Visual):
        return [[page for page, _ in row] for row in part.ranked(index, questions)]
    names = () if index.pages is None else index.pages.names
    positions = index.build_once("document positions", lambda: {name: at for at, name in enumerate(names)})
    rows = part.search(index, questions)
    return [[(positions[name], page) for hit in row for name, page in hit.chunk.places] for row in rows]
