"""The type of a question, by its words: what kind of answer it asks for."""

from __future__ import annotations

import re

from fathoms.types import Question

OTHER = "other"
_STATED = "question_type"
"""The key of the metadata of a question whose data set states its type, as MMDocRAG does."""
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|long|far|old|high|large|deep|wide|fast)\b")
_WORDS = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b")
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|may)\b[^,;:]*\?"
)


def question_type(question: Question) -> str:
    """Return the type of a question: what its data set states, or else the first word by which an English
    question asks (`who`, `what`, `which`, `when`, `where`, `why`, `how`), `how many` for quantities,
    `yes/no`, or `other`, such as for other languages."""
    if isinstance(stated := question.metadata.get(_STATED), str) and stated:
        return stated
    text = " ".join(question.text.casefold().split())
    asks = _WORDS.search(text)
    if _YES_NO.match(text):
        return "yes/no"
    if asks is None:
        return OTHER
    quantity = _HOW_MANY.match(text, asks.start())
    return "how many" if quantity else {"whom": "who", "whose": "who"}.get(asks[0], asks[0])
