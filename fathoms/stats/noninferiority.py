"""Decide the verdict of a gate: is a pipeline worse than its baseline, not worse, or is it undecided?

Differences are candidate minus baseline, with the sign reversed for metrics where lower is better: negative
always means worse.

- FAIL: every run is significantly worse (upper bound below 0), and by at least the margin.
- PASS: any loss of the newest run is shown to be smaller than the margin (lower bound above -margin).
- UNDECIDED: neither of these; the questions are not enough to tell.

A gate fails if any of its checks fails, so the p values of FAIL are corrected by Holm's method. It passes
only if all checks pass, so each of them can use the whole alpha (intersection-union test).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from fathoms.stats.difference import Paired, bounds, worse_p
from fathoms.stats.paired import holm

GateVerdict = Literal["PASS", "FAIL", "UNDECIDED"]
POWER = 0.8
"""The probability of passing that `questions_needed` asks for."""


@dataclass(frozen=True)
class Night:
    """One run compared with the baseline: the difference, its one-sided bounds, and the p value of the
    hypothesis "not worse"."""

    delta: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Check:
    """The verdict on one metric, with the figures of each run, oldest first.

    `p` is the largest p value of the runs, after Holm's correction over all checks.
    """

    verdict: GateVerdict
    nights: tuple[Night, ...]
    p: float


def judge(checks: Sequence[Sequence[Paired]], margin: float | Sequence[float], alpha: float) -> list[Check]:
    """Return a verdict for each check.

    `checks` holds for each check the differences of successive runs from one baseline, oldest first. `margin`
    is that of all checks, or one for each.
    """
    margins = [margin] * len(checks) if isinstance(margin, int | float) else margin
    z = float(ndtri(1 - alpha))
    nights = [tuple(_night(run, z) for run in runs) for runs in checks]
    # A check fails only if all its runs are worse, so its p value is the largest of theirs.
    adjusted = holm([max(night.p for night in runs) for runs in nights])
    return [
        Check(_verdict(runs, float(p), margin, alpha), runs, float(p))
        for runs, p, margin in zip(nights, adjusted, margins, strict=True)
    ]


def overall(checks: Sequence[Check]) -> GateVerdict:
    """Return FAIL if any check fails, PASS if all pass, and UNDECIDED otherwise."""
    verdicts = {check.verdict for check in checks}
    if "FAIL" in verdicts:
        return "FAIL"
    return "PASS" if verdicts == {"PASS"} else "UNDECIDED"


def questions_needed(found: Paired, n: int, margin: float, alpha: float) -> int | None:
    """Estimate how many questions an unchanged pipeline needs to pass with a probability of 80 %.

    The questions are assumed to be like the `n` that `found` was computed from. The result is `None` if the
    margin is 0.
    """
    if margin <= 0:
        return None
    reach = float(ndtri(1 - alpha) + ndtri(POWER)) * float(found.error)
    return math.ceil(n * (reach / margin) ** 2)


def _night(found: Paired, z: float) -> Night:
    """Compute the figures of one run."""
    low, high = bounds(found, z)
    return Night(float(found.mean), float(low), float(high), float(worse_p(found)))


def _verdict(runs: Sequence[Night], p: float, margin: float, alpha: float) -> GateVerdict:
    """Decide one check; a p value below alpha is equivalent to an upper bound below 0."""
    if p < alpha and all(night.delta <= -margin for night in runs):
        return "FAIL"
    return "PASS" if runs[-1].low > -margin else "UNDECIDED"
