"""Hallucination: something stated that is not fully right (FATHOMS-RAG, section III.C)."""

from __future__ import annotations

from fathoms.metrics.labels import Label


def hallucination(label: Label | None, correctness: float | None) -> int | None:
    """H(p) = 1 if the answer is a statement and its correctness is not 1, else 0.

    Abstentions, refusals and empty answers are no hallucinations. `None` where the answer has no label (the
    call failed) or no correctness (the question has no answer to compare with).
    """
    if label is None or correctness is None:
        return None
    return int(label == "statement" and correctness != 1.0)
