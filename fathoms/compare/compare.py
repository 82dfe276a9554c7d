"""Compare several runs with the first of them, with scores paired by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from fathoms.compare.question_scores import (
    Matched,
    QuestionScores,
    match,
    names,
    require_rules,
)
from fathoms.errors import UsageError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.05
"""The significance level of a comparison, shared by all its tests."""


@dataclass(frozen=True)
class Effect:
    """The means of two runs over `n` questions, their difference (second minus first), its 95 % interval."""

    n: int
    first: float
    second: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Flip:
    """A question on which the scores of the two runs differ."""

    question: str
    first: float
    second: float


@dataclass(frozen=True)
class Tested:
    """The comparison of one run with the first on one metric.

    - `overall` is the effect on the macro mean, `micro` the effect on the mean over all questions.
    - `p` is the p value of `test`, and `p_holm` is `p` after Holm's correction over all tests of the
      comparison. `detectable` is the smallest difference that these data could have shown. These refer to
      `overall`, or to `micro` if the test is McNemar's.
    - `wins` counts the questions on which the second run is better.
    - `left_out` are the questions for which the metric is not defined in both runs.
    """

    run: str
    metric: str
    overall: Effect
    micro: Effect
    categories: dict[str, Effect]
    test: Literal["sign-flip", "mcnemar"]
    p: float
    p_holm: float
    detectable: float
    wins: int
    losses: int
    ties: int
    flips: tuple[Flip, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Unshared:
    """The questions that were not compared: asked in only one run, or with another text, category or gold
    answer (`changed`)."""

    run: str
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class AnswerCounts:
    """How many answers a run was asked for, how many calls failed, and how many replies were reused; and the
    versions that the service behind its pipeline had."""

    run: str
    answers: int
    failed: int
    cached: int
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Runs compared with the run `first` under one profile; `judge` is its abstention classifier."""

    first: str
    profile: str
    judge: str
    runs: tuple[AnswerCounts, ...]
    tests: tuple[Tested, ...]
    unshared: tuple[Unshared, ...]


def compare(runs: Sequence[QuestionScores], metrics: Sequence[str]) -> Comparison:
    """Compare each run with the first, on the questions that both asked with the same gold answer.

    Raises UsageError if there are fewer than two runs or a run is given twice, and DataError if runs were
    scored by different rules or have no question in common.
    """
    from fathoms.stats.paired import holm

    for run in runs:
        for metric in metrics:
            run.kind_of(metric)  # raises UsageError
    if len({run.runs for run in runs}) < max(len(runs), 2):
        raise UsageError("a comparison needs two or more different runs")
    first, *others = runs
    for other in others:
        require_rules(first, other, metrics)
    corrected = ALPHA / (len(others) * len(metrics))
    tests = [_test(first, other, metric, corrected) for other in others for metric in metrics]
    adjusted = holm([test.p for test in tests])
    return Comparison(
        first=first.runs[0],
        profile=first.profile,
        judge=first.judge,
        runs=tuple(
            AnswerCounts(names(run), run.answers, run.failed, run.cached, run.versions) for run in runs
        ),
        tests=tuple(replace(test, p_holm=float(p)) for test, p in zip(tests, adjusted, strict=True)),
        unshared=tuple(_unshared(first, other) for other in others),
    )


def _unshared(first: QuestionScores, other: QuestionScores) -> Unshared:
    """Return the questions that the two runs do not share."""
    ours, theirs = first.questions, other.questions
    return Unshared(
        run=names(other),
        only_first=tuple(name for name in ours if name not in theirs),
        only_second=tuple(name for name in theirs if name not in ours),
        changed=tuple(name for name in ours if name in theirs and ours[name].gold != theirs[name].gold),
    )


def _test(first: QuestionScores, other: QuestionScores, metric: str, alpha: float) -> Tested:
    """Compare one metric of one pair of runs; `p_holm` is filled in later. `alpha` is the significance level
    after correction for the number of tests; it decides `detectable`."""
    import numpy as np

    from fathoms.stats.difference import macro_weights, pair
    from fathoms.stats.paired import mcnemar_p, sign_flip_p, smallest_detectable

    theirs = other.questions
    shared = [name for name, q in first.questions.items() if name in theirs and q.gold == theirs[name].gold]
    matched = match(first, other, metric, shared)
    differences = np.array(matched.second) - np.array(matched.first)
    # the tests and the score intervals are made for differences in [-1, 1]
    scale = 1.0 if first.kind_of(metric).unit == "share" else float(np.abs(differences).max()) or 1.0
    ups, downs = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (ups, downs) if first.higher_is_better(metric) else (downs, ups)
    macro, micro = macro_weights(_codes(matched.categories)), _alike(len(differences))
    # McNemar's test needs one hallucination flag (0 or 1) per question and run
    flags = metric == "hallucination" and all(
        len(side.questions[name].values[metric]) == 1 for side in (first, other) for name in matched.ids
    )
    weights = micro if flags else macro
    return Tested(
        run=names(other),
        metric=metric,
        overall=_effect(matched, np.arange(len(differences)), macro, scale),
        micro=_effect(matched, np.arange(len(differences)), micro, scale),
        categories=_by_category(matched, scale),
        test="mcnemar" if flags else "sign-flip",
        p=float(mcnemar_p(ups, downs)) if flags else sign_flip_p(differences / scale, weights),
        p_holm=1.0,
        detectable=smallest_detectable(scale * float(pair(differences / scale, weights).error), alpha),
        wins=wins,
        losses=losses,
        ties=len(differences) - ups - downs,
        flips=tuple(
            Flip(name, one, two)
            for name, one, two in zip(matched.ids, matched.first, matched.second, strict=True)
            if one != two
        ),
        left_out=matched.left_out,
    )


def _codes(categories: Sequence[str]) -> list[int]:
    """Number the categories from 0, in order of first appearance."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(categories))}
    return [numbers[name] for name in categories]


def _alike(n: int) -> NDArray[float64]:
    """Return equal weights that add up to 1."""
    import numpy as np

    return np.full(n, 1 / n)


def _by_category(matched: Matched, scale: float) -> dict[str, Effect]:
    """Compute the effect in each category."""
    import numpy as np

    codes = np.array(_codes(matched.categories))
    listed = dict.fromkeys(matched.categories)
    members = {name: np.flatnonzero(codes == code) for code, name in enumerate(listed)}
    return {name: _effect(matched, chosen, _alike(len(chosen)), scale) for name, chosen in members.items()}


def _effect(matched: Matched, members: NDArray[Any], weights: NDArray[float64], scale: float) -> Effect:
    """Compute the effect on the weighted mean over some questions. Differences are divided by `scale`, and
    their interval is multiplied by it."""
    import numpy as np

    from fathoms.stats.difference import bounds, pair
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    first: NDArray[float64] = np.array(matched.first)[members]
    second: NDArray[float64] = np.array(matched.second)[members]
    low, high = bounds(pair((second - first) / scale, weights), normal_quantile(CONFIDENCE))
    means = float(first @ weights), float(second @ weights)
    return Effect(
        len(members), *means, float((second - first) @ weights), float(low) * scale, float(high) * scale
    )
