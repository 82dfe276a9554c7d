"""Hallucination: a statement that is not fully correct (FATHOMS-RAG, section III.C), or, under the profile
`fathoms`, any statement in answer to an unanswerable question."""

from __future__ import annotations

from fathoms.metrics.labels import Label


def hallucination(
    label: Label | None, correctness: float | None, *, unanswerable: bool = False
) -> int | None:
    """Return H(p) = 1 if the answer is a statement and its correctness is not 1, and 0 otherwise.

    Abstentions, refusals and empty answers are not hallucinations. The result is `None` if the answer has no
    label (the call failed) or no correctness (the question has no gold answer). For a question known to be
    `unanswerable` correctness is not needed: every statement is a hallucination.
    """
    if unanswerable:
        return None if label is None else int(label == "statement")
    if label is None or correctness is None:
        return None
    return int(label == "statement" and correctness != 1.0)
