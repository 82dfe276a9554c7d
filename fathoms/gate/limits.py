"""Fixed limits that a run must keep, with or without a baseline: a lowest value, or a highest rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from fathoms.compare.question_scores import QuestionScores, names
from fathoms.errors import DataError, UsageError
from fathoms.gate.settings import GateSettings, allowance
from fathoms.types.run.summary import Counts


@dataclass(frozen=True)
class Limit:
    """A limit for the value of a metric: at least (`min`) or at most (`max`) so much."""

    metric: str
    side: Literal["min", "max"]
    value: float


@dataclass(frozen=True)
class LimitCheck:
    """Whether a run keeps a limit, over all categories (macro mean, `category` is `None`) or in one category.

    `found` is the value of the run over so many `questions`, or over what `of` says. It is compared as it is:
    whether it is above or below the limit by chance is not asked. `why` are the causes of failed calls.
    """

    limit: Limit
    category: str | None
    found: float
    questions: int
    kept: bool
    of: str = "question"
    why: str = ""


def read_limits(option: str, texts: Iterable[str]) -> dict[str, float]:
    """Read the limits of an option in the form `METRIC=VALUE`; raises UsageError."""
    found = {}
    for text in texts:
        metric, _, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise UsageError(f"{option} {text}: expected METRIC=VALUE, such as correctness=0.6")
        found[metric.strip()] = limit
    return found


def check_limits(run: QuestionScores, limits: Sequence[Limit], *, by_category: bool) -> list[LimitCheck]:
    """Compare the values of a run with limits; raises UsageError for a metric that the run does not have, and
    DataError for one without a value."""
    found = []
    for limit in limits:
        run.kind_of(limit.metric)  # raises UsageError
        categories = dict.fromkeys(question.category for question in run.questions.values())
        for category in (None, *(categories if by_category else ())):
            value, questions = _value(run, limit.metric, category)
            if value is not None:
                passes = value >= limit.value if limit.side == "min" else value <= limit.value
                found.append(LimitCheck(limit, category, value, questions, passes))
            elif category is None:
                raise DataError(f"{names(run)} has no value of {limit.metric}, so no limit can be checked")
    return found


REPLIES = {
    "max_same": ("same answers", "same", "answer"),
    "max_empty": ("empty answers", "empty", "answer"),
    "max_retry_rate": ("retried calls", "retried", "call"),
}
"""The limits for the replies of a run by their setting: the name of what is limited, its count in the
summary, and what it is a share of."""


def check_replies(run: str, counts: Counts, settings: GateSettings) -> list[LimitCheck]:
    """Compare the counts of the replies of a run with the limits of the settings; raises DataError for counts
    that the run does not have."""
    checked = []
    for setting, (name, key, of) in REPLIES.items():
        if (given := getattr(settings, setting)) is None:
            continue
        option = f"--{setting.replace('_', '-')}"
        allowed = allowance(given, option)
        number, whole = getattr(counts, key), counts.calls if of == "call" else counts.answered
        if counts.calls is None:
            raise DataError(
                f"{run} was scored by an earlier version, which did not count {name}: run 'fathoms score"
                f" {run}'"
            )
        if number is None or not whole:
            raise DataError(f"{run} has too few {of}s for {option}: {whole or 0}")
        limit = Limit(name, "max", allowed(whole) / whole)
        checked.append(LimitCheck(limit, None, number / whole, whole, number <= allowed(whole), of))
    return checked


def _value(run: QuestionScores, metric: str, category: str | None) -> tuple[float | None, int]:
    """Return the mean of the categories, or of one, and the number of questions behind it. A ratio of counts
    is added up over all questions."""
    questions = [question for question in run.questions.values() if category in (None, question.category)]
    if run.adds_counts(metric):
        ratios = [ratio for question in questions if (ratio := question.ratio(metric)) is not None]
        whole = sum(below for _, below in ratios)
        return (sum(above for above, _ in ratios) / whole if whole else None), len(ratios)
    means: dict[str, list[float]] = {}
    for question in questions:
        if (mean := question.mean(metric)) is not None:
            means.setdefault(question.category, []).append(mean)
    return (fmean(map(fmean, means.values())) if means else None), sum(map(len, means.values()))
