"""Finds the questions of a run with the worst scores, those that are marked, and the messages of failures."""

from __future__ import annotations

from dataclasses import dataclass

from fathoms.report.text import gold
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.run import Run
from fathoms.runs.score_table import MOST_WORST
from fathoms.types import Failure
from fathoms.types.run.rows import BriefQuestion

MOST = MOST_WORST
"""The number of worst questions that are shown."""
EXCERPT = 2000
"""The characters of a message that are shown."""


@dataclass(frozen=True)
class Miss:
    """A question that was not fully right or was hallucinated.

    The scores are means over its repeats. `answer` (cut at 2,000 characters) and `error` are those of the
    repeat with the lowest correctness.
    """

    id: str
    category: str
    question: str
    gold: str
    answer: str
    error: str | None
    correctness: float | None
    hallucination: float | None


def question_tables(run: Run, profile: str) -> QuestionTables:
    """Return the lines of the table of questions of a run; its question files are read once."""
    if profile not in run.tables:
        found = QuestionTables(profile, list(run.summary.metrics))
        for view in run.brief_questions():
            found.add(view)
        run.tables[profile] = found
    return run.tables[profile]


def worst_questions(run: Run, profile: str, limit: int = MOST) -> list[Miss]:
    """Return at most `limit` questions that are not fully right or were hallucinated, the worst first."""
    worst = run.worst(profile, limit)
    views = run.some_questions([id for id, _, _ in worst])
    return [_miss(views[id], profile, right, invented) for id, right, invented in worst if id in views]


def first_failures(run: Run) -> dict[str, Failure]:
    """Return the first failure of every kind; no question file is read if there are none."""
    places = run.head.failures if run.summary.errors else {}
    views = run.some_questions([id for id, _ in places.values()])
    return {
        kind: repeat.error
        for kind, (id, number) in places.items()
        if id in views
        for repeat in views[id].repeats
        if repeat.repeat == number and repeat.error
    }


def first_messages(run: Run) -> dict[str, str]:
    """Return the first message of every kind of failure."""
    return {kind: failure.message[:EXCERPT] for kind, failure in first_failures(run).items()}


def _miss(view: BriefQuestion, profile: str, correctness: float | None, hallucination: float | None) -> Miss:
    """Return what the table of the worst questions says of one question."""
    question, repeats = view.question, view.repeats
    worst = min(repeats, key=lambda repeat: repeat.under(profile).correctness or 0.0)
    error = worst.error
    return Miss(
        id=question.id,
        category=question.category,
        question=question.text,
        gold=gold(question),
        answer=worst.answer.text[:EXCERPT] if worst.answer else "",
        error=f"{error.kind}: {error.message}"[:EXCERPT] if error else None,
        correctness=correctness,
        hallucination=hallucination,
    )
