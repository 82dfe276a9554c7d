"""Closed-book baseline without retrieval: the model answers from its own knowledge.

Its score is the lower bound that a pipeline with retrieval should exceed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fathoms.retrieve.retriever import Index, Needs, Retriever
from fathoms.types import Hit, Question


class ClosedBook(Retriever):
    """`retrieve: {kind: none}`: the prompt holds only the question, and no document is read."""

    kind: Literal["none"] = "none"

    @property
    def needs(self) -> Needs:
        """Always `nothing`: no document is read."""
        return "nothing"

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return an empty tuple of hits for each question."""
        return [() for _ in questions]
