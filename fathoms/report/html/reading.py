"""Reads one run from start to end, one question at a time, into index rows, details and totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from statistics import fmean
from typing import Any

from fathoms.report.html.chunks import Details
from fathoms.report.html.claims import ClaimCounts, documents_of
from fathoms.report.html.detail import Pictures, detail
from fathoms.report.html.outcome import lost_at, outcome
from fathoms.report.html.questions import Questions
from fathoms.report.html.texts import start
from fathoms.report.metrics_table import is_shown
from fathoms.report.text import gold
from fathoms.report.worst import mean
from fathoms.runs.disagreements import disagreements
from fathoms.runs.reading import ScoredRun
from fathoms.runs.views import ScoredRepeat

ANSWER = 280
EXAMPLE = 500
DISAGREEMENTS = 100
"""The most answers of a run that are listed because phrase recall and a judge differ."""
COLUMNS = ("correctness", "hallucination", "outcome", "lost", "answer")


@dataclass
class Sums:
    """What is collected over the answers of a run: times, costs and errors.

    Times are in seconds and leave out answers from the cache; costs are in US dollars, `None` if not known.
    `errors` maps each kind to its number and first message.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    whole: list[float] = field(default_factory=list)
    first_token: list[float] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, repeat: ScoredRepeat) -> None:
        """Add one answer or failure."""
        if error := repeat.error:
            count, example = self.errors.get(error.kind, (0, start(error.message, EXAMPLE)))
            self.errors[error.kind] = (count + 1, example)
        if answer := repeat.answer:
            self.costs.append(answer.cost)
            if answer.first_token is not None and not answer.cached:
                self.first_token.append(answer.first_token)
        taken = seconds_of(repeat)
        if taken is not None:
            self.whole.append(taken)
            for stage, value in repeat.timings.items():
                self.seconds.setdefault(stage, []).append(value)


@dataclass(frozen=True)
class IndexedRun:
    """One run as read: `rows` maps a question's index to its columns, `numbers` to its chunk's number.

    A row has the values of `COLUMNS`, then those of the `further` metrics. `disagreements` are the answers
    of which phrase recall and a judge say different things. `claims` counts the judged claims.
    """

    rows: dict[int, tuple[Any, ...]]
    numbers: dict[int, int]
    sums: Sums
    further: tuple[str, ...] = ()
    disagreements: tuple[dict[str, Any], ...] = ()
    claims: ClaimCounts = field(default_factory=ClaimCounts)

    def columns(self, order: Sequence[int]) -> dict[str, Any]:
        """Return the run's part of the index.

        A question that the run was not asked has `None` in every column and -1 as its chunk.
        """
        nothing = (None,) * (len(COLUMNS) + len(self.further))
        rows = [self.rows.get(place, nothing) for place in order]
        made: dict[str, Any] = {name: [row[number] for row in rows] for number, name in enumerate(COLUMNS)}
        made["metrics"] = {
            name: [row[number] for row in rows] for number, name in enumerate(self.further, len(COLUMNS))
        }
        if self.claims.by_question:
            made["claims"] = [self.claims.by_question.get(place) for place in order]
        return made | {"detail": [self.numbers.get(place, -1) for place in order]}


def index_run(
    run: ScoredRun, profile: str, questions: Questions, details: Details, pictures: Pictures
) -> IndexedRun:
    """Read all questions of a run once, and add their details to `details`."""
    rows: dict[int, tuple[Any, ...]] = {}
    numbers: dict[int, int] = {}
    sums = Sums()
    further = tuple(name for name, found in run.metrics(profile).items() if is_shown(run, name, found))
    documents, claims = documents_of(run), ClaimCounts()
    differing: list[dict[str, Any]] = []
    for view in run.questions():
        name, place = questions.place(view.question, run)
        for repeat in view.repeats:
            sums.add(repeat)
        scores = [repeat.under(profile) for repeat in view.repeats]
        answers = [repeat.answer for repeat in view.repeats if repeat.answer]
        rows[place] = (  # in the order of COLUMNS; scores are means over the repeats
            rounded(mean([row.correctness for row in scores])),
            rounded(mean([row.hallucination for row in scores])),
            outcome(view, scores),
            lost_at(scores),
            start(answers[0].text, ANSWER) if answers else None,
            *(rounded(mean(view.values(metric, profile))) for metric in further),
        )
        for found in disagreements(view, profile):
            differing.append(
                {
                    "id": name,
                    "answer": start(found.answer, ANSWER),
                    "gold": start(gold(view.question), ANSWER),
                    "correctness": rounded(found.correctness),
                    "judged": rounded(found.judged),
                }
            )
        file = run.question_file(view.question.id)
        claims.add(place, view.repeats)
        made = detail(view, profile, details.pool, pictures, documents)
        numbers[place] = details.add(name, {"id": name, **made, "file": file and f"questions/{file.name}"})
    details.close()
    return IndexedRun(rows, numbers, sums, further, tuple(differing[:DISAGREEMENTS]), claims)


def seconds_of(repeat: ScoredRepeat) -> float | None:
    """Return how many seconds an answer took: the sum of its stages, or else the latency of the reply.

    It is `None` for a reply from the cache, or if neither is known.
    """
    answer = repeat.answer
    if answer and answer.cached:
        return None
    if repeat.timings:
        return sum(repeat.timings.values())
    return answer.latency if answer else None


def known_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, or `None` if any value is not known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def spread(values: Sequence[float]) -> dict[str, Any] | None:
    """Return the mean, median, 95th percentile and number of some values; `None` without values.

    Percentiles are interpolated linearly (Hyndman & Fan 1996, type 7).
    """
    if not values:
        return None
    ordered = sorted(values)
    return {
        "mean": rounded(fmean(ordered)),
        "p50": rounded(quantile(ordered, 0.5)),
        "p95": rounded(quantile(ordered, 0.95)),
        "n": len(ordered),
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values, interpolated linearly."""
    at = (len(ordered) - 1) * share
    low, high = ordered[floor(at)], ordered[ceil(at)]
    return low + (high - low) * (at - floor(at))


def rounded(value: float | None) -> float | None:
    """Round to seven decimal places, which is more than the page shows and halves the size."""
    return None if value is None else round(value, 7)
