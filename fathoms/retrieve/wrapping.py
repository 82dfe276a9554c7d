"""Retrievers that wrap another one, and leave to it all that they do not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fathoms.retrieve.page_search import PageHandling
from fathoms.retrieve.retriever import Index, Needs, Retriever
from fathoms.types import Hit, Question


class Wrapping(Retriever):
    """Base class of retrievers that change what another retriever finds.

    The wrapped retriever decides what the index must hold, how large it is, and what an approximate search
    loses. A subclass overrides what differs, and calls `super()` in `check` and `identity`.
    """

    wraps: ClassVar[str] = "retriever"
    """The name of the option that holds the wrapped retriever."""

    @property
    def wrapped(self) -> Retriever:
        """The retriever whose hits this one changes."""
        found: Retriever = getattr(self, self.wraps)
        return found

    @property
    def needs(self) -> Needs:
        """The input that the wrapped retriever needs."""
        return self.wrapped.needs

    @property
    def pages(self) -> PageHandling | None:
        """How the wrapped retriever embeds and shows pages, if it searches by their images."""
        return self.wrapped.pages

    @property
    def most_pictures(self) -> int | None:
        """The most pictures of pages per question: those that the wrapped retriever finds, unless this one
        has a `top_k` of its own."""
        return getattr(self, "top_k", self.wrapped.most_pictures)

    @property
    def searches_all(self) -> bool:
        """Whether the wrapped retriever must search for all questions, whichever are asked."""
        return self.wrapped.searches_all

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the wrapped retriever."""
        return {**super().identity(), self.wraps: self.wrapped.identity()}

    def check(self) -> None:
        """Check the wrapped retriever; raises its errors."""
        self.wrapped.check()

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of the index of the wrapped retriever."""
        return self.wrapped.index_bytes(index)

    def prepare(self, index: Index, progress: Callable[[int, int], None]) -> None:
        """Build what the wrapped retriever searches."""
        self.wrapped.prepare(index, progress)

    def assess(self, index: Index, questions: Sequence[Question]) -> None:
        """Note what the wrapped retriever loses, if it is approximate."""
        self.wrapped.assess(index, questions)

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the hits of the wrapped retriever, which `refine` changes."""
        return self.wrapped.search(index, questions)
