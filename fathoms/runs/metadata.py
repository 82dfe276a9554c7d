"""The keys of the metadata by which reports find the questions that they compare: variants of others, those
that are marked as clear or ambiguous, and those that a filter drops; and the keys by which a run of a sweep
names its configuration and its setting.

A variant is a question that was made from another: rewritten, disturbed or translated. It stands in the file
of its original, so that one run asks both: `variant_of` is the id of the original, and `variant` says what
was done to it. Reports compare each kind of variant with its originals, pair by pair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from fathoms.types import Question

CONFIG, SETTING = "config", "setting"
"""The keys under which a run of a sweep names its configuration and its setting, beside its axes."""
KIND, OF = "variant", "variant_of"
AMBIGUITY, AMBIGUOUS, CLEAR = "ambiguity", "ambiguous", "clear"
"""The key that says whether a question is ambiguous, and its two values."""
ASKED_ABOUT = "asked_about"
"""The key with the id of the picture quote that a question is about, such as `image1`."""
DROPPED = "dropped"
"""The key with the reason for which a filter drops a question; `dropped_detail` is what the filter saw."""
COMPARISON_KEYS = frozenset({OF, AMBIGUITY, DROPPED})
"""Keys of the metadata: a question with any of them is compared with others."""
OF_VARIANTS = frozenset({"premise-adopted"})
"""The metrics of variants of questions; all others leave variants out."""


def originals(questions: Iterable[Question]) -> list[Question]:
    """Return the questions that are no variants of others."""
    return [question for question in questions if OF not in question.metadata]


def original_of(question: Question) -> str:
    """Return the id of the question that a variant was made from; that of any other question is its own."""
    return str(question.metadata.get(OF) or question.id)


def variants_among(questions: Collection[Question]) -> list[str]:
    """Return the ids of the questions whose original is among them, too: they count only in the figures of
    variants. A question that names itself or another variant as its original counts as any other, so that it
    is not lost."""
    originals = {question.id: question.metadata.get(OF) for question in questions}
    return [id for id, of in originals.items() if of in originals and originals[of] not in originals]


def variant(question: Question, kind: str, text: str, **changes: Any) -> Question:
    """Return a variant of a question with another text. `changes` are further fields, such as `reference`;
    metadata among them is added to that of the original. A variant of a variant has the first original."""
    original = original_of(question)
    metadata = {**question.metadata, **changes.pop("metadata", {}), KIND: kind, OF: original}
    update = {"id": f"{original}~{kind}", "text": text, "metadata": metadata, **changes}
    return question.model_copy(update=update)
