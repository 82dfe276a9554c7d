"""The texts of a record that are split into claims: the answer and the gold answer."""

from __future__ import annotations

from collections.abc import Mapping

from fathoms.metrics.said import judged_text
from fathoms.types import Claim, Question, Record

Text = tuple[str, str]
"""A text to be split into claims, and the question that it answers."""
ClaimsOf = Mapping[Text, tuple[Claim, ...]]
"""The claims of texts, as far as they were split."""


def answer_text(record: Record) -> Text | None:
    """Return the answer to be split into claims; `None` if it makes none because it is missing, a refusal, or
    says nothing."""
    if record.answer is None or record.answer.refusal is not None or not (text := judged_text(record)):
        return None
    return text, record.question.in_conversation


def running_gold(question: Question) -> str:
    """Return the gold answer in running text: the `reference`, the long or short answer, or the reference
    claims one after the other; empty if there is none. Gold phrases are no running text."""
    texts = (question.reference, question.long_answer, question.short_answer)
    whole = next((text for text in texts if text and text.strip()), None)
    return whole or " ".join(question.reference_claims)


def gold_to_split(question: Question) -> Text | None:
    """Return the gold answer to be split into claims; `None` if the question has its claims or no gold
    answer in running text."""
    gold = "" if question.reference_claims else running_gold(question)
    return (gold, question.in_conversation) if gold else None


def claims_of_answer(record: Record, claims: ClaimsOf) -> tuple[Claim, ...]:
    """Return the claims of the answer; none for a missing or empty answer, a refusal, and a text that the
    judge found no claim in, such as an abstention."""
    text = answer_text(record)
    return () if text is None else claims.get(text, ())


def claims_of_gold(question: Question, claims: ClaimsOf) -> tuple[Claim, ...]:
    """Return the claims of the gold answer: those that the question set has, else those that the judge split
    it into."""
    if question.reference_claims:
        return tuple(Claim(text=text) for text in question.reference_claims)
    text = gold_to_split(question)
    return () if text is None else claims.get(text, ())
