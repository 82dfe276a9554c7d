"""The metrics of FATHOMS-RAG as values: correctness, hallucination, abstention, the two rates of selective
prediction, and phrase recall at the stages of the funnel.

They depend on the scoring profile, so their figures are pooled with the profile (`aggregate.py`,
`funnel_summary.py`) and stored there in the summary; readers find them beside all other metrics.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from fathoms.metrics.metric import Direction, Facts, Metric, Need, Pooling
from fathoms.metrics.stages import Stage
from fathoms.types import Score

_PAPER = "FATHOMS-RAG, section III"


class ProfileMetric(Metric):
    """Base class of the metrics whose values come from the scores under a profile."""

    in_profile: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ()

    @abstractmethod
    def value(self, facts: Facts) -> float | None:
        """Return the value for one record, `None` if the metric does not apply to it."""

    def score(self, facts: Facts) -> Score:
        """Return the value under the profile; failed calls are treated as the profile does."""
        return Score(metric=self.name, value=self.value(facts))


class Correctness(ProfileMetric):
    """Phrase recall: the share of the gold phrases that occur in the answer, for the best gold variant. It is
    0 for a failed call."""

    headline: ClassVar[bool] = True
    source: ClassVar[str] = _PAPER
    needs: ClassVar[tuple[Need, ...]] = ("gold",)

    kind: Literal["correctness"] = "correctness"

    def value(self, facts: Facts) -> float | None:
        """Return the correctness in [0, 1]."""
        return facts.scores.correctness


class Hallucination(ProfileMetric):
    """Whether the answer is a statement that is not fully correct (1) or not (0)."""

    direction: ClassVar[Direction] = "lower"
    headline: ClassVar[bool] = True
    source: ClassVar[str] = _PAPER
    needs: ClassVar[tuple[Need, ...]] = ("answer", "gold")

    kind: Literal["hallucination"] = "hallucination"

    def value(self, facts: Facts) -> float | None:
        """Return 1 for a statement that is not fully correct, and else 0."""
        return facts.scores.hallucination


class Abstention(ProfileMetric):
    """Whether the answer to an answerable question abstains (1) or not (0)."""

    direction: ClassVar[Direction] = "lower"
    source: ClassVar[str] = _PAPER
    needs: ClassVar[tuple[Need, ...]] = ("answer",)

    kind: Literal["abstention"] = "abstention"

    def value(self, facts: Facts) -> float | None:
        """Return 1 for an abstention and else 0; `None` for an unanswerable question."""
        abstained = facts.scores.abstained
        return None if abstained is None or not facts.record.question.answerable else int(abstained)


class Coverage(ProfileMetric):
    """The share of answers to answerable questions that do not abstain."""

    source: ClassVar[str] = "El-Yaniv and Wiener 2010"
    pooling: ClassVar[Pooling] = "counts"
    needs: ClassVar[tuple[Need, ...]] = ("answer",)

    kind: Literal["coverage"] = "coverage"

    def value(self, facts: Facts) -> float | None:
        """Return 1 for a statement and 0 for an abstention."""
        abstained = facts.scores.abstained
        return None if abstained is None or not facts.record.question.answerable else int(not abstained)


class SelectiveAccuracy(ProfileMetric):
    """The share of fully correct answers (correctness 1) among those that do not abstain."""

    source: ClassVar[str] = "El-Yaniv and Wiener 2010"
    pooling: ClassVar[Pooling] = "counts"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "gold")

    kind: Literal["selective-accuracy"] = "selective-accuracy"

    def value(self, facts: Facts) -> float | None:
        """Return 1 for a fully correct statement, 0 for another statement, and `None` for an abstention."""
        scores = facts.scores
        answered = scores.abstained is False and facts.record.question.answerable
        return int(scores.correctness == 1) if answered and scores.correctness is not None else None


class StageRecall(ProfileMetric):
    """Base class of phrase recall at a stage of the funnel: in the documents as parsed, in what was
    retrieved, and in the prompt."""

    stage: ClassVar[Stage]
    source: ClassVar[str] = "fathoms, docs/funnel.md"
    needs: ClassVar[tuple[Need, ...]] = ("gold",)

    def value(self, facts: Facts) -> float | None:
        """Return the recall in [0, 1]; `None` if the question is left out of the funnel."""
        return facts.scores.funnel.recall(self.stage) if facts.scores.funnel else None


class RecallInDocuments(StageRecall):
    """The share of the gold phrases that occur in the gold documents as parsed."""

    stage: ClassVar[Stage] = "documents"

    kind: Literal["recall-in-documents"] = "recall-in-documents"


class RecallInRetrieved(StageRecall):
    """The share of the gold phrases that occur in the retrieved chunks."""

    stage: ClassVar[Stage] = "retrieved"

    kind: Literal["recall-in-retrieved"] = "recall-in-retrieved"


class RecallInPrompt(StageRecall):
    """The share of the gold phrases that occur in the prompt."""

    stage: ClassVar[Stage] = "prompt"

    kind: Literal["recall-in-prompt"] = "recall-in-prompt"
