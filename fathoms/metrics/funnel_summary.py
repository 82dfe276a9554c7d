"""Aggregate the funnels of answers per category and for the whole run.

Repeats are averaged within their question, questions within their category, and the overall figure is the
unweighted mean of the categories, as for the other metrics. Each figure has its own denominator, because a
stage may be known only for some questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fathoms.metrics.aggregate import mean, mean_of
from fathoms.metrics.asked import RecordFacts
from fathoms.metrics.funnel import RunTexts, funnel
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import RecordScore, Scores
from fathoms.metrics.stages import STAGES, Funnel, Stage
from fathoms.types import Record


class _Figures(NamedTuple):
    """The means over the repeats of one question at one stage; `None` where unknown."""

    recall: float | None
    lost: float | None
    gained: float | None


class _QuestionFunnel(NamedTuple):
    """The averaged funnel of one question; `stages` is empty if the question is left out."""

    category: str
    left_out: str | None
    chance: float | None
    stages: dict[Stage, _Figures]


def with_funnels(
    record: Record, row: Mapping[str, RecordScore], texts: RunTexts, known_stages: Collection[Stage]
) -> dict[str, RecordScore]:
    """Return the scores of one answer by profile, with a funnel added under each profile in `PROFILES`.

    No funnel is added if only the `answer` stage is known (`known_stages`).
    """
    made = dict(row)
    for profile in PROFILES if set(known_stages) - {"answer"} else ():
        if score := made.get(profile.name):
            rule = (profile.match, profile.hyphens_for(record))
            found = funnel(record, score.correctness, score.missed, texts, known_stages, *rule)
            made[profile.name] = score.model_copy(update={"funnel": found})
    return made


def summarise_funnels(records: Sequence[RecordFacts], scores: Scores) -> dict[str, dict[str, Any]]:
    """Return the funnel of a run by profile; empty if its answers have no funnels.

    - `overall` and `categories` hold for each stage the mean `recall` over `n` questions, and the mean `lost`
      and `gained` over the `compared` questions, for which this stage and the one before it are known.
    - `overall` also says over how many categories it averages: `categories` for recall, and
      `compared_categories` for losses and gains. Stages that average different categories do not add up.
    - `left_out` counts the questions left out per reason.
    - `chance` is the mean share of non-gold documents that contain the whole answer.
    """
    first = scores.rows[0] if scores.rows else {}
    names = [name for name, score in first.items() if score.funnel is not None]
    return {name: _summary(records, [row[name].funnel for row in scores.rows]) for name in names}


def _summary(records: Sequence[RecordFacts], funnels: Iterable[Funnel | None]) -> dict[str, Any]:
    """Summarise the funnels of one profile."""
    repeats: dict[str, list[tuple[RecordFacts, Funnel]]] = {}
    for record, found in zip(records, funnels, strict=True):
        if found is not None:
            repeats.setdefault(record.question.id, []).append((record, found))
    questions = []
    for group in repeats.values():
        # Repeats share the gold answer, so either all of them are left out or none.
        record, first = group[0]
        stages: dict[Stage, _Figures] = {}
        for stage in STAGES if not first.left_out else ():
            rows = [(f.recall(stage), f.lost.get(stage), f.gained.get(stage)) for _, f in group]
            stages[stage] = _Figures(*map(mean_of, zip(*rows, strict=True)))
        questions.append(_QuestionFunnel(record.question.category, first.left_out, first.chance, stages))
    groups: dict[str, list[_QuestionFunnel]] = {}
    for question in questions:
        groups.setdefault(question.category, []).append(question)
    categories = {name: _means(group) for name, group in groups.items()}
    return {
        "overall": _macro(list(categories.values())),
        "categories": categories,
        "left_out": dict(Counter(question.left_out for question in questions if question.left_out)),
        "chance": mean(question.chance for question in questions),
    }


def _means(questions: Sequence[_QuestionFunnel]) -> dict[Stage, dict[str, Any]]:
    """Average the stages of one category, with the number of questions behind each mean."""
    found = {}
    for stage in STAGES:
        figures = [question.stages[stage] for question in questions if question.stages]
        found[stage] = {
            "recall": mean(figure.recall for figure in figures),
            "n": sum(figure.recall is not None for figure in figures),
            "lost": mean(figure.lost for figure in figures),
            "gained": mean(figure.gained for figure in figures),
            "compared": sum(figure.lost is not None for figure in figures),
        }
    return found


def _macro(categories: Sequence[Mapping[Stage, Mapping[str, Any]]]) -> dict[Stage, dict[str, Any]]:
    """Return the unweighted means of the categories; question counts are added up."""
    return {
        stage: {
            **{key: mean(group[stage][key] for group in categories) for key in ("recall", "lost", "gained")},
            **{key: sum(group[stage][key] for group in categories) for key in ("n", "compared")},
            "categories": sum(group[stage]["n"] > 0 for group in categories),
            "compared_categories": sum(group[stage]["compared"] > 0 for group in categories),
        }
        for stage in STAGES
    }
