"""Aggregate the funnels of answers per category and for the whole run.

Repeats are averaged within their question, questions within their category, and the overall figure is the
unweighted mean of the categories, as for the other metrics. Each figure has its own denominator, because a
stage may be known only for some questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fathoms.metrics.aggregate import mean
from fathoms.metrics.columns import Column, Repeated, averaged
from fathoms.metrics.funnel import RunTexts, funnel
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.question_facts import NumberedQuestions, RecordFacts
from fathoms.metrics.score_records import RecordScore, Scores
from fathoms.metrics.stages import STAGES, Funnel, Stage
from fathoms.types import Record
from fathoms.types.run.figures import FunnelStage, FunnelStages, OverallStage, OverallStages, RunFunnel

if TYPE_CHECKING:
    from fathoms.metrics.columns import Codes


class _Stage(NamedTuple):
    """The recall at one stage by question, and what was lost and gained there."""

    recall: Column
    lost: Column
    gained: Column

    def take(self, places: Codes) -> _Stage:
        """Return the figures of the questions at some places."""
        return _Stage(*(column.take(places) for column in self))


def with_funnels(
    record: Record, row: Mapping[str, RecordScore], texts: RunTexts, known_stages: Collection[Stage]
) -> dict[str, RecordScore]:
    """Return the scores of one answer by profile, with a funnel added under each profile in `PROFILES`.

    No funnel is added if only the `answer` stage is known (`known_stages`).
    """
    scored = dict(row)
    for profile in PROFILES if set(known_stages) - {"answer"} else ():
        if score := scored.get(profile.name):
            rule = (profile.match, profile.hyphens_for(record))
            found = funnel(record, score.correctness, score.missed, texts, known_stages, *rule)
            scored[profile.name] = score.model_copy(update={"funnel": found})
    return scored


def summarise_funnels(records: Sequence[RecordFacts], scores: Scores) -> dict[str, RunFunnel]:
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


def _summary(records: Sequence[RecordFacts], funnels: Iterable[Funnel | None]) -> RunFunnel:
    """Summarise the funnels of one profile."""
    import numpy as np

    questions = NumberedQuestions()
    with_funnel = [(record, found) for record, found in zip(records, funnels, strict=True) if found]
    found = [funnel for _, funnel in with_funnel]
    numbers = np.array([questions.number(record.question) for record, _ in with_funnel], dtype=int)

    repeated = Repeated(found)

    def column(value: Callable[[Funnel], float | None]) -> Column:
        return averaged(questions, numbers, repeated.values(value))

    chance = column(lambda one: one.chance)
    places = chance.places()
    categories: dict[str, dict[Stage, FunnelStage]] = {name: {} for name in places}
    for stage in STAGES:  # one after another, because the columns of all take much memory
        figures = _Stage(*map(column, _at(stage)))
        for name, where in places.items():
            categories[name][stage] = _means(figures.take(where))
    # Repeats share the gold answer, so either all of them are left out or none.
    first = np.unique(numbers, return_index=True)[1]
    return RunFunnel(
        overall=_macro(list(categories.values())),
        categories={name: FunnelStages(**stages) for name, stages in categories.items()},
        left_out=dict(Counter(why for place in first if (why := found[place].left_out))),
        chance=chance.mean(),
    )


def _at(stage: Stage) -> tuple[Callable[[Funnel], float | None], ...]:
    """Return what looks up the figures of `_Stage` in a funnel."""
    return (
        lambda one: one.recall(stage),
        lambda one: one.lost.get(stage),
        lambda one: one.gained.get(stage),
    )


def _means(figures: _Stage) -> FunnelStage:
    """Average a stage over the questions of one category, with the number of questions behind each mean."""
    return FunnelStage(
        recall=figures.recall.mean(),
        n=figures.recall.count(),
        lost=figures.lost.mean(),
        gained=figures.gained.mean(),
        compared=figures.lost.count(),
    )


def _macro(categories: Sequence[Mapping[Stage, FunnelStage]]) -> OverallStages:
    """Return the unweighted means of the categories; question counts are added up."""
    return OverallStages(**{stage: _overall([group[stage] for group in categories]) for stage in STAGES})


def _overall(groups: Sequence[FunnelStage]) -> OverallStage:
    """Return the unweighted mean of one stage over the categories."""
    return OverallStage(
        recall=mean(group.recall for group in groups),
        lost=mean(group.lost for group in groups),
        gained=mean(group.gained for group in groups),
        n=sum(group.n for group in groups),
        compared=sum(group.compared for group in groups),
        categories=sum(group.n > 0 for group in groups),
        compared_categories=sum(group.compared > 0 for group in groups),
    )
