"""The keys of the metadata by which reports find the questions that they compare: variants of others
(`corpora.variants`), those that are marked as clear or ambiguous, and those that a filter drops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fathoms.types import Question

KIND, OF = "variant", "variant_of"
MARK, AMBIGUOUS, CLEAR = "ambiguity", "ambiguous", "clear"
"""The key of the metadata that marks a question, and its two values."""
DROPPED = "dropped"
"""The key with the reason for which a filter drops a question; `dropped_detail` is what the filter saw."""
MARKS = frozenset({OF, MARK, DROPPED})
"""The keys of which a question that is compared has one."""


def originals(questions: Iterable[Question]) -> list[Question]:
    """Return the questions that are no variants of others."""
    return [question for question in questions if OF not in question.metadata]


def original_of(question: Question) -> str:
    """Return the id of the question that a variant was made from; that of any other question is its own."""
    return str(question.metadata.get(OF) or question.id)


def variants_among(questions: Collection[Question]) -> list[str]:
    """Return the ids of the questions whose original is among them, too: they count in no figure but those of
    variants."""
    ids = {question.id for question in questions}
    return [question.id for question in questions if question.metadata.get(OF) in ids]


def variants_of(manifest: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the variants that a run asked beside their originals."""
    found = (manifest.get("data") or {}).get("variants")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()
