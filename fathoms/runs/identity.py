"""What tells a question of a run from others, and its gold answer from another version of it."""

from __future__ import annotations

import hashlib
from typing import Any

from fathoms.text.fingerprints import fingerprint, flat_fingerprint
from fathoms.text.ids import same_words
from fathoms.types import Question, StoredValue


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
    places = [item.model_dump(mode="json") for item in question.gold_evidence]
    evidence = places if question.evidence else []
    only_evidence = bool(evidence) and not (question.answers or question.reference)
    gold: list[Any] = [question.text, question.category, question.answers, question.answerable]
    answers = question.model_dump(mode="json", include=_ANSWERS | {"facts"} if question.facts else _ANSWERS)
    return Identity(
        category=question.category,
        gold=fingerprint([*gold, evidence] if only_evidence else gold),
        text=flat_fingerprint(same_words(question.text)),
        answers=fingerprint([answers, evidence] if only_evidence else answers),
        evidence=fingerprint(places) if places else _NO_EVIDENCE,
        documents=tuple(sorted(question.gold_documents)),
        written=written,
    )


def question_digest(question: Question) -> bytes:
    """Return a digest of what two runs must share to be compared on a question: its text, category and gold
    answers."""
    shared = question.model_dump_json(include={"text", "category", "answers", "answerable", "reading"})
    return hashlib.sha256(shared.encode()).digest()
