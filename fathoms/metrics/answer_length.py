"""The length of answers in words, as a metric."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.metrics.metric import Direction, Facts, Metric, Pooling
from fathoms.types import Score


class AnswerLength(Metric):
    """The words of an answer, as white space separates them; 0 for an empty one. Shorter counts as better
    only in that `compare` needs a direction."""

    direction: ClassVar[Direction] = "lower"
    pooling: ClassVar[Pooling] = "questions"
    unit: ClassVar[str] = "words"

    kind: Literal["answer-length"] = "answer-length"

    def score(self, facts: Facts) -> Score:
        """Return the number of words."""
        answer = facts.record.answer
        return Score(metric=self.name, value=float(len(answer.text.split())) if answer else None)
