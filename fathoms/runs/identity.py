"""What tells a question of a run from others, and its gold answer from another version of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from fathoms.text.fingerprints import fingerprint, flat_fingerprint
from fathoms.text.ids import same_words
from fathoms.types import Evidence, Question, StoredValue


class Identity(StoredValue):
    """What tells a question from others, and its gold from another version of it.

    `gold` is a fingerprint of the question's text, category, gold answers and answerability; of a question
    without gold answers, it covers its evidence too. `text`, `answers` and `evidence` are fingerprints of
    these parts, `answers` of all forms of the gold answer; they are `None` in older baselines.
    `documents` are the gold documents, none where they are not known, as in baselines of earlier versions.
    `written` says whether the id stands in the question file, `None` where that is not known.
    """

    category: str
    gold: str
    text: str | None = None
    answers: str | None = None
    evidence: str | None = None
    documents: tuple[str, ...] = ()
    written: bool | None = None


_NO_EVIDENCE = fingerprint([])
_ANSWERS = {"answers", "answerable", "reference", "short_answer", "long_answer", "reference_claims"}
_ANSWERS |= {"nuggets", "reading"}
"""The fields of a question that are forms of its gold answer, without `facts`."""


def identity(question: Question, *, written: bool | None) -> Identity:
    """Return the `Identity` of a question."""
    return Identity(category=question.category, **vars(fingerprints(question)), written=written)


@dataclass
class Fingerprints:
    """The fingerprints of an `Identity`, and the gold documents."""

    gold: str
    text: str
    answers: str
    evidence: str
    documents: tuple[str, ...]


def fingerprints(question: Question) -> Fingerprints:
    """Return the fingerprints of a question."""
    items = question.gold_evidence
    is_plain = _is_plain(question) and not any(item.bbox for item in items)
    hashed = _hashed if is_plain else fingerprint
    places = [_place(item) if is_plain else item.model_dump(mode="json") for item in items]
    evidence = places if question.evidence else []
    only_evidence = bool(evidence) and not (question.answers or question.reference)
    gold: list[Any] = [question.text, question.category, question.answers, question.answerable]
    answers = _answers(question, is_plain=is_plain)
    return Fingerprints(
        gold=hashed([*gold, evidence] if only_evidence else gold),
        text=flat_fingerprint(same_words(question.text)),
        answers=hashed([answers, evidence] if only_evidence else answers),
        evidence=hashed(places) if places else _NO_EVIDENCE,
        documents=tuple(sorted(question.gold_documents)),
    )


def _is_plain(question: Question) -> bool:
    """Return whether the gold answers of a question are texts, without richer forms: these are converted to
    JSON and hashed in a third of the time."""
    if question.nuggets or question.facts:
        return False
    return all(type(phrase) is str for variant in question.answers for phrase in variant)


def _answers(question: Question, *, is_plain: bool) -> dict[str, Any]:
    """Return the forms of the gold answer as JSON values; those that are `plain` in the order of their
    names."""
    if not is_plain:
        fields = _ANSWERS | {"facts"} if question.facts else _ANSWERS
        return question.model_dump(mode="json", include=fields)
    return {
        "answerable": question.answerable,
        "answers": question.answers,
        "long_answer": question.long_answer,
        "nuggets": (),
        "reading": question.reading,
        "reference": question.reference,
        "reference_claims": question.reference_claims,
        "short_answer": question.short_answer,
    }


def _place(item: Evidence) -> dict[str, Any]:
    """Return evidence without a box as JSON values, in the order of their names."""
    return {
        "bbox": None,
        "document": item.document,
        "modality": item.modality,
        "page": item.page,
        "quote": item.quote,
        "relevance": item.relevance,
        "step": item.step,
    }


def _hashed(value: Any) -> str:
    """Return the `fingerprint` of texts, whole numbers, truth values and `None`, whose keys are in order.
    pydantic writes these as canonical JSON, too, several times as fast; numbers with a point it does not."""
    try:
        return hashlib.sha256(b"[%b]" % to_json(value)).hexdigest()[:32]
    except PydanticSerializationError:  # half a surrogate pair
        return fingerprint(value)


def question_digest(question: Question) -> bytes:
    """Return a digest of what two runs must share to be compared on a question: its text, category and gold
    answers."""
    if not _is_plain(question):
        fields = {"text", "category", "answers", "answerable", "reading"}
        return hashlib.sha256(question.model_dump_json(include=fields).encode()).digest()
    shared = {
        "text": question.text,
        "category": question.category,
        "answers": question.answers,
        "answerable": question.answerable,
        "reading": question.reading,
    }
    return hashlib.sha256(to_json(shared)).digest()
