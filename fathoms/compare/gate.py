"""Successive runs against a baseline: has the pipeline become worse?

`stats.gate` says how the verdict comes about; here runs become its numbers. A `Gated` is plain data: the
command line prints it, and whatever reports test cases can take its checks one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathoms.compare.question_scores import (
    HIGHER_IS_BETTER,
    Matched,
    QuestionScores,
    match,
    names,
    require_alike,
)
from fathoms.errors import DataError, UsageError

if TYPE_CHECKING:
    from fathoms.stats.difference import Paired
    from fathoms.stats.gate import Check, Verdict


@dataclass(frozen=True)
class GateNight:
    """One run against the baseline: the difference, turned round where lower is better, so that negative is
    worse; one-sided bounds; p of "not worse"; how many questions it was judged on, and those that were left
    out because the metric does not apply on both sides."""

    delta: float
    low: float
    high: float
    p: float
    questions: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class GateCheck:
    """One metric, over all categories (macro) or in one.

    `nights` has a line for each run, oldest first. `p` is Holm's over all checks, `questions` how many the
    newest run was judged on, `needed` about how many would let an unchanged pipeline pass in 80 % of all
    nights (`None` for a margin of 0).
    """

    metric: str
    category: str | None
    verdict: Verdict
    nights: tuple[GateNight, ...]
    p: float
    questions: int
    needed: int | None


@dataclass(frozen=True)
class Gated:
    """The verdict of a gate, and what it was asked; `judge` told abstentions from statements."""

    verdict: Verdict
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    profile: str
    judge: str
    margin: float
    alpha: float
    checks: tuple[GateCheck, ...]


@dataclass(frozen=True)
class _Family:
    """One check to be: its runs against the baseline, and what each was judged on."""

    metric: str
    category: str | None
    pairs: tuple[Paired, ...]
    matched: tuple[Matched, ...]


def gate(
    runs: Sequence[QuestionScores],
    baseline: QuestionScores,
    metrics: Sequence[str],
    *,
    margin: float,
    alpha: float,
    by_category: bool = False,
    allowed: Callable[[int], float] = lambda asked: 0,
) -> Gated:
    """Judge successive runs, oldest first, against a baseline.

    `allowed` says how many of n calls may have failed. Raises UsageError for a margin or an alpha that
    cannot be, or a run that is its own baseline, and DataError where a verdict would say nothing: too many
    failures, other questions, another profile, replies that an earlier run gave.
    """
    from fathoms.stats.gate import judge, overall

    _check_call(runs, baseline, margin, alpha)
    require_sound(baseline, allowed)
    for run in runs:
        _check_cache(run)
        _check_failures(run, allowed)
        require_alike(baseline, run, metrics)
    families = [
        _family(runs, baseline, metric, scope)
        for metric in metrics
        for scope in (None, *(_categories(baseline, metric) if by_category else ()))
    ]
    checks = judge([family.pairs for family in families], margin, alpha)
    return Gated(
        verdict=overall(checks),
        runs=tuple(run.runs[0] for run in runs),
        baseline=baseline.runs,
        profile=baseline.profile,
        judge=baseline.judge,
        margin=margin,
        alpha=alpha,
        checks=tuple(
            _told(family, check, margin, alpha) for family, check in zip(families, checks, strict=True)
        ),
    )


def _told(family: _Family, check: Check, margin: float, alpha: float) -> GateCheck:
    """A check with what its figures rest on."""
    from fathoms.stats.gate import questions_needed

    questions = len(family.matched[-1].ids)
    return GateCheck(
        family.metric,
        family.category,
        check.verdict,
        tuple(
            GateNight(night.delta, night.low, night.high, night.p, len(found.ids), found.left_out)
            for night, found in zip(check.nights, family.matched, strict=True)
        ),
        check.p,
        questions,
        questions_needed(family.pairs[-1], questions, margin, alpha),
    )


def require_sound(baseline: QuestionScores, allowed: Callable[[int], float]) -> None:
    """Raise DataError for a baseline that a gate would refuse: too many failures, or replies from a cache
    that would be counted as repeats."""
    if len(baseline.runs) > 1:
        _check_cache(baseline)
    _check_failures(baseline, allowed)


def _check_call(
    runs: Sequence[QuestionScores], baseline: QuestionScores, margin: float, alpha: float
) -> None:
    """Refuse what would give a verdict that means nothing."""
    if not 0 <= margin < 1:
        raise UsageError(f"--margin {margin}: want a difference from 0 to 1, such as 0.02")
    if not 0 < alpha < 0.5:
        raise UsageError(f"--alpha {alpha}: want a chance above 0 and below 0.5, such as 0.025")
    listed = [run.runs[0] for run in runs] + list(baseline.runs)
    if twice := [name for name in dict.fromkeys(listed) if listed.count(name) > 1]:
        raise UsageError(f"{twice[0]} is named twice: every run and every baseline must be another run")


def _check_cache(scores: QuestionScores) -> None:
    """A reply that was said before is no second opinion."""
    if scores.cached:
        raise DataError(
            f"{scores.cached} replies of {names(scores)} came from an earlier run's cache: they say"
            " nothing new; run it without --reuse-replies"
        )


def _check_failures(scores: QuestionScores, allowed: Callable[[int], float]) -> None:
    """A pipeline that was down is not a pipeline that got worse."""
    if scores.failed > allowed(scores.answers):
        raise DataError(
            f"{scores.failed} of {scores.answers} questions of {names(scores)} failed, more than"
            " --fail-on-error allows: no verdict"
        )


def _categories(scores: QuestionScores, metric: str) -> list[str]:
    """The categories to which a metric applies, in their order."""
    known = (question for question in scores.questions.values() if question.values[metric])
    return list(dict.fromkeys(question.category for question in known))


def _family(
    runs: Sequence[QuestionScores], baseline: QuestionScores, metric: str, category: str | None
) -> _Family:
    """The differences of one check, negative where a run is worse."""
    import numpy as np

    from fathoms.stats.difference import macro_weights, pair

    sign = 1 if HIGHER_IS_BETTER[metric] else -1
    wanted = [name for name, q in baseline.questions.items() if category in (None, q.category)]
    matched = tuple(match(baseline, run, metric, wanted) for run in runs)
    pairs = []
    for found in matched:
        codes = np.unique(np.array(found.categories), return_inverse=True)[1]
        differences = sign * (np.array(found.second) - np.array(found.first))
        pairs.append(pair(differences, macro_weights(codes)))
    return _Family(metric, category, tuple(pairs), matched)
