"""Truthfulness, and how well a pipeline tells answerable questions from unanswerable ones.

These metrics read the correctness and the abstention label of the run's headline profile, so their figures
are stored with the name of that profile.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.metrics.labels import ABSTAINS
from fathoms.metrics.metric import Direction, Facts, Metric, Need, Pooling, shared_score
from fathoms.types import Record, Score


class Truthfulness(Metric):
    """What an answer is worth when a wrong statement costs more than an abstention, from -`penalty` to 1.

    With phrase recall r, a statement scores r - `penalty` * (1 - r). An abstention scores 0 if the question
    has an answer and 1 if it has none. A statement in answer to an unanswerable question scores -`penalty`. A
    refusal and a failed call score 0, and failed calls are counted in `failed`. An answerable question
    without gold phrases has no value.

    The source is the truthfulness of CRAG (Yang et al. 2024), which gives 1 to a perfect answer, 0.5 to an
    acceptable one, 0 to a missing one and -1 to a wrong one, and has a person or a model choose among these.
    Rival definitions: the rate of true answers of TruthfulQA (Lin et al. 2022), where an abstention counts as
    true, and the not-attempted, incorrect and F score of SimpleQA (Wei et al. 2024).
    """

    headline: ClassVar[bool] = True
    failed: ClassVar[float | None] = 0.0
    follows_profile: ClassVar[bool] = True
    source: ClassVar[str] = "after CRAG, Yang et al. 2024"

    kind: Literal["truthfulness"] = "truthfulness"
    penalty: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """What a statement without any correct phrase costs (L); an abstention costs nothing."""

    @property
    def name(self) -> str:
        """`truthfulness`, with the penalty after it where that is not 1: a run always has the plain one."""
        return self.kind if self.penalty == 1 else f"{self.kind}-{self.penalty:g}"

    @property
    def measured_in(self) -> str:
        """The range of the values."""
        return f"score {-self.penalty:g} to 1"

    def _applies(self, record: Record) -> bool:
        return bool(record.question.answers) or not record.question.answerable

    def score(self, facts: Facts) -> Score:
        """Return the truthfulness of one answer, and in `why` what kind of answer it is."""
        question, scores = facts.record.question, facts.scores
        label = scores.abstention
        if not self._applies(facts.record) or (question.answerable and scores.correctness is None):
            return Score(metric=self.name, value=None, n=0, why={"lacks": "gold phrases"})
        if label is None and facts.record.answer is not None:
            return shared_score(self.name, None, 0, lacks="a verdict on abstention")
        if label == "statement":
            right = (scores.correctness or 0.0) if question.answerable else 0.0
            value = right - self.penalty * (1 - right)
        else:
            value = float(label in ABSTAINS and not question.answerable)
        kind = "answerable" if question.answerable else "unanswerable"
        return shared_score(self.name, value, answer=label, question=kind)


class Decision(Metric):
    """Base class of metrics of the decision to answer or to abstain. Failed calls and refusals have no value,
    because they do not show a decision."""

    follows_profile: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("answer",)


class AnsweredUnanswerable(Decision):
    """Whether an unanswerable question was answered by a statement (1) or by an abstention (0)."""

    direction: ClassVar[Direction] = "lower"
    source: ClassVar[str] = "fathoms, docs/metrics.md"

    kind: Literal["answered-unanswerable"] = "answered-unanswerable"

    def score(self, facts: Facts) -> Score:
        """Return 1 or 0, `None` for an answerable question."""
        if facts.record.question.answerable:
            return shared_score(self.name, None, lacks="an unanswerable question")
        abstained = facts.scores.abstained
        return shared_score(self.name, None if abstained is None else int(not abstained))


class AbstainedAnswerable(Decision):
    """Whether the answer to an answerable question abstains (1) or not (0). It is the rate that `abstention`
    reports, under the name that stands beside `answered-unanswerable`."""

    direction: ClassVar[Direction] = "lower"
    source: ClassVar[str] = "fathoms, docs/metrics.md"

    kind: Literal["abstained-answerable"] = "abstained-answerable"

    def score(self, facts: Facts) -> Score:
        """Return 1 or 0, `None` for an unanswerable question."""
        if not facts.record.question.answerable:
            return shared_score(self.name, None, lacks="an answerable question")
        abstained = facts.scores.abstained
        return shared_score(self.name, None if abstained is None else int(abstained))


class AbstentionF1(Decision):
    """F1 of abstaining: 2 * tp / (2 * tp + fp + fn), from counts over all answers.

    An abstention is right (`tp`) for an unanswerable question and wrong (`fp`) for an answerable one, and
    `fn` is an unanswerable question that was answered. A single answer has no F1, so runs are compared and
    gated by the counts of their questions.
    """

    pooling: ClassVar[Pooling] = "counts"
    hit_weight: ClassVar[float] = 2.0
    source: ClassVar[str] = "van Rijsbergen 1979"

    kind: Literal["abstention-f1"] = "abstention-f1"

    def score(self, facts: Facts) -> Score:
        """Return a score without a value; its parts are the counts."""
        abstained, answerable = facts.scores.abstained, facts.record.question.answerable
        if abstained is None:
            return shared_score(self.name, None, lacks="a statement or an abstention")
        return _decided(self.name, abstained, answerable)

    def ratio(self, score: Score) -> tuple[float, float] | None:
        """Return twice the right abstentions, and the denominator of F1."""
        if not score.parts:
            return None
        hits, misses = (score.parts["tp"] or 0), (score.parts["fp"] or 0) + (score.parts["fn"] or 0)
        return 2 * hits, 2 * hits + misses


@lru_cache(maxsize=16)
def _decided(metric: str, abstained: bool, answerable: bool) -> Score:
    """Return the score of one of the four decisions of `AbstentionF1`."""
    parts = {
        "tp": int(abstained and not answerable),
        "fp": int(abstained and answerable),
        "fn": int(not abstained and not answerable),
    }
    return Score(metric=metric, value=None, parts=parts)
