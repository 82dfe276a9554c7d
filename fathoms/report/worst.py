"""Finds the questions of a run with the worst scores, and the messages of its failures."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fathoms.report.text import gold
from fathoms.report.view import RunView

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
    def badness(self) -> tuple[float, float, str]:
        """The sort key that puts the worst first: lowest correctness, then highest hallucination, then id.

        An answer to an unanswerable question has no correctness and is sorted as if it had scored 0.
        """
        return (self.correctness or 0.0, -(self.hallucination or 0.0), self.id)


def worst_questions(run: RunView, profile: str, limit: int = 10) -> list[Miss]:
    """Return at most `limit` questions that are not fully right or were hallucinated, the worst first."""
    return heapq.nsmallest(limit, misses(run, profile), key=lambda miss: miss.badness)


def misses(run: RunView, profile: str) -> Iterator[Miss]:
    """Yield every question of the run that is not fully right or was hallucinated under the profile."""
    for view in run.questions():
        scored = [
            (repeat, (repeat.get("scores") or {}).get(profile) or {}) for repeat in view.get("repeats") or ()
        ]
        correctness = mean([scores.get("correctness") for _, scores in scored])
        hallucination = mean([scores.get("hallucination") for _, scores in scored])
        if (correctness is not None and correctness < 1) or hallucination:
            repeat, _ = min(scored, key=lambda pair: pair[1].get("correctness") or 0.0)
            yield make_miss(view["question"], repeat, correctness, hallucination)


def make_miss(
    question: dict[str, Any], repeat: dict[str, Any], correctness: float | None, hallucination: float | None
) -> Miss:
    """Build a miss with the answer or error of one repeat."""
    error = repeat.get("error")
    return Miss(
        id=str(question["id"]),
        category=str(question.get("category", "")),
        question=str(question.get("text", "")),
        gold=gold(question),
        answer=str((repeat.get("answer") or {}).get("text") or "")[:EXCERPT],
        error=f"{error.get('kind')}: {error.get('message')}"[:EXCERPT] if error else None,
        correctness=correctness,
        hallucination=hallucination,
    )


def mean(values: list[float | None]) -> float | None:
    """Return the mean of the values that are not `None`, `None` if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def first_messages(run: RunView) -> dict[str, str]:
    """Return the first message of every kind of failure in the run; no question file is read if there are
    none."""
    found: dict[str, str] = {}
    kinds = run.summary.get("errors") or {}
    if not kinds:
        return found
    for view in run.questions():
        for repeat in view.get("repeats") or ():
            error = repeat.get("error")
            if error and error.get("kind") not in found:
                found[str(error.get("kind"))] = str(error.get("message") or "")[:EXCERPT]
        if found.keys() >= kinds.keys():
            break
    return found
