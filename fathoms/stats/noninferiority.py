"""Decide the verdict of a gate: is a pipeline worse than its baseline, not worse, or is it undecided?

All scores are in [0, 1], and higher is better.

- FAIL: the loss of each pooled run is at least the margin, and the same pipeline would hardly ever lose so
  much by chance. Three tests look at the newest run, at the last two pooled, and at the last three pooled
  (`LEVELS`), each by `pooled_p`. A fourth one (`lost_p`) serves small sets with a baseline of one run, for
  which no permutation test can reach these levels.
- PASS: the loss of the newest run is shown to be smaller than the margin (lower bound above -margin).
- UNDECIDED: neither of these; the questions are not enough to tell.

A gate fails if any of its checks fails, so the p values of FAIL are corrected by Holm's method. It passes
only if all checks pass, so each of them can use the whole alpha (intersection-union test).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri

from fathoms.stats.difference import bounds, macro_weights, pair
from fathoms.stats.paired import holm
from fathoms.stats.pooled import pooled_p

GateVerdict = Literal["PASS", "FAIL", "UNDECIDED"]
LEVEL = 0.001
"""The p value below which a check fails, on the scale to which the p values of all its tests are brought."""
LEVELS = (0.001, 0.0015, 0.001)
"""The levels of the tests of the newest run, of the last two pooled and of the last three pooled."""
LOST_LEVEL = 0.005
"""The level of `lost_p`."""
FEW = 10
"""With at least so many right answers of the baseline, `lost_p` is not used."""
WAVERING = 0.25
"""The share of right answers that `lost_p` assumes the same pipeline to lose by chance, at most."""

Test = Literal["the newest run", "the last two runs", "the last three runs", "the right answers lost"]
"""What a test of one check looks at."""

Scores = tuple[float, ...]
"""The scores of the answers to one question, one for each repeat; empty where a metric is not defined."""


@dataclass(frozen=True)
class Answers:
    """The scores that one check rests on, higher is better, in [0, 1].

    `strata` numbers the category of each question from 0, `baseline` holds its scores in the baseline, and
    `nights` its scores in each run, oldest first.
    """

    strata: tuple[int, ...]
    baseline: tuple[Scores, ...]
    nights: tuple[tuple[Scores, ...], ...]

    def compared(
        self, last: int = 1, end: int | None = None
    ) -> tuple[list[Scores], list[Scores], NDArray[np.int64]]:
        """Return the scores of the baseline, those of some runs pooled, and the categories numbered again, of
        the questions with scores on both sides. The runs are the `last` ones before the one numbered `end`.
        """
        end = len(self.nights) if end is None else end
        pooled = [sum(parts, ()) for parts in zip(*self.nights[end - last : end], strict=True)]
        both = [place for place, scores in enumerate(pooled) if scores and self.baseline[place]]
        codes = np.unique([self.strata[place] for place in both], return_inverse=True)[1]
        return [self.baseline[place] for place in both], [pooled[place] for place in both], codes


@dataclass(frozen=True)
class Night:
    """One run compared with the baseline: the difference of the means, its one-sided bounds, and the p value
    of the hypothesis "not worse" by `pooled_p`."""

    delta: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Check:
    """The verdict on one metric, with the figures of each run, oldest first.

    `tests` are the p values of the newest run, of the last two pooled and of the last three pooled, as far as
    there are so many runs. `lost` counts the right answers of a small baseline of one run and how many of
    them the newest run lost, `None` where that is not looked at. `alone` is the smallest p value of the tests
    whose runs all lost the margin, on the scale of `LEVEL`, `p` the same after Holm's correction over all
    checks, and `by` the test that gave it, `None` if no run lost the margin.
    """

    verdict: GateVerdict
    nights: tuple[Night, ...]
    tests: tuple[float, ...]
    lost: tuple[int, int] | None
    alone: float
    p: float
    by: Test | None


def judge(
    checks: Sequence[Answers],
    margin: float | Sequence[float],
    alpha: float | Sequence[float],
    passing: Sequence[float] | None = None,
) -> list[Check]:
    """Return a verdict for each check.

    `margin` is that of all checks, or one for each. `alpha` is the accepted chance of PASS for a loss as
    large as the margin, of all checks or of each. `passing` are the margins of PASS, if they are others.
    """
    margins = [margin] * len(checks) if isinstance(margin, int | float) else margin
    alphas = [alpha] * len(checks) if isinstance(alpha, int | float) else alpha
    found = [
        _check(answers, margin, float(ndtri(1 - alpha)))
        for answers, margin, alpha in zip(checks, margins, alphas, strict=True)
    ]
    adjusted = holm([check.p for check in found])
    return [
        replace(check, verdict=_verdict(check, float(p), margin), p=float(p))
        for check, p, margin in zip(found, adjusted, passing or margins, strict=True)
    ]


def overall(checks: Sequence[Check]) -> GateVerdict:
    """Return FAIL if any check fails, PASS if all pass, and UNDECIDED otherwise."""
    verdicts = {check.verdict for check in checks}
    if "FAIL" in verdicts:
        return "FAIL"
    return "PASS" if verdicts == {"PASS"} else "UNDECIDED"


def lost_p(answers: Answers) -> tuple[int, int, float] | None:
    """Return how many answers of the baseline are right, how many of these the newest run lost, and the p
    value of that; `None` unless there is one baseline answer to each question and fewer than `FEW` are right.

    Right means a score above one half. The p value is the probability that at least so many are lost if each
    is lost with a probability of `WAVERING`. This is an assumption, not a measurement: where the same
    pipeline loses more of its right answers from run to run, the test gives false alarms.
    """
    ours, theirs, _ = answers.compared()
    if any(len(scores) > 1 for scores in ours):
        return None
    right = [now for before, now in zip(ours, theirs, strict=True) if before[0] > 0.5]
    lost = sum(_mean(now) <= 0.5 for now in right)
    if not 0 < len(right) < FEW:
        return None
    return len(right), lost, float(bdtrc(lost - 1, len(right), WAVERING)) if lost else 1.0


def _check(answers: Answers, margin: float, z: float) -> Check:
    """Compute the figures of one check; its verdict is decided after the correction."""
    nights = tuple(_night(answers, end, z) for end in range(1, len(answers.nights) + 1))
    tests = [nights[-1].p]
    for last in range(2, min(len(nights), len(LEVELS)) + 1):
        ours, theirs, strata = answers.compared(last)
        tests.append(pooled_p(ours, theirs, macro_weights(strata).tolist()))
    scaled: list[tuple[float, Test]] = [
        (p * LEVEL / level, name)
        for last, (p, level, name) in enumerate(zip(tests, LEVELS, get_args(Test), strict=False), 1)
        if all(night.delta <= -margin for night in nights[-last:])
    ]
    few = lost_p(answers)
    if few is not None and nights[-1].delta <= -margin:
        scaled.append((few[2] * LEVEL / LOST_LEVEL, "the right answers lost"))
    p, by = min(scaled, default=(1.0, None))
    return Check("UNDECIDED", nights, tuple(tests), few and few[:2], p, p, by)


def _night(answers: Answers, end: int, z: float) -> Night:
    """Compute the figures of one run."""
    ours, theirs, strata = answers.compared(end=end)
    weights = macro_weights(strata)
    differences = [_mean(now) - _mean(before) for before, now in zip(ours, theirs, strict=True)]
    found = pair(differences, weights)
    low, high = bounds(found, z)
    return Night(float(found.mean), float(low), float(high), pooled_p(ours, theirs, weights.tolist()))


def _mean(scores: Scores) -> float:
    """Return the mean of a question's scores; numpy takes microseconds for each question."""
    return scores[0] if len(scores) == 1 else float(np.mean(scores))


def _verdict(check: Check, p: float, margin: float) -> GateVerdict:
    """Decide one check; `p` is its p value after the correction."""
    if p < LEVEL:
        return "FAIL"
    return "PASS" if check.nights[-1].low > -margin else "UNDECIDED"
