"""No retrieval at all: what the model knows by itself, the floor that every pipeline must beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fathoms.retrieve.base import Corpus, Needs, Retriever
from fathoms.types import Hit, Question


class ClosedBook(Retriever):
    """`retrieve: {kind: none}`: the question alone, no document is read."""

    kind: Literal["none"] = "none"

    @property
    def needs(self) -> Needs:
        """No document is read."""
        return "nothing"

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Nothing, for every question."""
        return [() for _ in questions]
