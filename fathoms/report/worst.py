"""Finds the questions of a run with the worst scores, those that are marked, and the messages of failures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from fathoms.report.text import gold
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.run import Run
from fathoms.types import Failure
from fathoms.types.run.rows import BriefQuestion

MOST = 10
"""The number of worst questions that are shown."""
EXCERPT = 2000
"""The characters of a message that are shown."""
_ROUNDING = 1e-9
"""Means that differ by less are compared by their exact values."""


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
    """Return at most `limit` questions that are not fully right or were hallucinated, the worst first: those
    with the lowest correctness, then with the highest hallucination. Others stay in the order of the question
    file."""
    import numpy as np

    table = run.scores
    means = table.means("correctness", profile)
    wrong = np.flatnonzero((table.means("hallucination", profile) > 0) | (means < 1))
    # an answer to an unanswerable question has no correctness and is sorted as if it had scored 0
    bad = np.nan_to_num(means[wrong])
    near = wrong[bad <= np.sort(bad)[min(limit, len(bad)) - 1] + _ROUNDING] if len(wrong) else wrong
    found = []
    for number in near.tolist():
        correctness, hallucination = (
            fmean(values) if (values := table.values(number, metric, profile)) else None
            for metric in ("correctness", "hallucination")
        )
        found.append((correctness, hallucination, table.questions[number][0]))
    worst = sorted(found, key=lambda one: (one[0] or 0.0, -(one[1] or 0.0)))[:limit]
    views = run.some_questions([id for _, _, id in worst])
    return [_miss(views[id], profile, right, invented) for right, invented, id in worst if id in views]


def first_failures(run: Run) -> dict[str, Failure]:
    """Return the first failure of every kind; no question file is read if there are none."""
    places = run.scores.first_failures() if run.summary.errors else {}
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
    """Describe a question."""
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
