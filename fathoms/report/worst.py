"""The questions of a run that went worst, and what its failures said."""

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
    """A question that lost something; the scores are means over its repeats, `answer` the worst repeat's
    (cut at 2,000 characters) and `error` its failure where it has no answer."""

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
        """Sorts the worst first: by correctness, then the hallucinated ones, then by id. An answer to an
        unanswerable question has no correctness and stands with those that scored 0."""
        return (self.correctness or 0.0, -(self.hallucination or 0.0), self.id)


def worst_questions(run: RunView, profile: str, limit: int = 10) -> list[Miss]:
    """At most `limit` questions that are not fully right or were hallucinated, the worst first."""
    return heapq.nsmallest(limit, misses(run, profile), key=lambda miss: miss.badness)


def misses(run: RunView, profile: str) -> Iterator[Miss]:
    """Every question of the run that lost something under the profile."""
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
    """A miss, told by one repeat."""
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
    """The mean of the values that apply, `None` where none does."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def first_messages(run: RunView) -> dict[str, str]:
    """The first message of every kind of failure that the run counts; nothing is read where there is none."""
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
