"""Retrieval that is made worse on purpose, to see how the answers follow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.errors import ConfigError, amount, amount_of, some_of
from fathoms.registry import OneOf
from fathoms.retrieve.retriever import Index, Retriever, hits
from fathoms.retrieve.wrapping import Wrapping
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Place, Question

Degraded = Annotated[Retriever, OneOf("retrievers", within="degrade")]


class Degrade(Wrapping):
    """Removes gold pages from the hits of another retriever until the mean recall is the stated one.

    The recall of a question is the share of its gold pages that its hits touch; the mean is over all
    questions of the data set that have gold pages, whichever of them are asked. Which pages are removed is
    decided by a hash of the seed, the question and the page: they do not depend on `--limit` or on the order
    of the questions, and with the same seed a lower recall lacks all that a higher one lacks. With a removed
    page go all hits that touch it, and the next hits without gold take their places, as far as the retriever
    has any. The recall is exact but for the last page: it differs by at most half of what that page weighs.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"retriever"})

    kind: Literal["degrade"] = "degrade"
    retriever: Degraded
    """The retriever whose hits are degraded; its `top_k` is the number of chunks per question. A reranker
    that is a language model is not possible, because its hits are not known for all questions at once."""
    recall: float = Field(ge=0, le=1)
    """The mean recall of gold pages to be reached. It cannot be above that of the retriever."""
    seed: int = Field(default=0, ge=0, le=2**63)
    """Another seed removes other pages."""

    @field_validator("retriever")
    @classmethod
    def _is_known_beforehand(cls, retriever: Degraded) -> Degraded:
        if retriever.called:
            raise ValueError("a reranker that is a language model cannot be degraded")
        if retriever.pages is not None:
            raise ValueError("retrieval by page images cannot be degraded")
        return retriever

    @property
    def searches_all(self) -> bool:
        """Always: the mean is over all questions of the data set."""
        return True

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the degraded hits of all questions, and write the recall before and after into the index.

        Raises ConfigError if an answerable question has no gold page, and if the recall of the inner
        retriever is below the stated one.
        """
        gold = [question.gold_pages if question.answerable else frozenset() for question in questions]
        bare = [q.id for q, pages in zip(questions, gold, strict=True) if q.answerable and not pages]
        if bare:
            named = some_of(bare)
            raise ConfigError(
                "retrieve: kind 'degrade' needs gold pages, and"
                f" {amount_of(len(bare), 'answerable questions have none')} ({named}):"
                " give them 'evidence' with a page"
            )
        wide, top_k = self._wider(index, gold)
        rows = [
            _Row(question.id, pages, row[:top_k], () if top_k is None else row[top_k:])
            for question, pages, row in zip(questions, gold, wide.search(index, questions), strict=True)
        ]
        measured = [row for row in rows if row.gold]
        if measured:
            before = fmean(row.recall for row in measured)
            if before < self.recall - 1e-9:
                raise ConfigError(
                    f"retrieve: the recall of '{self.retriever.kind}' over"
                    f" {amount(len(measured), 'question')} is {before:.3f}, and {self.recall:g} cannot be"
                    " reached by removing gold: lower 'recall', or raise 'top_k' of the retriever"
                )
            _remove(measured, self.recall, self.seed)
            index.notes["degraded"] = {
                "wanted": self.recall,
                "before": before,
                "reached": fmean(row.recall for row in measured),
                "questions": len(measured),
            }
        return [row.hits() for row in rows]

    def _wider(self, index: Index, gold: Sequence[frozenset[Place]]) -> tuple[Retriever, int | None]:
        """Return the inner retriever with so many more hits that all hits with gold can be replaced, and its
        own number of hits, `None` for all."""
        top_k: int | None = getattr(self.retriever, "top_k", None)
        if top_k is None:
            return self.retriever, None
        most = min(MOST_CHUNKS, top_k + max((_touching(index, pages) for pages in gold), default=0))
        return self.retriever.model_copy(update={"top_k": most}), top_k


def _touching(index: Index, pages: frozenset[Place]) -> int:
    """Count the chunks that touch pages."""
    positions = (at for name in {document for document, _ in pages} for at in index.positions(name))
    return sum(not pages.isdisjoint(index.chunks[at].places) for at in positions)


@dataclass
class _Row:
    """The hits of one question: those of the retriever, those that came after them, and the removed pages."""

    question: str
    gold: frozenset[Place]
    best: Sequence[Hit]
    next: Sequence[Hit]
    lost: set[Place] = field(default_factory=set)

    @property
    def recall(self) -> float:
        """The share of gold pages that the hits touch."""
        return self.recall_without(())

    def recall_without(self, also: Sequence[Place]) -> float:
        """The share after the removal of further pages."""
        touched = set[Place]().union(*(hit.chunk.places for hit in self._left({*self.lost, *also})))
        return len(touched.intersection(self.gold)) / len(self.gold)

    def found(self) -> Iterator[Place]:
        """Yield the gold pages that the hits of the retriever touch."""
        touched = set[Place]().union(*(hit.chunk.places for hit in self.best))
        yield from touched & self.gold

    def hits(self) -> tuple[Hit, ...]:
        """The hits that are left, with the next ones without gold in place of the others."""
        left = self._left(self.lost)
        others = [hit for hit in self.next if self.gold.isdisjoint(hit.chunk.places)]
        replaced = [*left, *others[: len(self.best) - len(left)]]
        return hits([(hit.chunk, hit.score) for hit in replaced])

    def _left(self, lost: set[Place]) -> list[Hit]:
        return [hit for hit in self.best if lost.isdisjoint(hit.chunk.places)]


def _remove(rows: Sequence[_Row], recall: float, seed: int) -> None:
    """Remove pages in the order of their hashes, until the mean recall is as near to `recall` as possible."""
    turns = [(_hash(seed, row.question, page), row, page) for row in rows for page in row.found()]
    total, wanted = sum(row.recall for row in rows), recall * len(rows)
    for _, row, page in sorted(turns, key=lambda turn: turn[0]):
        after = total - row.recall + row.recall_without([page])
        if abs(after - wanted) >= abs(total - wanted) and after != total:
            return
        row.lost.add(page)
        total = after


def _hash(seed: int, question: str, page: Place) -> str:
    """The place of a page in the order of removal."""
    return hashlib.sha256("\0".join((str(seed), question, page[0], str(page[1]))).encode()).hexdigest()
