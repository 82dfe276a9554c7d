"""Answers on which phrase recall and a judge disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fathoms.types.run.rows import ScoredQuestion

JUDGED = "correctness-judged"
"""The metric whose verdicts are compared with phrase recall."""


@dataclass(frozen=True)
class Disagreement:
    """An answer that is fully correct by only one of phrase recall and the judge; both are in [0, 1]."""

    answer: str
    correctness: float
    judged: float


def disagreements(view: ScoredQuestion, profile: str) -> Iterator[Disagreement]:
    """Yield the answers to a question that phrase recall and the judge see differently."""
    for repeat in view.repeats:
        correctness, judged = repeat.under(profile).correctness, repeat.value(JUDGED, profile)
        if repeat.answer is None or correctness is None or judged is None:
            continue
        if (correctness == 1) != (judged == 1):
            yield Disagreement(repeat.answer.text, correctness, judged)
