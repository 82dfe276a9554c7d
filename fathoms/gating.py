"""Successive runs against a baseline: has the pipeline become worse?

`stats.gate` says how the verdict comes about; here runs become its numbers. A `Gated` is plain data: the
command line prints it, and whatever reports test cases can take its checks one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathoms.errors import DataError, UsageError
from fathoms.question_scores import HIGHER_IS_BETTER, QuestionScores, match, names, require_alike

if TYPE_CHECKING:
    from fathoms.stats.difference import Paired
    from fathoms.stats.gate import Night, Verdict


@dataclass(frozen=True)
class GateCheck:
    """One metric, over all categories (macro) or in one.

    `nights` has a line for each run, oldest first: the difference to the baseline, turned round where lower
    is better, so that negative is worse; one-sided bounds; p. `p` is Holm's over all checks, `questions`
    how many the newest run was judged on, `needed` about how many would let an unchanged pipeline pass in
    80 % of all nights (`None` for a margin of 0).
    """

    metric: str
    category: str | None
    verdict: Verdict
    nights: tuple[Night, ...]
    p: float
    questions: int
    needed: int | None
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Gated:
    """The verdict of a gate, and what it was asked."""

    verdict: Verdict
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    profile: str
    margin: float
    alpha: float
    checks: tuple[GateCheck, ...]


@dataclass(frozen=True)
class _Family:
    """One check to be: its runs against the baseline, and what the newest was judged on."""

    metric: str
    category: str | None
    pairs: tuple[Paired, ...]
    questions: int
    left_out: tuple[str, ...]


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
    from fathoms.stats.gate import judge, overall, questions_needed

    _check_call(runs, baseline, margin, alpha)
    for scores in (*runs, baseline):
        _check_failures(scores, allowed)
    for run in runs:
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
        margin=margin,
        alpha=alpha,
        checks=tuple(
            GateCheck(
                family.metric,
                family.category,
                check.verdict,
                check.nights,
                check.p,
                family.questions,
                questions_needed(family.pairs[-1], family.questions, margin, alpha),
                family.left_out,
            )
            for family, check in zip(families, checks, strict=True)
        ),
    )


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
    for scores in runs if len(baseline.runs) == 1 else (*runs, baseline):
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
    pairs = []
    for run in runs:
        matched = match(baseline, run, metric, wanted)
        codes = np.unique(np.array(matched.categories), return_inverse=True)[1]
        differences = sign * (np.array(matched.second) - np.array(matched.first))
        pairs.append(pair(differences, macro_weights(codes)))
    return _Family(metric, category, tuple(pairs), len(matched.ids), matched.left_out)
