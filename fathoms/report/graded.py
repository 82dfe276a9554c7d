"""The answers of a run as tables of several runs count them: correct, partly correct or incorrect.

By a judge's grade from 0 to 10, 7 or more is correct and 3 or less is incorrect. Where a run has no grade,
phrase recall decides: 1 is correct and 0 is incorrect. A failed call is incorrect. Unanswerable questions and
answers without a verdict are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fathoms.metrics.names import CORRECT, WRONG
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.runs.run import Run
from fathoms.runs.views import scored_question
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.rows import ScoredQuestion, ScoredRepeat

KINDS = ("correct", "partial", "incorrect")
JUDGED = "correctness-judged"
_KEYS = {"language": "language", "doc_type": "document type"}

Group = tuple[int, str]
"""A group of questions: its place among the kinds of groups, and its name."""


@dataclass(frozen=True)
class Graded:
    """A question with the mean grades of its answers: the share that is correct, partly correct and
    incorrect, and the share of the answers with a label that abstain; `None` if none has one."""

    id: str
    documents: frozenset[str]
    groups: frozenset[Group]
    shares: Mapping[str, float]
    abstained: float | None = None


def graded_questions(
    run: Run, *, judged: bool, profile: str | None = None, variants: bool = False
) -> Iterator[Graded]:
    """Yield the questions of a run that have a graded answer; `profile` is by default the one shown first.
    Variants whose originals were asked, too, are left out unless `variants` is set."""
    left_out = frozenset[str]() if variants else run.manifest.data.variant_ids
    profile = run.profile(profile)
    for view in run.views():
        question = scored_question(view)
        found = [_kind(repeat, profile, judged=judged) for repeat in question.repeats]
        known = [kind for kind in found if kind is not None]
        if known and question.question.answerable and question.question.id not in left_out:
            shares = {kind: known.count(kind) / len(known) for kind in KINDS}
            item = question.question
            flags = [repeat.under(profile).abstained for repeat in question.repeats]
            labelled = [float(flag) for flag in flags if flag is not None]
            abstained = fmean(labelled) if labelled else None
            groups = frozenset(_groups(question))
            yield Graded(item.id, item.gold_documents, groups, shares, abstained)


def _kind(repeat: ScoredRepeat, profile: str, *, judged: bool) -> str | None:
    """Return whether an answer is correct, partly correct or incorrect; `None` if it is not graded."""
    if repeat.error is not None:
        return "incorrect"
    if judged:
        score = repeat.metrics.get(JUDGED)
        if score is None or (value := score.get("value")) is None:
            return None
        return "correct" if value == 1 else "partial" if score.get("parts", {}).get("partly") else "incorrect"
    recall = repeat.scores[profile].correctness if profile in repeat.scores else None
    if recall is None:
        return None
    return "correct" if recall == 1 else "incorrect" if recall == 0 else "partial"


def _groups(view: ScoredQuestion) -> Iterator[Group]:
    """Yield the groups of a question: all, its hops, and its language, type of document and modalities."""
    question = view.question
    yield 0, "all"
    hops = max(len(gold_of(question).hops), question.hops or 1, len(question.steps))
    yield 1, "single hop" if hops == 1 else "multi hop"
    for place, (key, name) in enumerate(_KEYS.items(), start=2):
        if (value := question.metadata.get(key)) is not None:
            yield place, f"{name} {value}"
    modalities = {item.modality for item in question.evidence if item.modality}
    if not modalities and (value := question.metadata.get("modality")) is not None:
        modalities = {str(value)}
    for modality in modalities:
        yield 9, f"modality {modality}"


def by_which(runs: Sequence[Run]) -> tuple[bool, str]:
    """Return whether all runs have grades of a judge, and a sentence on what correct and incorrect mean."""
    judged = all(JUDGED in run.summary.metrics for run in runs)
    by = f"by the judge's grade ({CORRECT} or more, {WRONG} or less)" if judged else "by phrase recall (1, 0)"
    return judged, f"correct and incorrect {by}"


def mean_figure(values: Sequence[tuple[Graded, float]]) -> Mapping[str, Any] | None:
    """Return the mean of the values of questions with its interval, as `value`, `low`, `high` and `n`; `None`
    without any."""
    if not values:
        return None
    from fathoms.metrics.columns import column_of
    from fathoms.metrics.pooling import pooled

    scores = [("", one.documents, [value]) for one, value in values]
    found: Mapping[str, Any] = pooled(column_of(scores), "questions", "share").overall.plain()
    return found


def figure_text(found: Mapping[str, Any] | None) -> str:
    """Format a figure of `mean_figure` with its interval: `0.29 [0.16, 0.44]`, `n/a` without one."""
    if found is None:
        return "n/a"
    low, high = found.get("low"), found.get("high")
    return figure(found["value"]) + bracket(None if low is None or high is None else (low, high))


def of_one_sweep(runs: Sequence[Run]) -> bool:
    """Return whether some runs were made by one command."""
    ids = {run.manifest.sweep.id for run in runs}
    return len(ids) == 1 and None not in ids
