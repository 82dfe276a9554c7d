"""Finds the questions of a run with the worst scores, those that are marked, and the messages of failures."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from fathoms.report.text import gold
from fathoms.runs.marks import MARKS
from fathoms.runs.reading import ScoredRun
from fathoms.runs.views import BriefQuestion

EXCERPT = 2000
MOST = 10
"""The number of worst questions that reports show."""
_TOGETHER = 1_000
"""How many questions are compared with the worst at once."""
_MARKED = ("marked questions",)
"""The key of the metadata of marked questions in what a run keeps."""


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

    @property
    def badness(self) -> tuple[float, float]:
        """The sort key that puts the worst first: lowest correctness, then highest hallucination. Others stay
        in the order of the question file.

        An answer to an unanswerable question has no correctness and is sorted as if it had scored 0.
        """
        return (self.correctness or 0.0, -(self.hallucination or 0.0))


def worst_questions(run: ScoredRun, profile: str, limit: int = MOST) -> list[Miss]:
    """Return at most `limit` questions, and no more than `MOST`, that are not fully right or were
    hallucinated, the worst first."""
    return _found(run, profile).worst[:limit]


def first_messages(run: ScoredRun, profile: str) -> dict[str, str]:
    """Return the first message of every kind of failure; no question file is read if there are none."""
    return _found(run, profile).messages if run.summary.errors else {}


def noticing(run: ScoredRun, profile: str) -> Iterator[BriefQuestion]:
    """Yield every question of a run as `brief_questions` does. Its worst questions, the first messages and
    the marked questions are known afterwards: to read all questions takes longer than anything else in a
    report, so whoever does it reads them for these tables, too."""
    found = _Found()
    marked: dict[str, Mapping[str, Any]] = {}
    misses: list[Miss] = []
    for view in run.brief_questions():
        for repeat in view.repeats:
            if repeat.error is not None:
                found.messages.setdefault(repeat.error.kind, repeat.error.message[:EXCERPT])
        if not MARKS.isdisjoint(view.question.metadata):
            marked[view.question.id] = view.question.metadata
        if (miss := _miss(view, profile)) is not None:
            misses.append(miss)
            if len(misses) >= _TOGETHER:
                found.worst, misses = _worst(found.worst, misses), []
        yield view
    found.worst = _worst(found.worst, misses)
    run.kept[_Found, profile] = found
    run.kept[_MARKED] = marked


def marked_questions(run: ScoredRun) -> Mapping[str, Mapping[str, Any]]:
    """Return the metadata of the questions that have one of `MARKS`, by their ids."""
    if _MARKED not in run.kept:
        for _ in noticing(run, str(run.summary.profile)):  # most tables are of the headline profile
            pass
    found: Mapping[str, Mapping[str, Any]] = run.kept[_MARKED]
    return found


@dataclass
class _Found:
    """The worst questions of a run under a profile, and the first message of every kind of failure."""

    worst: list[Miss] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)


def _found(run: ScoredRun, profile: str) -> _Found:
    """Return what `noticing` has found; the questions are read now if nobody has read them before."""
    if (_Found, profile) not in run.kept:
        for _ in noticing(run, profile):
            pass
    found: _Found = run.kept[_Found, profile]
    return found


def _worst(first: Sequence[Miss], others: Sequence[Miss]) -> list[Miss]:
    """Return the worst of some questions; of equal ones, the earlier."""
    return heapq.nsmallest(MOST, [*first, *others], key=lambda miss: miss.badness)


def _miss(view: BriefQuestion, profile: str) -> Miss | None:
    """Describe a question that is not fully right or was hallucinated; `None` for any other."""
    scores = [repeat.under(profile) for repeat in view.repeats]
    correctness = mean([score.correctness for score in scores])
    hallucination = mean([score.hallucination for score in scores])
    if (correctness is None or correctness >= 1) and not hallucination:
        return None
    worst = min(view.repeats, key=lambda repeat: repeat.under(profile).correctness or 0.0)
    error = worst.error
    return Miss(
        id=view.question.id,
        category=view.question.category,
        question=view.question.text,
        gold=gold(view.question),
        answer=worst.answer.text[:EXCERPT] if worst.answer else "",
        error=f"{error.kind}: {error.message}"[:EXCERPT] if error else None,
        correctness=correctness,
        hallucination=hallucination,
    )


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not `None`, `None` if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
