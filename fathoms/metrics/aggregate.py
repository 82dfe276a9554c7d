"""Aggregate the scores of records per category and for the whole run.

Repeats are averaged within their question, and questions within their category. The overall figure is the
unweighted mean of the category means (macro mean, as in Table II of FATHOMS-RAG); the mean over all
questions (micro mean) is reported next to it. A mean over no values is `None`. Nothing is rounded here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fathoms.metrics.intervals import Sample, mean_intervals, overall_intervals, rate_interval
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.score_records import RELEASED, RecordScore, Scores, Scoring
from fathoms.types import Question, Record

METRICS = ("correctness", "hallucination", "abstention")


class Row(NamedTuple):
    """A record and its score under one profile."""

    record: Record
    score: RecordScore


class QuestionMeans(NamedTuple):
    """The mean scores of one question over its repeats.

    A mean is `None` where the metric does not apply. `errors` counts failed calls, and `documents` are the
    question's gold documents.
    """

    category: str
    correctness: float | None
    hallucination: float | None
    abstention: float | None
    errors: int
    repeats: int
    documents: frozenset[str]


def summarise(records: Sequence[Record], scores: Scores) -> dict[str, dict[str, Any]]:
    """Return the figures of a run per profile: the `profiles` object of its summary.

    - `correctness` and `hallucination` are means over `n` and `hallucination_n` questions.
    - `abstention` is the abstention rate on answerable questions; failed calls and refusals are left out.
    - `intervals` holds the confidence interval of each mean, and `errors` the number of failed calls.
    - `abstention_table` counts answers by answerable or unanswerable question and by answered or abstained.
      `abstention_rates` holds the same as shares, plus coverage and selective accuracy. `labels` counts
      answers per label.
    - `classifier` is the abstention classifier of this profile. `classifier_key` is a fingerprint of
      everything that decides its labels, including the content of its exemplars and cues.
    """
    figures: dict[str, dict[str, Any]] = {}
    for name in scores.rows[0] if scores.rows else ():
        rows = [Row(record, row[name]) for record, row in zip(records, scores.rows, strict=True)]
        head = _head(next((profile for profile in PROFILES if profile.name == name), None), scores.scoring)
        figures[name] = {**head, **_figures(rows)}
        if name != RELEASED:
            figures[name]["labels"] = dict(Counter(score.abstention for _, score in rows if score.abstention))
            figures[name]["abstention_table"] = _abstention_table(rows)
            figures[name]["abstention_rates"] = {
                **_shares(figures[name]["abstention_table"]),
                **_abstention_rates(rows),
            }
    return figures


def _head(profile: Profile | None, scoring: Scoring) -> dict[str, Any]:
    """Return the rules behind a profile's figures; all are `None` for released scores, whose rules are
    unknown."""
    if profile is None:
        return {"match": None, "hyphens": None, "classifier": None, "classifier_key": None}
    classifier = profile.classifier(scoring.abstention)
    return {
        "match": profile.match,
        "hyphens": profile.hyphens,
        "classifier": classifier.model_dump(mode="json"),
        "classifier_key": classifier.key,
    }


def _figures(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the `overall` and `categories` figures; categories are in order of first appearance."""
    questions = _question_scores(rows)
    groups: dict[str, list[QuestionMeans]] = {}
    for question in questions:
        groups.setdefault(question.category, []).append(question)
    categories = {
        name: {**_means(group), "intervals": mean_intervals(_samples(group))}
        for name, group in groups.items()
    }
    micro = _means(questions)
    macro = {metric: mean(category[metric] for category in categories.values()) for metric in METRICS}
    overall = {
        **micro,
        **macro,
        "micro_correctness": micro["correctness"],
        "micro_hallucination": micro["hallucination"],
        "micro_abstention": micro["abstention"],
        "intervals": overall_intervals([_samples(group) for group in groups.values()]),
    }
    return {"overall": overall, "categories": categories}


