"""Aggregate the scores of records per category and for the whole run.

Repeats are averaged within their question, and questions within their category. The overall figure is the
unweighted mean of the category means (macro mean, as in Table II of FATHOMS-RAG); the mean over all
questions (micro mean) is reported next to it. A mean over no values is `None`. Nothing is rounded here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fathoms.metrics.asked import RecordFacts
from fathoms.metrics.intervals import Sample, mean_intervals, overall_intervals, rate_interval
from fathoms.metrics.profiles import PROFILES, Profile
from fathoms.metrics.score_records import RELEASED, RecordScore, Scores, Scoring

METRICS = ("correctness", "hallucination", "abstention")


class ScoredRecord(NamedTuple):
    """A record and its score under one profile."""

    record: RecordFacts
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


def summarise(records: Sequence[RecordFacts], scores: Scores) -> dict[str, dict[str, Any]]:
    """Return the figures of a run per profile: the `profiles` object of its summary.

    - `correctness` and `hallucination` are means over `n` and `hallucination_n` questions.
    - `abstention` is the abstention rate on answerable questions; failed calls and refusals are left out.
    - Under `fathoms`, `hallucination_over` holds the rate over `all`, `answerable` and `unanswerable`
      questions.
    - `intervals` holds the confidence interval of each mean, and `errors` the number of failed calls.
    - `abstention_table` counts answers by answerable or unanswerable question and by answered or abstained.
      `abstention_rates` holds the same as shares, plus coverage and selective accuracy. `labels` counts
      answers per label.
    - `classifier` is the abstention classifier of this profile. `classifier_key` is a fingerprint of
      everything that decides its labels, including the content of its exemplars and cues.
    """
    figures: dict[str, dict[str, Any]] = {}
    for name in scores.rows[0] if scores.rows else ():
        rows = [ScoredRecord(record, row[name]) for record, row in zip(records, scores.rows, strict=True)]
        head = _head(next((profile for profile in PROFILES if profile.name == name), None), scores.scoring)
        figures[name] = {**head, **figures_of(rows, name)}
        if name != RELEASED:
            table = _abstention_table(rows)
            shares: dict[str, dict[str, float | None]] = {}
            for group, line in table.items():
                total = sum(line.values())
                shares[group] = {cell: n / total if total else None for cell, n in line.items()}
            figures[name]["labels"] = dict(Counter(score.abstention for _, score in rows if score.abstention))
            figures[name]["abstention_table"] = table
            figures[name]["abstention_rates"] = {**shares, **_abstention_rates(rows)}
    return figures


def _head(profile: Profile | None, scoring: Scoring) -> dict[str, Any]:
    """Return the rules behind a profile's figures; all `None` for released scores."""
    if profile is None:
        return {"match": None, "hyphens": None, "classifier": None, "classifier_key": None}
    classifier = profile.classifier(scoring.abstention)
    return {
        "match": profile.match,
        "hyphens": profile.hyphens,
        "classifier": classifier.model_dump(mode="json"),
        "classifier_key": classifier.key,
    }


def figures_of(rows: Sequence[ScoredRecord], profile: str) -> dict[str, Any]:
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
        **{f"micro_{metric}": micro[metric] for metric in METRICS},
        "intervals": overall_intervals({name: _samples(group) for name, group in groups.items()}),
    }
    figures: dict[str, Any] = {"overall": overall, "categories": categories}
    if profile == "fathoms":
        _add_denominators(figures, rows)
    return figures


def _question_scores(rows: Iterable[ScoredRecord]) -> list[QuestionMeans]:
    """Average the repeats: one value per question and metric."""
    repeats: dict[str, list[ScoredRecord]] = {}
    for row in rows:
        repeats.setdefault(row.record.question.id, []).append(row)
    found = []
    for group in repeats.values():
        question = group[0].record.question
        found.append(
            QuestionMeans(
                category=question.category,
                correctness=mean_of([row.score.correctness for row in group]),
                hallucination=mean_of([row.score.hallucination for row in group]),
                abstention=mean_of([row.score.abstained for row in group]) if question.answerable else None,
                errors=sum(row.record.error is not None for row in group),
                repeats=len(group),
                documents=question.gold_documents,
            )
        )
    return found


