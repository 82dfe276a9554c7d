"""From the scores of records to those of categories and of a run.

Repeats are averaged within their question, questions within their category. The overall figure is the
unweighted mean of the category means (macro, as in FATHOMS-RAG's Table II); the mean over all questions
(micro) stands beside it. A mean over nothing is `None`. Nothing is rounded here.
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
    """One record and its score under one profile."""

    record: Record
    score: RecordScore


class QuestionScore(NamedTuple):
    """The means over the repeats of one question; `errors` counts those that failed, `documents` are those
    of its gold."""

    category: str
    correctness: float | None
    hallucination: float | None
    abstention: float | None
    errors: int
    repeats: int
    documents: frozenset[str]


def summarise(records: Sequence[Record], scores: Scores) -> dict[str, dict[str, Any]]:
    """Figures by profile, the `profiles` of a run's summary.

    `n` and `hallucination_n` are the questions that a correctness and a hallucination rate are a mean of;
    `abstention` is a share of the answerable questions that got an answer; `intervals` say how sure each
    mean is; `errors` counts failed calls. `abstention_table` counts answers: answerable or not by answered
    or abstained; `abstention_rates` are their shares, `labels` counts answers by label. `classifier` is what
    judged abstention under that very profile, and `classifier_key` names all that decided its labels:
    exemplars and cues too, wherever their files are.
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
    """How the figures of a profile were made; of released ones that is not known."""
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
    """`overall` and `categories`, these in the order in which they first appear."""
    questions = _question_scores(rows)
    groups: dict[str, list[QuestionScore]] = {}
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


def _question_scores(rows: Iterable[Row]) -> list[QuestionScore]:
    """One value a question and metric."""
    repeats: dict[str, list[Row]] = {}
    for row in rows:
        repeats.setdefault(row.record.question.id, []).append(row)
    return [_question_score(group[0].record.question, group) for group in repeats.values()]


def _question_score(question: Question, rows: Sequence[Row]) -> QuestionScore:
    """The means over the repeats of one question."""
    return QuestionScore(
        category=question.category,
        correctness=mean(row.score.correctness for row in rows),
        hallucination=mean(row.score.hallucination for row in rows),
        abstention=mean(row.score.abstained for row in rows) if question.answerable else None,
        errors=sum(row.record.error is not None for row in rows),
        repeats=len(rows),
        documents=frozenset(item.document for item in question.evidence) or frozenset(question.files),
    )


def _samples(questions: Iterable[QuestionScore]) -> dict[str, list[Sample]]:
    """By metric, what the questions to which it applies have."""
    samples: dict[str, list[Sample]] = {metric: [] for metric in METRICS}
    for question in questions:
        for metric, known in samples.items():
            if (value := getattr(question, metric)) is not None:
                known.append(Sample(value, question.repeats > 1, question.documents))
    return samples


def _means(questions: Sequence[QuestionScore]) -> dict[str, Any]:
    """The means over some questions, with what they are means of."""
    return {
        "correctness": mean(question.correctness for question in questions),
        "hallucination": mean(question.hallucination for question in questions),
        "abstention": mean(question.abstention for question in questions),
        "n": sum(question.correctness is not None for question in questions),
        "hallucination_n": sum(question.hallucination is not None for question in questions),
        "errors": sum(question.errors for question in questions),
    }


def _abstention_table(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Answers by answerable or not and answered or abstained; failed calls are in no cell."""
    table = {name: {"answered": 0, "abstained": 0} for name in ("answerable", "unanswerable")}
    for record, score in rows:
        if score.abstained is not None:
            line = table["answerable" if record.question.answerable else "unanswerable"]
            line["abstained" if score.abstained else "answered"] += 1
    return table


def _shares(table: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float | None]]:
    """Each cell of the abstention table as a share of its line, `None` where that is empty."""
    return {
        name: {
            cell: number / sum(line.values()) if any(line.values()) else None for cell, number in line.items()
        }
        for name, line in table.items()
    }


def _abstention_rates(rows: Iterable[Row]) -> dict[str, Any]:
    """Coverage and selective accuracy, as in selective prediction (El-Yaniv and Wiener 2010).

    `coverage` is the answered share of the answers to answerable questions, `selective_accuracy` the share
    of those answered that are fully right (correctness 1); failed calls and refusals are in neither.
    `<rate>_n` counts the answers that it is a share of; a share of none is `None`. The `intervals` are
    Wilson's for the questions behind them, conservative where these were asked again and again.
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
    """The mean of the values that apply, summed without rounding errors; `None` where there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
