"""Aggregate the scores of records per category and for the whole run.

Repeats are averaged within their question, and questions within their category. The overall figure is the
unweighted mean of the category means (macro mean, as in Table II of FATHOMS-RAG); the mean over all
questions (micro mean) is reported next to it. A mean over no values is `None`. Nothing is rounded here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.answers import SETTABLE
from fathoms.metrics.columns import Column, Repeated, averaged
from fathoms.metrics.intervals import overall_intervals, plain_interval, rate_interval
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.question_facts import NumberedQuestions, RecordFacts
from fathoms.metrics.score_records import RELEASED, RecordScore, Scores, Scoring
from fathoms.types.run.figures import (
    AbstentionCounts,
    AbstentionRates,
    AbstentionShares,
    AbstentionTable,
    HallucinationRates,
    Means,
    Overall,
    ProfileFigures,
    Rate,
)

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

    from fathoms.metrics.columns import Codes, Values

METRICS = ("correctness", "hallucination", "abstention")
_COLUMNS = ("correctness", "hallucination", "abstained")


@dataclass(frozen=True)
class _Scored:
    """Records as columns: the number of the question of each, whether it is answerable and whether the call
    failed, and the figures of its score under one profile, NaN where they are not known."""

    questions: NumberedQuestions
    numbers: Codes
    answerable: NDArray[bool_]
    failed: NDArray[bool_]
    correctness: Values
    hallucination: Values
    abstained: Values

    def column(self, metric: str) -> Column:
        """Return the values of a metric by question, averaged over its repeats."""
        import numpy as np

        values = {
            "correctness": self.correctness,
            "hallucination": self.hallucination,
            "abstention": np.where(self.answerable, self.abstained, np.nan),
        }
        return averaged(self.questions, self.numbers, values[metric])


def _scored(records: Sequence[RecordFacts], scores: Sequence[RecordScore]) -> _Scored:
    """Return records with their scores under one profile as columns."""
    import numpy as np

    questions = NumberedQuestions()
    failed = np.array([record.error is not None for record in records], dtype=bool)
    columns = [Repeated(scores).values(attrgetter(name)) for name in _COLUMNS]
    if failed.all():  # whatever failed, these are no figures of the pipeline
        columns = [np.full(len(failed), np.nan) for _ in columns]
    return _Scored(
        questions,
        np.array([questions.number(record.question) for record in records], dtype=int),
        np.array([record.question.answerable for record in records], dtype=bool),
        failed,
        *columns,
    )


def summarise(records: Sequence[RecordFacts], scores: Scores) -> dict[str, ProfileFigures]:
    """Return the figures of a run per profile, as far as they rest on its scores: the `profiles` of its
    summary without the funnel.

    - `correctness` and `hallucination` are means over `n` and `hallucination_n` questions; of a run whose
      calls all failed, nothing is known.
    - `abstention` is the abstention rate on answerable questions; failed calls and refusals are left out.
    - Under `fathoms`, `hallucination_over` holds the rate over `all`, `answerable` and `unanswerable`
      questions.
    - `abstention_table` counts answers by answerable or unanswerable question and by answered or abstained.
      `abstention_rates` holds the same as shares, plus coverage and selective accuracy.
    """
    figures: dict[str, ProfileFigures] = {}
    for name in scores.rows[0] if scores.rows else ():
        column = [row[name] for row in scores.rows]
        scored = _scored(records, column)
        head = _head(next((profile for profile in PROFILES if profile.name == name), None), scores.scoring)
        more: dict[str, Any] = {}
        if name != RELEASED:
            table = _abstention_table(scored)
            more = {
                "labels": dict(Counter(score.abstention for score in column if score.abstention)),
                "abstention_table": table,
                "abstention_rates": _abstention_rates(scored, table),
            }
        figures[name] = ProfileFigures(**head, **_figures(scored, name)._asdict(), **more)
    return figures


def _head(profile: Profile | None, scoring: Scoring) -> dict[str, Any]:
    """Return the rules behind a profile's figures, fields of `ProfileFigures`; all `None` for released
    scores."""
    if profile is None:
        return {"match": None, "hyphens": None, "set_aside": None, "classifier": None, "classifier_key": None}
    classifier = profile.classifier(scoring.abstention)
    return {
        "match": profile.match,
        "hyphens": profile.hyphens,
        "set_aside": sorted({*SETTABLE} - scoring.reading.keep) if profile.reads else None,
        "classifier": classifier.model_dump(mode="json"),
        "classifier_key": classifier.key,
    }


class MeanFigures(NamedTuple):
    """The mean scores of records over all of them, and by category in order of first appearance."""

    overall: Overall
    categories: dict[str, Means]


def figures_of(records: Sequence[RecordFacts], scores: Sequence[RecordScore], profile: str) -> MeanFigures:
    """Return the mean scores of records with their scores under one profile."""
    return _figures(_scored(records, scores), profile)


def _figures(scored: _Scored, profile: str) -> MeanFigures:
    """Return the mean scores of records in columns."""
    import numpy as np

    columns = {metric: scored.column(metric) for metric in METRICS}
    errors = np.bincount(scored.numbers, scored.failed).astype(float)
    groups = columns["correctness"].places()
    parts = {
        name: {metric: column.take(places) for metric, column in columns.items()}
        for name, places in groups.items()
    }
    has_rates = profile == "fathoms"
    answerable = np.array([question.answerable for question in scored.questions], dtype=bool)
    categories = {
        name: Means(
            **_means(part, errors[groups[name]]),
            intervals={metric: plain_interval(column.known()) for metric, column in part.items()},
            **_over(part["hallucination"], answerable[groups[name]] if has_rates else None),
        )
        for name, part in parts.items()
    }
    micro = _means(columns, errors)
    macro = {metric: mean(category.mean(metric) for category in categories.values()) for metric in METRICS}
    intervals = {}
    for metric in METRICS:
        found = overall_intervals({name: part[metric].known() for name, part in parts.items()})
        intervals[metric], intervals[f"micro_{metric}"] = found
    overall = Overall(
        **(micro | macro),
        **{f"micro_{metric}": micro[metric] for metric in METRICS},
        intervals=intervals,
        **_over(columns["hallucination"], answerable if has_rates else None),
    )
    return MeanFigures(overall, categories)


def _means(columns: dict[str, Column], errors: Values) -> dict[str, Any]:
    """Return the means over some questions, with the number of questions behind each mean, as fields of
    `MeanScores`; `errors` are the failed calls of each question."""
    return {
        **{metric: column.mean() for metric, column in columns.items()},
        "n": columns["correctness"].count(),
        "hallucination_n": columns["hallucination"].count(),
        "errors": int(errors.sum()),
    }


def _over(hallucination: Column, answerable: NDArray[bool_] | None) -> dict[str, HallucinationRates]:
    """Return the field `hallucination_over` of some questions, given which of them are answerable; no field
    for `None`.

    It holds the hallucination rate over `all`, over the `answerable` and over the `unanswerable` questions,
    as a mean over these questions (`value`) with their number (`n`). Failed calls, and answerable questions
    without gold phrases, are in no denominator.
    """
    if answerable is None:
        return {}
    rates = HallucinationRates(
        all=_rate(hallucination),
        answerable=_rate(hallucination.take(answerable)),
        unanswerable=_rate(hallucination.take(~answerable)),
    )
    return {"hallucination_over": rates}


def _rate(column: Column) -> Rate:
    """Return the mean of some questions with their number."""
    return Rate(value=column.mean(), n=column.count())


def _abstention_table(scored: _Scored) -> AbstentionTable:
    """Count answers by answerable and by abstained, without failed calls and refusals."""
    counts = (
        AbstentionCounts(
            answered=int((scored.abstained[group] == 0).sum()),
            abstained=int((scored.abstained[group] == 1).sum()),
        )
        for group in (scored.answerable, ~scored.answerable)
    )
    return AbstentionTable(**dict(zip(("answerable", "unanswerable"), counts, strict=True)))


def _abstention_rates(scored: _Scored, table: AbstentionTable) -> AbstentionRates:
    """Compute coverage and selective accuracy, as in selective prediction (El-Yaniv and Wiener 2010), and the
    shares of the table.

    `coverage` is the share of answers to answerable questions that do not abstain. `selective_accuracy` is
    the share of those that are fully correct (correctness 1). Failed calls and refusals count in neither.
    `<rate>_n` is the number of answers in the denominator; the rate is `None` if that is 0. The `n` of the
    `intervals` is the number of questions.
    """
    import numpy as np

    known = scored.answerable & ~np.isnan(scored.abstained)
    answered = known & (scored.abstained == 0) & ~np.isnan(scored.correctness)
    flags = {
        "coverage": (scored.numbers[known], (scored.abstained[known] == 0).astype(float)),
        "selective_accuracy": (
            scored.numbers[answered],
            (scored.correctness[answered] == 1).astype(float),
        ),
    }
    most = int(np.bincount(scored.numbers[scored.answerable]).max(initial=0))
    return AbstentionRates(
        **{group: _shares(line) for group, line in table.lines.items()},
        **{name: float(flag.mean()) if len(flag) else None for name, (_, flag) in flags.items()},
        **{f"{name}_n": len(flag) for name, (_, flag) in flags.items()},
        intervals={name: rate_interval(*pairs, most) for name, pairs in flags.items()},
    )


def _shares(counts: AbstentionCounts) -> AbstentionShares:
    """Return counts as shares; `None` where there is no answer."""
    total = counts.answered + counts.abstained
    if not total:
        return AbstentionShares(answered=None, abstained=None)
    return AbstentionShares(answered=counts.answered / total, abstained=counts.abstained / total)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean (with `math.fsum`) of the values that are not `None`, or `None` if none is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
