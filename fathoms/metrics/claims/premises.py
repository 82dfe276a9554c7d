"""What the claims of a record are compared with: only what the run holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fathoms.metrics.claims.texts import answer_text, running_gold
from fathoms.types import Citation, Claim, Document, Hit, Judgement, Question, Record

CONTEXT = "the whole context"
"""The place of a premise that is all of the text that the model was given, or that was retrieved."""


class Premise(NamedTuple):
    """A text or a picture that a claim is compared with. `place` names it for readers: `hit 3`, `a.pdf, page
    4`, `gold answer`."""

    text: str = ""
    image: Path | None = None
    place: str = ""

    def judges(self, claim: Claim) -> Judgement:
        """Return the judgement of a claim by this premise."""
        return Judgement(claim.text, self.text, claim.context, self.image)


def retrieved(hits: Iterable[Hit]) -> tuple[Premise, ...]:
    """Return the retrieved texts and pictures, one premise each. Attached files, and hits of which only the
    place is known, are left out, because a judge cannot read them."""
    return tuple(
        Premise("" if hit.chunk.image else hit.chunk.text, hit.chunk.image, f"hit {hit.rank}")
        for hit in hits
        if hit.chunk.image or hit.chunk.text.strip()
    )


def cited(record: Record, citations: Iterable[Citation]) -> tuple[Premise, ...]:
    """Return the retrieved texts and pictures that citations name, each once, in the order of the ranks. A
    citation of something that was not retrieved names none."""
    ranks = {rank for citation in citations for rank in citation.ranks}
    return retrieved(hit for hit in record.hits or () if hit.rank in ranks)


def citations_of(record: Record, claim: Claim) -> tuple[Citation, ...]:
    """Return the citations in the sentence that a claim of the answer comes from; none if the sentence is not
    found in the answer. A sentence that occurs twice is taken where it occurs first."""
    answer = record.answer.text if record.answer else ""
    start = answer.find(claim.context) if claim.context else -1
    if start < 0:
        return ()
    end = start + len(claim.context)
    return tuple(
        citation
        for citation in record.citations or ()
        if citation.sentence and citation.sentence[0] < end and start < citation.sentence[1]
    )


def gold_pages(question: Question, documents: Mapping[str, Document]) -> tuple[Premise, ...]:
    """Return the text of the gold pages, one premise each, in the order of the evidence. Evidence without a
    page gives its quote. Pages whose text the run does not hold are left out."""
    found: dict[str, Premise] = {}
    for one in question.gold_evidence:
        place = place_of(one.document, one.page)
        text = one.quote if one.page is None else _page(documents, one.document, one.page) or one.quote
        if text and text.strip():
            found.setdefault(place, Premise(text, place=place))
    return tuple(found.values())


def place_of(document: str, page: int | None) -> str:
    """Name a page of a document for readers, or the document."""
    return document if page is None else f"{document}, page {page}"


def _page(documents: Mapping[str, Document], name: str, number: int) -> str | None:
    """Return the text of a page, `None` if it is not known."""
    document = documents.get(name)
    return next((page.text for page in document.pages if page.number == number), None) if document else None


def gold_answer(question: Question) -> tuple[Premise, ...]:
    """Return the gold answer; nothing if the question has none in running text."""
    text = running_gold(question)
    return (Premise(text, place="gold answer"),) if text else ()


def answer(record: Record) -> tuple[Premise, ...]:
    """Return the answer; nothing if it is missing, empty or a refusal, which entails no claim."""
    text = answer_text(record)
    return () if text is None else (Premise(text[0], place="answer"),)


def joined(claims: Sequence[Claim], place: str) -> tuple[Premise, ...]:
    """Return claims as one premise; nothing if there are none."""
    text = " ".join(claim.text for claim in claims)
    return (Premise(text, place=place),) if text else ()
