"""Contexts with and without gold, after MRAG-Suite (Ji 2025): gold alone, gold among distractors, distractors
alone. They show what a reader makes of wrong contexts, whatever the retriever finds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.retrieve.dense import Dense
from fathoms.retrieve.hybrid import Hybrid
from fathoms.retrieve.oracle import Oracle, gold_places
from fathoms.retrieve.rerank import Rerank
from fathoms.retrieve.retriever import Index, hits
from fathoms.retrieve.visual import Visual
from fathoms.retrieve.without_gold import Distracting, Ranking, holds_answer, without_gold
from fathoms.retrieve.wrapping import Wrapping
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

Mode = Literal["gold-only", "gold-plus-distractors", "distractors-only"]
Position = Literal["first", "middle", "last", "shuffled"]


class Distractors(Wrapping):
    """Gives a question its gold chunks, the most similar chunks that hold no gold, or both.

    Gold chunks are those of `oracle`; with a retriever by page images they are the gold pages. Distractors
    are the chunks, or pages, that `retriever` ranks highest for the question among those that touch no gold
    page and, unless `answering` is set, whose text holds no accepted answer. An unanswerable question has
    distractors alone.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"retriever"})

    usable_in: ClassVar[frozenset[str]] = frozenset({"injected"})

    kind: Literal["distractors"] = "distractors"
    mode: Mode = "gold-plus-distractors"
    """What a question gets: `gold-only`, `gold-plus-distractors` or `distractors-only`."""
    retriever: Ranking = Field(default=Dense(), validate_default=True)
    """The retriever by which chunks are similar to a question, `visual` for pictures of pages. Its `top_k`
    does not matter. A reranker that is a language model is not possible."""
    distractors: int = Field(default=4, ge=0, le=MOST_CHUNKS)
    """Number of distractors per question. There are fewer if the retriever finds no more."""
    gold: int | None = Field(default=None, ge=1, le=MOST_CHUNKS)
    """Most gold chunks per question, those first in which an accepted answer stands; all of them if not
    given."""
    position: Position = "shuffled"
    """Where the gold chunks stand among the distractors: `first`, in the `middle` or `last`, in one piece, or
    `shuffled`: each one anywhere, by a hash of `seed`, question and chunk. Gold alone is in the order of the
    evidence, and distractors alone are in that of `retriever`."""
    seed: int = Field(default=0, ge=0, le=2**63)
    """Another seed gives another order where `position` is `shuffled`."""
    answering: bool = False
    """Whether a chunk outside the gold pages can be a distractor if it holds all phrases of an accepted
    answer. It is left out by default, because it is gold that was not labelled."""

    @field_validator("retriever")
    @classmethod
    def _is_known_beforehand(cls, retriever: Ranking) -> Ranking:
        if retriever.called:
            raise ValueError("a language model cannot choose distractors: take the 'first' of the reranker")
        return retriever

    @property
    def top_k(self) -> int | None:
        """The most chunks per question; `None` if the number of gold chunks is not limited."""
        gold, others = self.gold, self.distractors
        if self.mode == "distractors-only":
            return others
        if gold is None:
            return None
        return gold + (0 if self.mode == "gold-only" else others)

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the chunks of each question in the order of `position`, and note in the index how many
        distractors there are.

        Raises ConfigError if an answerable question has no gold page, or if a quote is not found in its
        document.
        """
        gold = self._gold(index, questions)
        number = 0 if self.mode == "gold-only" else self.distractors
        others = without_gold(index, self.retriever, questions, number, answering=self.answering)
        self._note(index, questions, others)
        shown = [() if self.mode == "distractors-only" else row for row in gold]
        return [
            self._placed(question.id, first, other.hits)
            for question, first, other in zip(questions, shown, others, strict=True)
        ]

    def _gold(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the gold chunks of each question, or the gold pages where pages are searched by images, at
        most `gold` of them."""
        rows = self._all_gold(index, questions)
        if self.gold is None:
            return rows
        pairs = zip(questions, rows, strict=True)
        return [
            tuple(sorted(row, key=lambda hit: not holds_answer(question, hit.chunk))[: self.gold])
            for question, row in pairs
        ]

    def _all_gold(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return all of them, in the order of the evidence."""
        visual = _visual(self.retriever)
        if visual is None:
            return Oracle().search(index, questions)
        positions = {name: at for at, name in enumerate(index.by_id)}
        return [
            visual.hits_of(index, [((positions[name], page), 1.0) for name, page in places])
            for places in gold_places(index, questions)
        ]

    def _placed(self, question: str, gold: Sequence[Hit], others: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the chunks of a question in order, with new ranks."""
        before = {"first": 0, "middle": len(others) // 2, "last": len(others), "shuffled": 0}[self.position]
        row = [*others[:before], *gold, *others[before:]]
        if self.position == "shuffled" and self.mode == "gold-plus-distractors":
            row.sort(key=lambda hit: _hash(self.seed, question, hit.chunk.id))
        return hits([(hit.chunk, hit.score) for hit in row])

    def _note(self, index: Index, questions: Sequence[Question], others: Sequence[Distracting]) -> None:
        """Note for the manifest which distractors there are, over all questions searched for until now."""
        counted: dict[str, Distracting] = index.build_once("distractors", dict)
        counted.update((question.id, one) for question, one in zip(questions, others, strict=True))
        wanted = 0 if self.mode == "gold-only" else self.distractors
        index.notes["distractors"] = {
            "mode": self.mode,
            "number": wanted,
            "by": self.retriever.kind,
            "position": self.position,
            "seed": self.seed,
            "questions": len(counted),
            "fewer": sum(len(one.hits) < wanted for one in counted.values()),
            "answering": sum(one.answering for one in counted.values()),
        }


def _visual(retriever: Ranking) -> Visual | None:
    """Return the retriever by page images within a retriever; `None` if there is none."""
    if isinstance(retriever, Rerank):
        return _visual(retriever.first)
    parts = retriever.of if isinstance(retriever, Hybrid) else (retriever,)
    return next((part for part in parts if isinstance(part, Visual)), None)


def _hash(seed: int, question: str, chunk: str) -> str:
    """The place of a chunk where the order is shuffled."""
    return hashlib.sha256("\0".join((str(seed), question, chunk)).encode()).hexdigest()
