"""Classifies the outcome of one question in one run, over all its repeats."""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.runs.question_tables import mean
from fathoms.types.run.rows import AnswerScores, ScoredQuestion


def outcome(view: ScoredQuestion, scores: Sequence[AnswerScores]) -> str:
    """Return the outcome of a question; `scores` holds those of each repeat under one profile.

    If repeats disagree, correctness is their mean, and the question counts as abstained if at least half of
    the repeats with a known abstention label abstained.
    """
    if all(repeat.only_searched for repeat in view.repeats):
        return "only searched for"
    if all(repeat.error for repeat in view.repeats):
        return "error"
    if all(repeat.answer.refusal is not None for repeat in view.repeats if repeat.answer):
        return "refused"
    correctness = mean([row.correctness for row in scores])
    abstained = mean([row.abstained for row in scores])  # the share of repeats with a known label
    if not view.question.answerable:
        if abstained is None:
            return "not scored"
        return "right to abstain" if abstained >= 0.5 else "answered the unanswerable"
    if correctness is None:  # for example a gold answer that is only a text
        return "abstained" if abstained is not None and abstained >= 0.5 else "not scored"
    if correctness == 0:
        return "abstained" if abstained is not None and abstained >= 0.5 else "wrong"
    return "correct" if correctness == 1 else "partial"


def lost_at(scores: Sequence[AnswerScores]) -> str | None:
    """Return the stage that lost most of the gold answer, the earliest if several tie; `None` if nothing was
    lost or no funnel is known."""
    losses: dict[str, float] = {}
    for row in scores:
        for stage, value in row.funnel.lost.items() if row.funnel else ():
            losses[stage] = losses.get(stage, 0.0) + value
    worst = max(losses, key=losses.__getitem__, default=None)
    return worst if worst is not None and losses[worst] > 0 else None
