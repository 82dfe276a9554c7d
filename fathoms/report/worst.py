"""Finds the questions of a run with the worst scores, and the messages of its failures."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from fathoms.report.text import gold
from fathoms.runs.reading import ScoredRun

EXCERPT = 2000


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


def worst_questions(run: ScoredRun, profile: str, limit: int = 10) -> list[Miss]:
    """Return at most `limit` questions that are not fully right or were hallucinated, the worst first."""
    key = ("worst", profile, limit)
    if key not in run.kept:
        run.kept[key] = heapq.nsmallest(limit, misses(run, profile), key=lambda miss: miss.badness)
    found: list[Miss] = run.kept[key]
    return found


def misses(run: ScoredRun, profile: str) -> Iterator[Miss]:
    """Yield every question of the run that is not fully right or was hallucinated under the profile."""
    for view in run.questions(light=True):
        correctness = mean([repeat.under(profile).correctness for repeat in view.repeats])
        hallucination = mean([repeat.under(profile).hallucination for repeat in view.repeats])
        if (correctness is not None and correctness < 1) or hallucination:
            worst = min(view.repeats, key=lambda repeat: repeat.under(profile).correctness or 0.0)
            error = worst.error
            yield Miss(
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


def first_messages(run: ScoredRun) -> dict[str, str]:
    """Return the first message of every kind of failure; no question file is read if there are none."""
    found: dict[str, str] = {}
    kinds = run.summary.errors
    if not kinds:
        return found
    for view in run.questions(light=True):
        for repeat in view.repeats:
            if repeat.error and repeat.error.kind not in found:
                found[repeat.error.kind] = repeat.error.message[:EXCERPT]
        if found.keys() >= kinds.keys():
            break
    return found