def _question_scores(rows: Iterable[Row]) -> list[QuestionMeans]:
    """Average the repeats: one value per question and metric."""
    repeats: dict[str, list[Row]] = {}
    for row in rows:
        repeats.setdefault(row.record.question.id, []).append(row)
    return [_question_score(group[0].record.question, group) for group in repeats.values()]


def _question_score(question: Question, rows: Sequence[Row]) -> QuestionMeans:
    """Average the repeats of one question."""
    return QuestionMeans(
        category=question.category,
        correctness=mean(row.score.correctness for row in rows),
        hallucination=mean(row.score.hallucination for row in rows),
        abstention=mean(row.score.abstained for row in rows) if question.answerable else None,
        errors=sum(row.record.error is not None for row in rows),
        repeats=len(rows),
        documents=frozenset(item.document for item in question.evidence) or frozenset(question.files),
    )


def _samples(questions: Iterable[QuestionMeans]) -> dict[str, list[Sample]]:
    """Return the values of each metric, one per question to which it applies."""
    samples: dict[str, list[Sample]] = {metric: [] for metric in METRICS}
    for question in questions:
        for metric, known in samples.items():
            if (value := getattr(question, metric)) is not None:
                known.append(Sample(value, question.repeats > 1, question.documents))
    return samples


def _means(questions: Sequence[QuestionMeans]) -> dict[str, Any]:
    """Return the means over some questions, with the number of questions behind each mean."""
    return {
        "correctness": mean(question.correctness for question in questions),
        "hallucination": mean(question.hallucination for question in questions),
        "abstention": mean(question.abstention for question in questions),
        "n": sum(question.correctness is not None for question in questions),
        "hallucination_n": sum(question.hallucination is not None for question in questions),
        "errors": sum(question.errors for question in questions),
    }


def _abstention_table(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Count answers by answerable or not and by answered or abstained; failed calls and refusals are not
    counted."""
    table = {name: {"answered": 0, "abstained": 0} for name in ("answerable", "unanswerable")}
    for record, score in rows:
        if score.abstained is not None:
            line = table["answerable" if record.question.answerable else "unanswerable"]
            line["abstained" if score.abstained else "answered"] += 1
    return table


def _shares(table: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float | None]]:
    """Return each cell of the abstention table as a share of its row, or `None` if the row is empty."""
    return {
        name: {
            cell: number / sum(line.values()) if any(line.values()) else None for cell, number in line.items()
        }
        for name, line in table.items()
    }


def _abstention_rates(rows: Iterable[Row]) -> dict[str, Any]:
    """Compute coverage and selective accuracy, as in selective prediction (El-Yaniv and Wiener 2010).

    `coverage` is the share of answers to answerable questions that do not abstain. `selective_accuracy` is
    the share of those that are fully correct (correctness 1). Failed calls and refusals count in neither.
    `<rate>_n` is the number of answers in the denominator; the rate is `None` if that is 0. `intervals` are
    Wilson intervals with the number of questions as n, which is conservative if questions were repeated.
    """
    known = [row for row in rows if row.record.question.answerable and row.score.abstained is not None]
    answered = [row for row in known if not row.score.abstained and row.score.correctness is not None]
    flags = {
        "coverage": [(row.record.question.id, not row.score.abstained) for row in known],
        "selective_accuracy": [(row.record.question.id, row.score.correctness == 1) for row in answered],
    }
    rates: dict[str, Any] = {name: mean(flag for _, flag in pairs) for name, pairs in flags.items()}
    intervals = {
        name: rate_interval(rates[name], len({question for question, _ in pairs}), len(pairs))
        if pairs
        else None
        for name, pairs in flags.items()
    }
    return {**rates, **{f"{name}_n": len(pairs) for name, pairs in flags.items()}, "intervals": intervals}


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not `None` (summed with `math.fsum`), or `None` if there are
    none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