def _samples(questions: Iterable[QuestionMeans]) -> dict[str, list[Sample]]:
    """Return the values of each metric, one per question to which it applies."""
    samples: dict[str, list[Sample]] = {metric: [] for metric in METRICS}
    for question in questions:
        for metric, known in samples.items():
            if (value := getattr(question, metric)) is not None:
                known.append(Sample(value, question.documents))
    return samples


def _means(questions: Sequence[QuestionMeans]) -> dict[str, Any]:
    """Return the means over some questions, with the number of questions behind each mean."""
    return {
        **{metric: mean(getattr(question, metric) for question in questions) for metric in METRICS},
        "n": sum(question.correctness is not None for question in questions),
        "hallucination_n": sum(question.hallucination is not None for question in questions),
        "errors": sum(question.errors for question in questions),
    }


def _add_denominators(figures: dict[str, Any], rows: Iterable[ScoredRecord]) -> None:
    """Add `hallucination_over` to the overall figures and to those of each category.

    It holds the hallucination rate over `all`, over the `answerable` and over the `unanswerable` questions,
    as a mean over these questions (`value`) with their number (`n`). Failed calls, and answerable questions
    without gold phrases, are in no denominator.
    """
    grouped: dict[bool, list[ScoredRecord]] = {True: [], False: []}
    for row in rows:
        grouped[row.record.question.answerable].append(row)
    parts = {"answerable": _question_scores(grouped[True]), "unanswerable": _question_scores(grouped[False])}
    parts = {"all": [*parts["answerable"], *parts["unanswerable"]], **parts}
    for category, found in ((None, figures["overall"]), *figures["categories"].items()):
        found["hallucination_over"] = {}
        for name, questions in parts.items():
            rates = [one.hallucination for one in questions if category in (None, one.category)]
            known = sum(rate is not None for rate in rates)
            found["hallucination_over"][name] = {"value": mean(rates), "n": known}


def _abstention_table(rows: Iterable[ScoredRecord]) -> dict[str, dict[str, int]]:
    """Count answers by answerable and by abstained, without failed calls and refusals."""
    table = {name: {"answered": 0, "abstained": 0} for name in ("answerable", "unanswerable")}
    for record, score in rows:
        if score.abstained is not None:
            line = table["answerable" if record.question.answerable else "unanswerable"]
            line["abstained" if score.abstained else "answered"] += 1
    return table


def _abstention_rates(rows: Sequence[ScoredRecord]) -> dict[str, Any]:
    """Compute coverage and selective accuracy, as in selective prediction (El-Yaniv and Wiener 2010).

    `coverage` is the share of answers to answerable questions that do not abstain. `selective_accuracy` is
    the share of those that are fully correct (correctness 1). Failed calls and refusals count in neither.
    `<rate>_n` is the number of answers in the denominator; the rate is `None` if that is 0. The `n` of the
    `intervals` is the number of questions.
    """
    known = [row for row in rows if row.record.question.answerable and row.score.abstained is not None]
    answered = [row for row in known if not row.score.abstained and row.score.correctness is not None]
    flags = {
        "coverage": [(row.record.question.id, not row.score.abstained) for row in known],
        "selective_accuracy": [(row.record.question.id, row.score.correctness == 1) for row in answered],
    }
    rates: dict[str, Any] = {name: mean(flag for _, flag in pairs) for name, pairs in flags.items()}
    repeats = Counter(row.record.question.id for row in rows if row.record.question.answerable)
    most = max(repeats.values(), default=0)
    intervals = {name: rate_interval(pairs, most) for name, pairs in flags.items()}
    return {**rates, **{f"{name}_n": len(pairs) for name, pairs in flags.items()}, "intervals": intervals}


def mean_of(repeats: Sequence[float | None]) -> float | None:
    """Return the `mean` over the repeats of a question, quickly where there is one, as usual."""
    if len(repeats) == 1:
        return None if repeats[0] is None else float(repeats[0])
    return mean(repeats)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean (with `math.fsum`) of the values that are not `None`, or `None` if none is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
