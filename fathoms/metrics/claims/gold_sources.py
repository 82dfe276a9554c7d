"""The gold sources of a question, and which of them an answer cites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fathoms.metrics.claims import premises
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.said import blanked, reading_of
from fathoms.types import Citation, Claim, Document, Question, Record

_OF_A_HIT = re.compile(r"\d+|image ?\d+", re.IGNORECASE)
"""A citation that is written as the number of a hit, rather than as a document and a page."""
Nearest = Callable[[str, Sequence["Source"]], "Source | None"]
"""Finds the source that is nearest to a sentence."""


class Source(NamedTuple):
    """A page of a document, or a document where the page is not known, as a premise.

    The text of the premise is empty if the run does not hold it, so that no claim can be compared with it.
    """

    document: str
    page: int | None
    premise: Premise

    def is_named_by(self, document: str, page: int | None) -> bool:
        """Whether a document, or a page of one, is this source or contains it."""
        same = self.document.casefold() == document.casefold()
        return same and (page is None or self.page is None or page == self.page)


def gold_sources(question: Question, documents: Mapping[str, Document]) -> tuple[Source, ...]:
    """Return the places of the gold evidence, each once, in their order."""
    texts = {premise.place: premise for premise in premises.gold_pages(question, documents)}
    found = {}
    for one in question.gold_evidence:
        place = premises.place_of(one.document, one.page)
        found[place] = Source(one.document, one.page, texts.get(place, Premise(place=place)))
    return tuple(found.values())


def all_pages(question: Question, documents: Mapping[str, Document]) -> tuple[Source, ...]:
    """Return all pages with text of the files of a question."""
    return tuple(
        Source(name, page.number, Premise(page.text, place=premises.place_of(name, page.number)))
        for name in question.files
        if (document := documents.get(name)) is not None
        for page in document.pages
        if page.text.strip()
    )


class Citing:
    """Which sources each sentence of an answer cites, by the citations in it.

    With `nearest`, a sentence without any citation cites the source that is nearest to it.
    """

    def __init__(self, record: Record, sources: Sequence[Source], nearest: Nearest | None = None) -> None:
        self._record, self._sources, self._nearest = record, sources, nearest

    def by_claim(self, claim: Claim) -> tuple[Source, ...]:
        """Return the sources that the sentence of a claim cites, in the order of all sources."""
        cited = premises.citations_of(self._record, claim)
        return self._named(cited) if cited else self._posthoc(claim.context or claim.text)

    def is_cited(self, claim: Claim) -> bool:
        """Whether the sentence of a claim has a citation, of whatever source."""
        return bool(premises.citations_of(self._record, claim))

    def sentences(self) -> dict[Source, str]:
        """Return all sentences that cite a source, joined, by source."""
        found: dict[Source, list[str]] = {}
        for sentence, sources in self._sentences():
            for source in sources:
                found.setdefault(source, []).append(sentence)
        return {source: " ".join(dict.fromkeys(texts)) for source, texts in found.items()}

    def _sentences(self) -> Iterator[tuple[str, tuple[Source, ...]]]:
        from fathoms.models.sentences import sentences

        answer = blanked(reading_of(self._record))
        spans: dict[tuple[int, int], list[Citation]] = {}
        for citation in self._record.citations or ():
            if citation.sentence:
                spans.setdefault(citation.sentence, []).append(citation)
        for (start, end), cited in sorted(spans.items()):
            yield answer[start:end], self._named(cited)
        if self._nearest is None:
            return
        for sentence in sentences(answer):
            if not self.is_cited(Claim(text=sentence, context=sentence)):
                yield sentence, self._posthoc(sentence)

    def _posthoc(self, sentence: str) -> tuple[Source, ...]:
        found = self._nearest(sentence, self._sources) if self._nearest else None
        return () if found is None else (found,)

    def _named(self, citations: Sequence[Citation]) -> tuple[Source, ...]:
        places = [place for citation in citations for place in _places(self._record, citation)]
        return tuple(
            source for source in self._sources if any(source.is_named_by(*place) for place in places)
        )


def _places(record: Record, citation: Citation) -> Iterator[tuple[str, int | None]]:
    """Yield the pages that a citation names: all of a hit that it names by its number, else its own."""
    if citation.document and not _OF_A_HIT.fullmatch(citation.label or ""):
        yield citation.document, citation.page
        return
    for hit in record.hits or ():
        if hit.rank in citation.ranks:
            unplaced = [(hit.chunk.document, None)] if hit.chunk.document else []
            yield from hit.chunk.places or unplaced
