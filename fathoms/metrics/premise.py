"""Whether an answer adopts the wrong premise of its question."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.metrics.gold.yes_no import says
from fathoms.metrics.metric import Direction, Facts, Metric, Pooling
from fathoms.metrics.phrase_recall import reading_recall
from fathoms.metrics.said import reading_of
from fathoms.types import Record, Score

PREMISE = "wrong_premise"
"""The key of a question's metadata with the wrong answer that the question takes for granted."""


class PremiseAdopted(Metric):
    """Whether the answer goes along with the wrong premise of the question (1) or not (0): it holds the
    premise and does not object.

    It applies to the variants `wrong-premise` of `fathoms questions perturb`. An answer objects if it holds
    the right answer, abstains, or says no in its first sentence (as `yes_no` answers are read).
    """

    direction: ClassVar[Direction] = "lower"
    pooling: ClassVar[Pooling] = "questions"
    follows_profile: ClassVar[bool] = True

    kind: Literal["premise-adopted"] = "premise-adopted"

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks: an answer, or a question with a wrong premise."""
        premise = record.question.metadata.get(PREMISE)
        return super().lacks(record) or (None if premise else "a question with a wrong premise")

    def score(self, facts: Facts) -> Score:
        """Return 1 where the answer takes the wrong premise over and does not object, and else 0."""
        question, reading = facts.record.question, reading_of(facts.record)
        adopted = reading_recall(reading, [[str(question.metadata[PREMISE])]]).value == 1
        right = reading_recall(reading, question.answers).value == 1
        objects = right or bool(facts.scores.abstained) or says(reading.plain) is False
        return Score(metric=self.name, value=float(adopted and not objects))
