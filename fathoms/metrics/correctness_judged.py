"""Correctness by a judge that compares the answer with the gold answer, beside phrase recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.metric import Facts, JudgedMetric, Need
from fathoms.metrics.names import CORRECT, WRONG
from fathoms.metrics.said import judged_text
from fathoms.types import Claim, Judgement, Question, Record, Rubric, Score, Verdict


class CorrectnessJudged(JudgedMetric):
    """The share of correct answers, as a judge says that compares each answer with the gold answer.

    With the rubric `0-10` (Double-Bench, Shen et al. 2025), the judge grades the answer; 7 or more is
    correct, 3 or less is wrong, and between them the answer is partly correct. The value is 1 for a correct
    answer and 0 for any other; the parts are the grade and which of the three it is. With `binary`, the judge
    says yes or no. The gold answer is the `reference`, else the long, short or claimed one, else the gold
    phrases. An empty answer, a refusal and a failed call are wrong without being judged; an unanswerable
    question has no value. The prompts are those of fathoms, not those of the paper.
    """

    source: ClassVar[str] = "Double-Bench, Shen et al. 2025"
    needs: ClassVar[tuple[Need, ...]] = ("answer",)
    failed: ClassVar[float | None] = 0.0
    splits: ClassVar[bool] = False

    kind: Literal["correctness-judged"] = "correctness-judged"
    rubric: Literal["0-10", "binary"] = "0-10"
    """`0-10` asks for a grade, `binary` for yes or no."""

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"grade" if self.rubric == "0-10" else "correct"})

    def lacks(self, record: Record) -> str | None:
        """Return what is missing: an answer, or a gold answer to compare it with."""
        return super().lacks(record) or (None if self._applies(record) else "a gold answer to compare with")

    def _applies(self, record: Record) -> bool:
        """Return whether the question has a gold answer."""
        return record.question.answerable and bool(gold_text(record.question))

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Return the answer against the gold answer; nothing for an answer that is wrong anyway."""
        if record.answer is None or record.answer.refusal is not None or not judged_text(record):
            return ()
        return [
            Judgement(
                claim=judged_text(record),
                premise=gold_text(record.question),
                context=record.question.in_conversation,
                rubric=next(iter(self.rubrics)),
            )
        ]

    def score(self, facts: Facts) -> Score:
        """Return 1 for a correct answer, 0 for any other, and `None` for one without a verdict."""
        judgements = self.judgements(facts.record, facts.claims)
        if not judgements:
            return self._scored(0, {"judged": "nothing, because there is no answer"})
        verdict = facts.verdicts.get(judgements[0])
        grade = grade_of(verdict)
        if verdict is None or grade is None:
            parts: dict[str, float | None] = {"claims": 1, "unjudged": 1, "lowest": 0.0, "highest": 1.0}
            return Score(metric=self.name, value=None, n=0, parts=parts, why={"lacks": "a verdict"})
        return self._scored(grade, {"label": verdict.label, "why": verdict.why})

    def _scored(self, grade: float, why: dict[str, object]) -> Score:
        """Return the score of a grade."""
        value = float(grade >= CORRECT)
        kinds = {"partly": float(WRONG < grade < CORRECT), "wrong": float(grade <= WRONG)}
        parts: dict[str, float | None] = {
            "claims": 1,
            "unjudged": 0,
            "lowest": value,
            "highest": value,
            **kinds,
        }
        if self.rubric == "0-10":
            parts["grade"] = grade
        return Score(metric=self.name, value=value, parts=parts, why=why)


def gold_text(question: Question) -> str:
    """Return the gold answer of a question as one text, empty if it has none."""
    texts = (question.reference, question.long_answer, question.short_answer)
    claims, variants = " ".join(question.reference_claims), [v for v in question.answers if v]
    phrases = " or ".join(" and ".join(map(str, variant)) for variant in variants)
    return next((text for text in (*texts, claims, phrases) if text and text.strip()), "")


def grade_of(verdict: Verdict | None) -> float | None:
    """Return the grade of a verdict from 0 to 10; `None` if it could not be read."""
    if verdict is None or verdict.label == "unparsed":
        return None
    if verdict.label.isdecimal():
        return float(verdict.label)
    return 10.0 if verdict.supports else 0.0
