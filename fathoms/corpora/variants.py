"""Questions that were made from others: rewritten, disturbed or translated, and kept beside their originals.

A variant stands in the same question file as its original, so that one run asks both, and names it in its
metadata: `variant_of` is the id of the original, and `variant` says what was done to it. Reports compare each
kind of variant with its originals, pair by pair.
"""

from __future__ import annotations

from typing import Any

from fathoms.runs.marks import KIND, OF, original_of
from fathoms.types import Question


def variant(question: Question, kind: str, text: str, **changes: Any) -> Question:
    """Return a variant of a question with another text. `changes` are further fields, such as `reference`;
    metadata among them is added to that of the original. A variant of a variant has the first original."""
    original = original_of(question)
    metadata = {**question.metadata, **changes.pop("metadata", {}), KIND: kind, OF: original}
    update = {"id": f"{original}~{kind}", "text": text, "metadata": metadata, **changes}
    return question.model_copy(update=update)
