"""The sentences of an answer, each with the sources that it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fathoms.metrics.claims.post_hoc import nearest
from fathoms.metrics.claims.premises import Premise, retrieved
from fathoms.metrics.claims.texts import answer_text
from fathoms.metrics.said import blanked, reading_of
from fathoms.models import Embedder
from fathoms.models.sentences import sentences
from fathoms.types import Citation, Claim, Hit, Record

Span = tuple[int, int]


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer without its citations, as a claim, and its sources in the order of citation.

    A source is what one citation names: a hit, or all hits of a document or page, joined. A source that a
    sentence cites twice is listed once. `unknown` says that a citation names nothing that was retrieved.
    """

    claim: Claim
    sources: tuple[Premise, ...]
    unknown: bool

    def joint(self, without: int | None = None) -> Premise | None:
        """Return all sources as one premise, or all but one; `None` if a judge cannot read them together,
        because there are several and one is a picture, or because one is a file without text."""
        chosen = [source for at, source in enumerate(self.sources) if at != without]
        if len(chosen) == 1:
            return chosen[0] if chosen[0].text or chosen[0].image else None
        if not all(source.text for source in chosen):
            return None
        places = " and ".join(source.place for source in chosen)
        return Premise("\n".join(source.text for source in chosen), place=places)


def cited_sentences(
    record: Record, most: int | None = None, adds_by: Embedder | None = None
) -> tuple[CitedSentence, ...]:
    """Return the sentences of the answer, split by NLTK, with the first `most` sources of each, or all.

    A citation after a full stop belongs to the sentence before, as `Citation.sentence` says. Citations that
    a pipeline reports without a place in the answer belong to no sentence. With `adds_by`, a sentence that
    cites nothing cites the retrieved text that is nearest to it by this embedder.
    """
    if answer_text(record) is None:
        return ()
    written = [one for one in record.citations or () if one.span and one.sentence]
    spans = list(_sentences(blanked(reading_of(record)), [one.span for one in written if one.span]))
    cited: list[list[Citation]] = [[] for _ in spans]
    for one in written:
        at = _place(one)
        before = [number for number, (start, _, _) in enumerate(spans) if start <= at]
        if before:
            cited[before[-1]].append(one)
    hits = {hit.rank: hit for hit in record.hits or ()}
    found = tuple(
        _cited(Claim(text=sentence, context=sentence, sentence=number), citations, hits, most)
        for number, ((_, _, sentence), citations) in enumerate(zip(spans, cited, strict=True))
    )
    return found if adds_by is None else tuple(_post_hoc(one, record, adds_by) for one in found)


def _post_hoc(sentence: CitedSentence, record: Record, embed: Embedder) -> CitedSentence:
    """Return a sentence that cites nothing with the nearest source, and any other as it is."""
    if sentence.sources or sentence.unknown:
        return sentence
    readable = [source for source in retrieved(record.hits or ()) if source.text]
    at = nearest(embed, sentence.claim.text, [source.text for source in readable])
    return sentence if at is None else replace(sentence, sources=(readable[at],))


def _place(citation: Citation) -> int:
    """Return an offset in the sentence that a citation supports: that of its marker, if it is within."""
    start, end = citation.sentence or (0, 1)
    return max(start, min(citation.span[0] if citation.span else start, end - 1))


def _sentences(answer: str, markers: list[Span]) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each sentence, and the sentence without the markers of citations."""
    characters = list(answer)
    for start, end in markers:
        characters[start:end] = " " * (end - start)
    blank, at = "".join(characters), 0
    for sentence in sentences(blank):
        start = blank.index(sentence, at)
        at = start + len(sentence)
        yield start, at, re.sub(r"\s+([.,;:!?])", r"\1", " ".join(sentence.split()))


def _cited(claim: Claim, citations: list[Citation], hits: dict[int, Hit], most: int | None) -> CitedSentence:
    """Return a sentence with its sources."""
    named = list(dict.fromkeys(one.ranks for one in citations if one.ranks))[:most]
    unknown = any(not one.ranks for one in citations)
    return CitedSentence(claim, tuple(_source([hits[rank] for rank in ranks]) for ranks in named), unknown)


def _source(hits: list[Hit]) -> Premise:
    """Return the hits that one citation names as a premise: several texts are joined, and of several hits
    among which there is a picture, nothing can be read."""
    place = "hit " + ", ".join(str(hit.rank) for hit in hits)
    if len(hits) == 1 and hits[0].chunk.image:
        return Premise(image=hits[0].chunk.image, place=place)
    if any(hit.chunk.image for hit in hits):
        return Premise(place=place)
    return Premise("\n".join(hit.chunk.text for hit in hits).strip(), place=place)
