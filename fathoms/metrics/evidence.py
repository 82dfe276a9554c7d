"""What a pipeline does where retrieval found the evidence, and where it did not, after Double-Bench (Shen et
al. 2025).

Every answer falls into one cell of a cross table:

| axis | values |
|---|---|
| `retrieval` | `hit` if every hop of the question has a gold page among the hits, else `miss`; \
`not known`; `unanswerable` for an unanswerable question |
| `answer` | `answered`, `abstained`, `hedged` (where a judge labels abstentions), `refused`, `empty`, \
`failed`, `not labelled` |
| `correctness` | `right`, `half right`, `wrong`; `not graded` |
| `by` | `judge` if the run has a grade of the answer (`correctness-judged`), else `phrase recall` |

A hop without a gold page is passed over; a question whose evidence names no page is judged by its documents.
By a grade from 0 to 10, 7 or more is right and 3 or less is wrong; by phrase recall, 1 is right and 0 is
wrong. The three metrics are rates of answers and abstentions alone: refusals, hedged answers and failed
calls are in none of them, and the table counts them.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

from fathoms.metrics.correctness_judged import CorrectnessJudged, grade_of
from fathoms.metrics.gold_pages import retrieved_for, retrieved_pages
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.metric import Facts, Metric, Need, shared_score
from fathoms.metrics.names import CORRECT, JUDGE, PHRASES, WRONG
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.types import Score

_GRADERS = (CorrectnessJudged(), CorrectnessJudged(rubric="binary"))


class Cell(NamedTuple):
    """The cell of the table that an answer falls into."""

    retrieval: str
    answer: str
    correctness: str
    by: str


@lru_cache(maxsize=1)  # for the three rates of one answer
def cell_of(facts: Facts) -> Cell:
    """Return the cell of an answer."""
    answer = _answer(facts)
    graded = answer in ("answered", "abstained", "hedged", "not labelled")
    correctness, by = _correctness(facts) if graded else ("not graded", "nothing")
    return Cell(_retrieval(facts), answer, correctness, by)


def _retrieval(facts: Facts) -> str:
    """Return whether every hop has a gold page among the hits."""
    record = facts.record
    gold = gold_of(record.question)
    if not record.question.answerable:
        return "unanswerable"
    if record.hits is None or not gold.documents:
        return "not known"
    if not gold.pages:
        documents = {hit.chunk.document for hit in record.hits}
        wanted = [hop.documents for hop in gold.hops if hop.documents] or [gold.documents]
        if all(documents & one for one in wanted):
            return "hit"
        return "not known" if None in documents else "miss"
    known = retrieved_for(facts)
    pages = retrieved_pages(record, known_only=True) or frozenset() if known is None else known
    wanted_pages = [hop.pages for hop in gold.hops if hop.pages] or [gold.pages]
    if all(pages & one for one in wanted_pages):
        return "hit"
    return "not known" if known is None else "miss"


def _answer(facts: Facts) -> str:
    """Return what the model did."""
    record, scores = facts.record, facts.scores
    if record.answer is None:
        return "failed"
    if facts.verdicts:  # most runs have no judge, and what it would be asked takes time to make
        verdict = facts.verdicts.get(JudgedAbstention().judgements(record, {})[0])
        if verdict is not None and verdict.label == "hedged":
            return "hedged"
    if scores.abstention == "refusal":
        return "refused"
    if scores.abstention == "empty":
        return "empty"
    if scores.abstained is None:
        return "not labelled"
    return "abstained" if scores.abstained else "answered"


def _correctness(facts: Facts) -> tuple[str, str]:
    """Return whether the answer is right, and by what."""
    for grader in _GRADERS if facts.verdicts or facts.failures else ():
        for judgement in grader.judgements(facts.record, facts.claims):
            if judgement in facts.failures:
                return "not graded", JUDGE
            if judgement in facts.verdicts:
                grade = grade_of(facts.verdicts[judgement])
                return "not graded" if grade is None else _kind(grade, WRONG, CORRECT), JUDGE
    recall = facts.scores.correctness
    return ("not graded", "nothing") if recall is None else (_kind(recall, 0.0, 1.0), PHRASES)


def _kind(value: float, wrong: float, right: float) -> str:
    """Return `right` from one bound on, `wrong` up to the other one, and `half right` between them."""
    if value >= right:
        return "right"
    return "wrong" if value <= wrong else "half right"


class ByEvidence(Metric):
    """Base class of the rates of the cross table. A rate is a mean over the answers of one column that are
    answered or abstained from."""

    needs: ClassVar[tuple[Need, ...]] = ()
    follows_profile: ClassVar[bool] = True
    source: ClassVar[str] = "Double-Bench, Shen et al. 2025"
    column: ClassVar[str] = "hit"

    @abstractmethod
    def value(self, cell: Cell) -> float | None:
        """Return the value of an answer in the metric's column, `None` if it does not count."""

    def score(self, facts: Facts) -> Score:
        """Return the value of an answer, and its cell as the reason."""
        if facts.record.only_searched or facts.retrieval_only:
            return shared_score(self.name, None, 0, lacks="an answer")
        return _rated(self, cell_of(facts))


@lru_cache(maxsize=1024)
def _rated(metric: ByEvidence, cell: Cell) -> Score:
    """Return the score of the answers in a cell by a metric; cached, because there are few cells."""
    why = cell._asdict()
    counts = cell.retrieval == metric.column and cell.answer in ("answered", "abstained")
    value = metric.value(cell) if counts else None
    if value is None:
        why["lacks"] = f"an answer or an abstention to a question with a retrieval {metric.column}"
    return Score(metric=metric.name, value=value, n=int(value is not None), why=dict(why))


class AnswerRateOnHits(ByEvidence):
    """The share of questions that are answered, of those whose evidence was retrieved. The others are
    abstained from without need."""

    kind: Literal["answer-rate-on-hits"] = "answer-rate-on-hits"

    def value(self, cell: Cell) -> float | None:
        """Return 1 for an answer and 0 for an abstention."""
        return float(cell.answer == "answered")


class AbstentionOnMisses(ByEvidence):
    """The share of questions that are abstained from, of those whose evidence was not retrieved, which
    Double-Bench calls honesty."""

    column: ClassVar[str] = "miss"

    kind: Literal["abstention-on-misses"] = "abstention-on-misses"

    def value(self, cell: Cell) -> float | None:
        """Return 1 for an abstention and 0 for an answer."""
        return float(cell.answer == "abstained")


class AccuracyOnHits(ByEvidence):
    """The share of questions that are answered right, of those whose evidence was retrieved. An abstention
    and an answer that is half right count as 0.

    By the grade of a judge where the run has one, else by phrase recall; the figures say which.
    """

    cells: ClassVar[tuple[str, ...]] = Cell._fields

    kind: Literal["accuracy-on-hits"] = "accuracy-on-hits"

    def value(self, cell: Cell) -> float | None:
        """Return 1 for a right answer and 0 for any other; `None` for one that could not be graded."""
        if cell.answer == "abstained":
            return 0.0
        return None if cell.correctness == "not graded" else float(cell.correctness == "right")
