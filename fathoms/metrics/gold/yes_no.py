"""Reads whether an answer says yes or no."""

from __future__ import annotations

import re

_OPENING_LENGTH = 2000
"""Only so many characters of an answer are read for its first sentence."""
_NOT_SAID = re.compile(
    r"\b(?:(?:do|does|did|can|could|am|is|are|was|were)(?:\s+not|n['’]t)|cannot|unable|not|no|never|nothing)\b"  # noqa: RUF001
    r"[^.!?]{0,60}?"
    r"\b(?:know[ns]?|sure|certain|clear|determin\w*|information|mention\w*|specif\w*|state[ds]?|stating|say|said|find|found"
    r"|tell|answer|provide[ds]?|evidence|indicate[ds]?|described?|available|address\w*|discuss\w*|enough|idea)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\W{0,20}(?:\d{1,2}[.)]\s+)?(?:(?:(?:the\s+)?(?:short\s+)?answer(?:\s+is)?|verdict|result"
    r"|that(?:['’]s|\s+is)(?=\s+(?:right|correct|true))"  # noqa: RUF001
    r"|in\s+short|well|so|actually)\s*[:,]?\s*){0,3}\W{0,20}"
    r"(?:(?P<yes>yes|yeah|yep|true|correct|right|indeed|affirmative|certainly|definitely|of\s+course)"
    r"|no|nope|false|incorrect|wrong|negative|not\s+(?:true|correct|right|at\s+all|really)|never)"
    # What follows shows that the word stands for the answer: "No information" and "No. 5" do not.
    r"(?!\.?\s*\d)(?=\s{0,20}(?:[^\w\s]|\Z|(?:it|they|he|she|this|that|there|the|because|but)\b))",
    re.IGNORECASE,
)
# French, Spanish and Italian (whose "no" is the English one), German, Dutch, Portuguese, Russian, Chinese,
# Japanese and Arabic; not "Non-linear".
_OPENING_ELSEWHERE = re.compile(
    r"\W{0,20}(?:(?P<yes>oui|sí|sì|ja|sim|да|是的?|对|對|没错|はい|نعم|أجل|اجل)|non|nein|nee|não|нет|不是?|否|不对|不對|没有|いいえ|いえ|لا|كلا)"
    r"(?=\s{0,3}(?:[^\w\s'’-]|\Z))",  # noqa: RUF001
    re.IGNORECASE,
)
_ANSWER_IS = re.compile(
    r"\b(?:the|my|final)\s+answer\s*(?:is|:)\W{0,20}(?P<word>yes|no|true|false)\b", re.IGNORECASE
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|no\s+longer|false|incorrect|untrue|\w+n['’]t|without|nobody|none|no)\b",  # noqa: RUF001
    re.IGNORECASE,
)
_NOT_ONLY = re.compile(r"\bnot\s+(?:only|just|merely|uncommon)\b|\bno\s+(?:doubt|matter)\b", re.IGNORECASE)
_AFFIRMED = re.compile(
    r"\W{0,20}(?:(?:according\s+to|based\s+on|as\s+\w+\s+in|per|in)\s+[^,.!?\n]{1,60},\s+)?(?:it|they|he|she|this|that|these|those|there|both|all|we|you|i)\s+(?:all\s+|both\s+)?"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|should|must|may)\b",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"\bno\.\s{0,3}(?=\d)", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+(?:\.\d[^.!?\n]*)*")


def says(text: str) -> bool | None:
    """Return whether an answer says yes (`True`) or no (`False`), and `None` if it says neither.

    A yes or no at the beginning decides, then "the answer is yes", then the first sentence: with a negation
    it says no, and without one it says yes if it begins like "It is" or "They do". A sentence that says that
    something is unknown or not mentioned says neither. All of this is English; in French, Spanish, Chinese,
    Japanese and Arabic, only a yes or no at the beginning is read.
    """
    opening_text = _NUMBER_SIGN.sub("number ", text.strip()[:_OPENING_LENGTH])
    first = _SENTENCE.search(opening_text)
    if first is None:
        return None
    if opening := _OPENING.match(opening_text) or _OPENING_ELSEWHERE.match(opening_text):
        return opening["yes"] is not None
    if stated := _ANSWER_IS.search(text):
        return stated["word"].lower() in ("yes", "true")
    if _NOT_SAID.search(first[0]):
        return None
    if _NEGATED.search(_NOT_ONLY.sub("", first[0])):
        return False
    return True if _AFFIRMED.match(first[0]) else None
