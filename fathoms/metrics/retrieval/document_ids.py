"""Finds hits whose documents are named in another way than the gold, which would score 0 without a reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fathoms.metrics.retrieval.gold import gold_of
from fathoms.types import Record

_LONGEST = 80
"""Characters of an id that a message shows."""


class DocumentIds:
    """The ids of the documents of hits, and those of the gold documents, collected over a run."""

    def __init__(self) -> None:
        self._retrieved: set[str] = set()
        self._gold: set[str] = set()

    def add(self, record: Record) -> None:
        """Add the ids of one record."""
        self._gold |= gold_of(record.question).documents
        self._retrieved.update(hit.chunk.document for hit in record.hits or () if hit.chunk.document)

    def state(self) -> dict[str, Any]:
        """Return everything that was added as JSON values, for `extend`."""
        return {"retrieved": sorted(self._retrieved), "gold": sorted(self._gold)}

    def extend(self, state: Mapping[str, Any]) -> None:
        """Add what another process has collected."""
        self._retrieved.update(state["retrieved"])
        self._gold.update(state["gold"])

    def warning(self, known: Collection[str]) -> str | None:
        """Return a sentence if no retrieved document is a gold document of any question, nor one of the
        documents of the data set, as far as they are `known`; otherwise `None`."""
        if not self._retrieved or not self._gold or self._retrieved & (self._gold | set(known)):
            return None
        found, gold = (" ".join(min(names).split())[:_LONGEST] for names in (self._retrieved, self._gold))
        return (
            f"none of the {len(self._retrieved)} retrieved documents is one of the {len(self._gold)} that the"
            f" questions name, so all figures of retrieval are 0: the hits name '{found}', the questions"
            f" '{gold}'; if these are ids of the same documents, write them alike, and if hits name chunks,"
            " name their documents"
        )
