"""Finds the questions of a run with the worst scores, those that are marked, and the messages of failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fathoms.report.text import gold
from fathoms.runs.question_tables import EXCERPT, MOST, Missed, QuestionTables
from fathoms.runs.reading import ScoredRun


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


def question_tables(run: ScoredRun, profile: str) -> QuestionTables:
    """Return what tables show of all questions of a run; its question files are read once."""
    if (QuestionTables, profile) not in run.kept:
        found = QuestionTables(profile, list(run.summary.metrics))
        for view in run.brief_questions():
            found.add(view)
        run.kept[QuestionTables, profile] = found
    kept: QuestionTables = run.kept[QuestionTables, profile]
    return kept


def worst_questions(run: ScoredRun, profile: str, limit: int = MOST) -> list[Miss]:
    """Return at most `limit` questions, and no more than `MOST`, that are not fully right or were
    hallucinated, the worst first."""
    return [_miss(missed, profile) for missed in question_tables(run, profile).worst[:limit]]


def first_messages(run: ScoredRun, profile: str) -> dict[str, str]:
    """Return the first message of every kind of failure; no question file is read if there are none."""
    return question_tables(run, profile).messages if run.summary.errors else {}


def marked_questions(run: ScoredRun) -> Mapping[str, Mapping[str, Any]]:
    """Return the metadata of the questions that have one of `MARKS`, by their ids."""
    read = (found.marked for (kind, *_), found in run.kept.items() if kind is QuestionTables)
    return next(read, None) or run.marks


def _miss(missed: Missed, profile: str) -> Miss:
    """Describe a question."""
    question, repeats = missed.question.question, missed.question.repeats
    worst = min(repeats, key=lambda repeat: repeat.under(profile).correctness or 0.0)
    error = worst.error
    return Miss(
        id=question.id,
        category=question.category,
        question=question.text,
        gold=gold(question),
        answer=worst.answer.text[:EXCERPT] if worst.answer else "",
        error=f"{error.kind}: {error.message}"[:EXCERPT] if error else None,
        correctness=missed.correctness,
        hallucination=missed.hallucination,
    )
