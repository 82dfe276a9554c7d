"""Oracle retrieval: the chunks that a perfect retriever would find, taken from the gold evidence.

Its score is the upper reference for pipelines with the same parser.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.errors import ConfigError, amount_of, some_of
from fathoms.retrieve.retriever import Index, Needs, Retriever, hits
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Chunk, Document, Evidence, Hit, Place, Question


class Oracle(Retriever):
    """Returns the chunks that overlap a page of the question's gold evidence.

    If the evidence has a quote and no page, the quote is searched in the document, comparing only letters and
    digits, and the pages that contain it are used. An unanswerable question gets no hits.
    """

    usable_in: ClassVar[frozenset[str]] = frozenset({"describe", "degrade", "injected"})

    kind: Literal["oracle"] = "oracle"
    top_k: int | None = Field(default=None, ge=1, le=MOST_CHUNKS)
    """Maximum number of chunks per question. If not given, all chunks on the gold pages are returned."""

    @property
    def needs(self) -> Needs:
        """Always `chunks`, which carry the numbers of their pages."""
        return "chunks"

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the chunks on the gold pages of each question, each with score 1, in the order of the
        evidence and then of the chunks.

        Evidence in a document that was not ingested is skipped. Raises ConfigError if an answerable question
        has no evidence with a page or a quote, or if a quote is not found in its document.
        """
        return [
            hits([(chunk, 1.0) for chunk in _touching(index, places)][: self.top_k])
            for places in gold_places(index, questions)
        ]


def gold_places(index: Index, questions: Sequence[Question]) -> list[list[Place]]:
    """Return the gold pages of each question in the order of its evidence, as far as their documents were
    ingested; none for an unanswerable question.

    Raises ConfigError if an answerable question has no evidence with a page or a quote, or if a quote is not
    found in its document.
    """
    unplaced = [q.id for q in questions if q.answerable and not any(map(_says_where, q.evidence))]
    if unplaced:
        named = some_of(unplaced)
        raise ConfigError(
            "retrieve: gold chunks need gold pages (kind 'oracle' or 'distractors'), and"
            f" {amount_of(len(unplaced), 'answerable questions have none')} ({named}):"
            " give them 'evidence' with a page or a quote"
        )
    return [_gold(question, index.by_id) for question in questions]


def _says_where(evidence: Evidence) -> bool:
    """Return whether the evidence has a page or a quote."""
    return evidence.page is not None or evidence.quote is not None


def _gold(question: Question, documents: Mapping[str, Document]) -> list[Place]:
    """Return the gold pages of one question."""
    found: dict[Place, None] = {}
    for evidence in question.evidence if question.answerable else ():
        document = documents.get(evidence.document)
        if document is None or not _says_where(evidence):
            continue
        places = places_of(document, evidence)
        if not places:
            raise ConfigError(
                f"question {question.id}: the quote of its evidence is not in {document.id} as parsed: give"
                " the page instead"
            )
        found.update(dict.fromkeys(sorted(places)))
    return list(found)


def known_places(evidence: Iterable[Evidence], documents: Mapping[str, Document]) -> set[Place]:
    """Return the pages of evidence, also where it gives only a quote that stands in its document."""
    found: set[Place] = set()
    for one in evidence:
        if one.page is not None:
            found.add((one.document, one.page))
        elif one.document in documents:
            found |= places_of(documents[one.document], one)
    return found


def _touching(index: Index, places: Sequence[Place]) -> list[Chunk]:
    """Return the chunks that touch pages, in the order of the pages and then of the chunks."""
    found: dict[str, Chunk] = {}
    for place in places:
        for chunk in (index.chunks[at] for at in index.positions(place[0])):
            if place[1] in chunk.pages:
                found.setdefault(chunk.id, chunk)
    return list(found.values())


def places_of(document: Document, evidence: Evidence) -> set[Place]:
    """Return the page of the evidence, or the pages of the document that contain its quote. If no single page
    contains the quote, pairs of consecutive pages are searched."""
    if evidence.page is not None:
        return {(document.id, evidence.page)}
    quote = _letters(evidence.quote or "")
    if not quote:
        return set()
    texts = {page.number: _letters(page.text) for page in document.pages}
    pages = {number for number, text in texts.items() if quote in text} or {
        number for pair in pairwise(texts) if quote in texts[pair[0]] + texts[pair[1]] for number in pair
    }
    return {(document.id, number) for number in pages}


def _letters(text: str) -> str:
    """Return only the letters and digits: parsers differ in spaces, hyphens and ligatures."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
