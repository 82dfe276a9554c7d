"""UMBRELA: grades of the retrieved passages, and what follows from them, without a gold answer.

Upadhyay et al. 2024 (UMBRELA), with the grades of TREC Deep Learning: 3 for a passage that holds the exact
answer, 2 for one that holds some answer, 1 for one that is related only, 0 for any other. A passage answers
the question from grade 2 on. The grades are those of a judge and no gold, and nDCG knows only the passages
that this run retrieved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.metrics.claims.premises import retrieved
from fathoms.metrics.claims.shares import share_of
from fathoms.metrics.claims.truth import Truth, any_true, negated
from fathoms.metrics.metric import Direction, Facts, JudgedMetric, Need, Pooling
from fathoms.metrics.said import judged_text
from fathoms.models.sentences import sentences
from fathoms.types import Claim, Judgement, Record, Rubric, Score

ANSWERS = 2
"""The lowest grade of a passage that answers the question."""
BEST = 3
_MOST_UNKNOWN = 5
"""With more passages without a grade, the bounds of nDCG are 0 and 1, as 4^n cases are too many."""
_SHOWN = 200
"""Characters of a passage that reports show with its grade."""
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")
"""A question mark in Latin, Chinese, Arabic and Greek script."""
Grade = int | None
"""The grade of a passage, `None` where it has none."""


class Umbrela(JudgedMetric):
    """Base class of the metrics on the grades of passages. A retrieved picture has no grade."""

    source: ClassVar[str] = "UMBRELA, Upadhyay et al. 2024"
    needs: ClassVar[tuple[Need, ...]] = ()
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"relevance"})

    def lacks(self, record: Record) -> str | None:
        """Return what is missing; a search that found nothing is something to measure."""
        return super().lacks(record) or ("retrieved passages" if record.hits is None else None)

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """The question with each passage that was retrieved."""
        found = (asks(record, passage.text) for passage in retrieved(record.hits or ()) if passage.text)
        return list(dict.fromkeys(found))

    def grades(self, facts: Facts) -> list[Grade]:
        """Return the grades of the passages in their order."""
        passages = retrieved(facts.record.hits or ())
        return [_grade(facts, passage.text) if passage.text else None for passage in passages]

    def found(self, facts: Facts) -> Truth:
        """Return whether any passage answers the question."""
        return any_true(map(_answers, self.grades(facts)))

    def listed(self, facts: Facts) -> dict[str, object]:
        """Return each passage with its grade, as reports show them."""
        passages = retrieved(facts.record.hits or ())
        rows = [
            {"claim": passage.text[:_SHOWN], "label": f"{passage.place}: {_said(grade)}"}
            for passage, grade in zip(passages, self.grades(facts), strict=True)
        ]
        return {"passages": rows} if rows else {"passages": "none"}


class _AtK(Umbrela):
    """Base class of the metrics on the first k passages."""

    k: int = Field(default=5, ge=1, le=1000)
    """How many passages count; with another number than 5, the metric is called `NAME@k`."""

    @property
    def name(self) -> str:
        """The kind, with the number of passages where it is not 5."""
        return super().name if self.k == type(self).model_fields["k"].default else f"{super().name}@{self.k}"


class UmbrelaPrecision(_AtK):
    """The share of the first 5 retrieved passages that answer the question (grade 2 or 3).

    Fewer than 5 count as if passages without use followed, as in trec_eval.
    """

    kind: Literal["umbrela.precision"] = "umbrela.precision"

    def score(self, facts: Facts) -> Score:
        """Return the share of passages."""
        truths: list[Truth] = [_answers(grade) for grade in self.grades(facts)[: self.k]]
        truths += [False] * (self.k - len(truths))
        return share_of(self.name, truths, self.listed(facts), items="items")


class UmbrelaNdcg(_AtK):
    """The discounted gain of the first 5 retrieved passages over that of all passages in the best order.

    The gain is the grade (linear), discounted by log2(rank + 1). A run that retrieves little of use in the
    best order has 1, so read it beside `umbrela.precision`. `None` where no passage has a grade above 0.
    """

    kind: Literal["umbrela.ndcg"] = "umbrela.ndcg"

    def score(self, facts: Facts) -> Score:
        """Return nDCG over the graded passages in their order, and its bounds over all possible grades."""
        grades = self.grades(facts)
        known = [grade for grade in grades if grade is not None]
        value = _ndcg(known, self.k)
        lowest, highest = _bounds(grades, self.k)
        why = self.listed(facts) if value is not None else {"lacks": "a passage with a grade above 0"}
        parts: dict[str, float | None] = {
            "items": len(grades),
            "unjudged": len(grades) - len(known),
            "lowest": lowest,
            "highest": highest,
        }
        n = len(known) if value is not None else 0
        return Score(metric=self.name, value=value, n=n, parts=parts, why=why)


class NothingToAnswerFrom(Umbrela):
    """The share of questions for which no retrieved passage answers the question (grade 2 or 3)."""

    direction: ClassVar[Direction] = "lower"

    kind: Literal["umbrela.nothing-to-answer-from"] = "umbrela.nothing-to-answer-from"

    def score(self, facts: Facts) -> Score:
        """Return 1 where no passage answers, 0 where one does, and `None` where that is not known."""
        return share_of(self.name, [negated(self.found(facts))], self.listed(facts), items="items")


class _Honesty(Umbrela):
    """Base class of the rates that compare what the answer does with what was retrieved.

    Each answer falls into a cell: `retrieval` says whether a passage answers the question, and `answer` what
    the pipeline did: `answered`, `abstained`, `asked back`, `refused`, `empty`, `failed` or `not labelled`.
    Only answers and abstentions count in the rates. An answer asks back if it consists of questions alone.
    """

    direction: ClassVar[Direction] = "lower"
    cells: ClassVar[tuple[str, ...]] = ("retrieval", "answer")
    follows_profile: ClassVar[bool] = True
    counted_where: ClassVar[bool] = True
    """Whether the questions count for which a passage answers, or the others."""

    def lacks(self, record: Record) -> str | None:
        """Return what is missing; a run that only searched answers nothing."""
        return super().lacks(record) or ("an answer" if record.only_searched else None)

    def score(self, facts: Facts) -> Score:
        """Return 1 where the answer does what the metric counts, and `None` where it does not apply."""
        found, did = self.found(facts), _did(facts)
        retrieval = "not graded" if found is None else "a passage answers" if found else "no passage answers"
        why: dict[str, object] = {"retrieval": retrieval, "answer": did}
        if did not in ("answered", "abstained") or found is (not self.counted_where):
            why["lacks"] = "an answer or an abstention that counts here"
            return Score(metric=self.name, value=None, n=0, why=why)
        happened = did == ("abstained" if self.counted_where else "answered")
        # without a grade that decides, it may count or not, so that the bounds are 0 and 1
        return share_of(self.name, [None if found is None else happened], why, items="items")


class AnsweredOnNothing(_Honesty):
    """The share of questions that were answered, of those for which no retrieved passage answers (no grade of
    2 or 3). Such an answer comes from what the model knows or invents."""

    counted_where: ClassVar[bool] = False

    kind: Literal["umbrela.answered-on-nothing"] = "umbrela.answered-on-nothing"


class AbstainedOnPassage(_Honesty):
    """The share of questions that were abstained from, of those for which a retrieved passage answers (grade
    2 or 3)."""

    kind: Literal["umbrela.abstained-on-passage"] = "umbrela.abstained-on-passage"


def asks(record: Record, passage: str) -> Judgement:
    """Return what is asked of a passage."""
    return Judgement(claim=record.question.in_conversation, premise=passage, rubric="relevance")


def _grade(facts: Facts, passage: str) -> Grade:
    """Return the grade of a passage, `None` if it has no verdict that could be read."""
    verdict = facts.verdicts.get(asks(facts.record, passage))
    return int(verdict.label) if verdict is not None and verdict.label.isdecimal() else None


def _answers(grade: Grade) -> Truth:
    """Return whether a passage with a grade answers the question."""
    return None if grade is None else grade >= ANSWERS


def _said(grade: Grade) -> str:
    return "no grade" if grade is None else f"grade {grade}"


def _ndcg(grades: Sequence[int], k: int) -> float | None:
    """Return nDCG with linear gain; `None` if no passage has a gain."""
    best = _dcg(sorted(grades, reverse=True), k)
    return _dcg(grades, k) / best if best else None


def _dcg(grades: Sequence[int], k: int) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:k], start=1))


def _bounds(grades: Sequence[Grade], k: int) -> tuple[float | None, float | None]:
    """Return the smallest and the largest nDCG over all that unknown grades could be; `None` if there is no
    passage, or none that could have a gain."""
    if sum(grade is None for grade in grades) > _MOST_UNKNOWN:
        return 0.0, 1.0
    cases = product(*(range(BEST + 1) if grade is None else (grade,) for grade in grades))
    values = [value for case in cases if (value := _ndcg(case, k)) is not None]
    return (min(values), max(values)) if values else (None, None)


def _did(facts: Facts) -> str:
    """Return what the pipeline did with a question."""
    if facts.record.answer is None:
        return "failed"
    if facts.scores.abstention in ("refusal", "empty"):
        return {"refusal": "refused", "empty": "empty"}[facts.scores.abstention]
    split = sentences(judged_text(facts.record))
    if split and all(sentence.endswith(_QUESTION_MARKS) for sentence in split):
        return "asked back"
    if facts.scores.abstained is None:
        return "not labelled"
    return "abstained" if facts.scores.abstained else "answered"


UMBRELA: tuple[type[Umbrela], ...] = (
    UmbrelaPrecision,
    UmbrelaNdcg,
    NothingToAnswerFrom,
    AnsweredOnNothing,
    AbstainedOnPassage,
)
