"""The items of an index that are most similar to a question and hold no gold: distractors.

An item holds gold if it touches a page of the question's gold evidence, or if all phrases of an accepted
answer stand in its text, because the labels of pages are not complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fathoms.registry import OneOf
from fathoms.retrieve.hybrid import Hybrid
from fathoms.retrieve.oracle import places_of
from fathoms.retrieve.rerank import Rerank
from fathoms.retrieve.retriever import Index, Retriever
from fathoms.safety.injections import words_of
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Chunk, Document, GoldNumber, GoldPhrase, Hit, Place, Question

Ranking = Annotated[Retriever, OneOf("retrievers", within="distractors")]
"""The retrievers that rank all items of an index without the help of a language model."""
_FURTHER = 20
"""So many more items than are wanted are searched for at first, because some of them hold gold."""
_SHORTEST = 3
"""An answer of fewer letters and digits stands in too many texts by chance to tell anything."""


@dataclass(frozen=True)
class Distracting:
    """The most similar items without gold of one question, best first, and how many more similar ones were
    left out because an accepted answer stands in their text, although their pages are not labelled."""

    hits: tuple[Hit, ...]
    answering: int


def without_gold(
    index: Index, retriever: Ranking, questions: Sequence[Question], number: int, *, answering: bool = False
) -> list[Distracting]:
    """Return the `number` items of each question that the retriever ranks highest among those that hold no
    gold; fewer if it finds no more. The retriever's own `top_k` does not matter.

    With `answering`, items in which an accepted answer stands are kept, as long as their pages are not gold.
    """
    gold = [_Gold.of(question, index.by_id, answering=answering) for question in questions]
    found: dict[int, Distracting] = {}
    remaining, k = list(range(len(questions))) if number else [], min(number + _FURTHER, MOST_CHUNKS)
    while remaining:
        rows = deeper(retriever, k).search(index, [questions[at] for at in remaining])
        for at, row in zip(remaining, rows, strict=True):
            distracting = gold[at].others(row, number)
            if len(distracting.hits) == number or len(row) < k or k == MOST_CHUNKS:
                found[at] = distracting
        remaining, k = [at for at in remaining if at not in found], min(4 * k, MOST_CHUNKS)
    return [found.get(at, Distracting((), 0)) for at in range(len(questions))]


def deeper(retriever: Ranking, k: int) -> Ranking:
    """Return the retriever with `k` items per question, and as many candidates where it fuses or reranks."""
    update: dict[str, object] = {"top_k": k}
    if isinstance(retriever, Hybrid):
        update["of"] = tuple(deeper(part, k) for part in retriever.of)
    if isinstance(retriever, Rerank):
        update["first"] = deeper(retriever.first, k)
    return retriever.model_copy(update=update)


@dataclass(frozen=True)
class _Gold:
    """What holds gold of one question: pages, whole documents whose gold page is not known, and answers."""

    pages: frozenset[Place]
    documents: frozenset[str]
    unplaced: frozenset[str]
    answers: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, question: Question, documents: Mapping[str, Document], *, answering: bool) -> _Gold:
        """Return the gold of a question; an unanswerable one has none."""
        if not question.answerable:
            return cls(frozenset(), frozenset(), frozenset(), ())
        pages = {*question.gold_pages}
        unplaced = set()
        for evidence in question.gold_evidence:
            document = documents.get(evidence.document)
            placed = places_of(document, evidence) if document else set()
            pages.update(placed)
            if not placed:
                unplaced.add(evidence.document)
        named = frozenset(evidence.document for evidence in question.gold_evidence)
        answers = () if answering else tuple(_answers(question))
        return cls(frozenset(pages), named, frozenset(unplaced), answers)

    def others(self, row: Sequence[Hit], number: int) -> Distracting:
        """Return the first `number` items of a ranking that hold no gold."""
        hits: list[Hit] = []
        answering = 0
        for hit in row:
            if len(hits) == number:
                break
            if self._is_on_gold_page(hit.chunk):
                continue
            if self.answers and _says(hit.chunk.text, self.answers):
                answering += 1
                continue
            hits.append(hit)
        return Distracting(tuple(hits), answering)

    def _is_on_gold_page(self, chunk: Chunk) -> bool:
        """Return whether a chunk touches a gold page, or may do so because one of both is not known."""
        if chunk.document in self.unplaced or not self.pages.isdisjoint(chunk.places):
            return True
        return not chunk.places and chunk.document in self.documents


def holds_answer(question: Question, chunk: Chunk) -> bool:
    """Return whether all phrases of an accepted answer stand in the text of a chunk, as far as they tell."""
    return _says(chunk.text, _answers(question))


def _answers(question: Question) -> list[tuple[str, ...]]:
    """Return the accepted answers as folded phrases, numbers with and without marks of thousands. Those with
    other forms are left out, and so are those that are too short."""
    variants = [found for phrases in question.answers for found in _written(phrases)]
    if question.short_answer:
        variants.append((question.short_answer,))
    folded = [tuple(_folded(one) for one in phrases) for phrases in variants]
    return [one for one in folded if sum(map(str.isalnum, "".join(one))) >= _SHORTEST]


def _written(phrases: Sequence[GoldPhrase]) -> list[tuple[str, ...]]:
    """Return the ways to write an accepted answer; none if one of its forms is no phrase or number."""
    ways: list[tuple[str, ...]] = [()]
    for one in phrases:
        if isinstance(one, str):
            forms = [one]
        elif isinstance(one, GoldNumber):
            forms = list(dict.fromkeys((f"{one.number:.15g}", f"{one.number:,}")))
        else:
            return []
        ways = [(*way, form) for way in ways for form in forms]
    return ways


def _says(text: str, answers: Sequence[Sequence[str]]) -> bool:
    """Return whether all phrases of an answer stand in a text as whole words, in any order."""
    words = f" {_folded(text)} "
    return any(all(f" {phrase} " in words for phrase in phrases) for phrases in answers)


def _folded(text: str) -> str:
    """Return the words of a text with single spaces between them."""
    return " ".join(words_of(text))
