"""The quality of interleaved answers, by a judge that gives five grades from 0 to 5 (MMDocRAG).

The judge compares an answer with the gold answer. Its prompt asks for the five grades of MMDocRAG in words of
our own; verdicts that came with an imported run are those of the authors' judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.correctness_judged import gold_text
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.metrics.quotes.groups import is_group, values_by_group
from fathoms.metrics.quotes.selection import selected
from fathoms.metrics.said import reading_of
from fathoms.runs.grades import BEST, QUALITY, grade
from fathoms.types import Claim, Judgement, Question, Record, Rubric, Score, Verdict

_UNREAD = "grades that the judge did not give, or that could not be read"


class QualityMetric(JudgedMetric):
    """Base class of the grades; the figure of a run is the mean over its questions.

    A grade that could not be read has no value, and is counted. An empty answer and a failed call have the
    grade 0 without being judged, unless they were imported with their grades.
    """

    source: ClassVar[str] = "MMDocRAG, Dong et al. 2025"
    needs: ClassVar[tuple[Need, ...]] = ("answer",)
    failed: ClassVar[float | None] = 0.0
    splits: ClassVar[bool] = False
    pooling: ClassVar[Pooling] = "questions"
    unit: ClassVar[str] = f"score 0 to {BEST}"
    grades: ClassVar[tuple[str, ...]]

    released: bool = False
    """Whether to count as the authors' code does: a grade that is missing from a reply, or whose key is
    misspelt, is 0. The metric is then called `NAME-released`."""

    @property
    def name(self) -> str:
        """The kind, marked where the metric counts as the released code does."""
        return f"{super().name}-released" if self.released else super().name

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"quality"})

    def lacks(self, record: Record) -> str | None:
        """Return what is missing of an answer that came without grades: the answer, or a gold answer."""
        if _came_graded(record):
            return None
        return super().lacks(record) or (None if self._applies(record) else "a gold answer to compare with")

    def _applies(self, record: Record) -> bool:
        """Return whether the question has a gold answer."""
        return record.question.answerable and bool(gold_text(record.question))

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Return the answer against the gold answer; nothing for an answer that has the grade 0 anyway."""
        judgement = graded_answer(record)
        return [judgement] if judgement.claim.strip() or _came_graded(record) else ()

    def score(self, facts: Facts) -> Score:
        """Return the mean of the grades that were given; `None` without any."""
        judgements = self.judgements(facts.record, facts.claims)
        verdict = facts.verdicts.get(judgements[0]) if judgements else None
        given = [self._grade(verdict, name) if judgements else 0.0 for name in self.grades]
        known = [one for one in given if one is not None]
        open_, size = len(given) - len(known), len(given)
        value = sum(known) / len(known) if known else None
        parts: dict[str, float | None] = {
            "claims": size,
            "unjudged": open_,
            "lowest": sum(known) / size,
            "highest": (sum(known) + BEST * open_) / size,
        }
        if size > 1:
            parts |= dict(zip(self.grades, given, strict=True))
        why: dict[str, object] = {} if known else {"lacks": "a verdict"}
        if verdict is not None and verdict.why:
            why["why"] = verdict.why
        return Score(metric=self.name, value=value, n=len(known), parts=parts, why=why)

    def _grade(self, verdict: Verdict | None, name: str) -> float | None:
        """Return a grade; `None` without a verdict, and if it could not be read."""
        if verdict is None:
            return None
        return (
            float((verdict.grades or {}).get(QUALITY[name], 0))
            if self.released
            else grade(verdict.grades, name)
        )

    def counted(self, score: Score) -> Mapping[str, int]:
        """Return how many grades could not be read."""
        unread = int(score.parts.get("unjudged") or 0)
        return {_UNREAD: unread} if unread else {}


class Fluency(QualityMetric):
    """The mean grade from 0 to 5 for language: whether the answer is correct, coherent and easy to read."""

    grades: ClassVar[tuple[str, ...]] = ("fluency",)

    kind: Literal["mmdocrag.fluency"] = "mmdocrag.fluency"


class CitationQuality(QualityMetric):
    """The mean grade from 0 to 5 for citations: whether they stand where a statement needs them."""

    grades: ClassVar[tuple[str, ...]] = ("citation-quality",)

    kind: Literal["mmdocrag.citation-quality"] = "mmdocrag.citation-quality"


class TextImageCoherence(QualityMetric):
    """The mean grade from 0 to 5 for pictures: whether they and the text complement each other."""

    grades: ClassVar[tuple[str, ...]] = ("text-image-coherence",)

    kind: Literal["mmdocrag.text-image-coherence"] = "mmdocrag.text-image-coherence"


class ReasoningLogic(QualityMetric):
    """The mean grade from 0 to 5 for reasoning: whether its steps are logical and clear."""

    grades: ClassVar[tuple[str, ...]] = ("reasoning-logic",)

    kind: Literal["mmdocrag.reasoning-logic"] = "mmdocrag.reasoning-logic"


class Factuality(QualityMetric):
    """The mean grade from 0 to 5 for facts: whether the answer agrees with the gold answer."""

    grades: ClassVar[tuple[str, ...]] = ("factuality",)

    kind: Literal["mmdocrag.factuality"] = "mmdocrag.factuality"


class AnswerQuality(QualityMetric):
    """The mean of the five grades of an answer, of those that were given. The parts are the grades, and the
    means by group of question as in `mmdocrag.overall-f1`."""

    grades: ClassVar[tuple[str, ...]] = tuple(QUALITY)

    kind: Literal["mmdocrag.answer-quality"] = "mmdocrag.answer-quality"

    def score(self, facts: Facts) -> Score:
        """Return the mean, with that of each group of the question as parts."""
        score = super().score(facts)
        selection = selected(facts.record)
        if score.value is None or not selection.gold:
            return score
        groups = values_by_group(facts.record.question, selection, score.value)
        return score.model_copy(update={"parts": score.parts | groups})

    def apart(self, score: Score) -> Mapping[str, float]:
        """Return the values by group, which are pooled apart."""
        return {name: value for name, value in score.parts.items() if value is not None and is_group(name)}


def graded_answer(record: Record) -> Judgement:
    """Return what the judge is asked for an answer, the empty text for a failed call."""
    text = reading_of(record).unreasoned
    return Judgement(
        claim=text, premise=_gold(record.question), context=record.question.text, rubric="quality"
    )


def _came_graded(record: Record) -> bool:
    """Return whether a record was imported with grades, which may be of a failed call."""
    return any(released_grade(name) in record.released for name in QUALITY)


def released_grade(name: str) -> str:
    """Return the name under which records keep a grade that came with them."""
    return f"mmdocrag.{name}"


def _gold(question: Question) -> str:
    """Return the gold answer, with the short one before it where the question has both."""
    gold = gold_text(question)
    short = question.short_answer
    return f"In short: {short}\n\n{gold}" if short and short.strip() and short != gold else gold


QUALITY_METRICS: tuple[type[QualityMetric], ...] = (
    *(Fluency, CitationQuality, TextImageCoherence, ReasoningLogic, Factuality),
    AnswerQuality,
)
