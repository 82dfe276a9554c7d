"""The verdict of a gate: worse, not worse, or not known.

The differences are candidate minus baseline, turned round where lower is better: negative is worse.

- FAIL: every run is worse beyond doubt (upper bound below 0) and by at least the margin.
- PASS: the newest run is not worse by the margin, beyond doubt (lower bound above -margin).
- UNDECIDED: these questions cannot tell.

FAIL must hold for a family of checks together, so its p values are Holm's. PASS needs all of the checks, so
each may have the whole alpha (intersection-union).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from fathoms.stats.difference import Paired, bounds, worse_p
from fathoms.stats.paired import holm

Verdict = Literal["PASS", "FAIL", "UNDECIDED"]
POWER = 0.8


@dataclass(frozen=True)
class Night:
    """One run against the baseline: the difference, its one-sided bounds, p of "not worse"."""

    delta: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Check:
    """What the runs, oldest first, say of one metric. `p` is Holm's, of the run that is worse by least."""

    verdict: Verdict
    nights: tuple[Night, ...]
    p: float


def judge(checks: Sequence[Sequence[Paired]], margin: float, alpha: float) -> list[Check]:
    """A verdict for each check, from its successive runs against the same baseline, oldest first."""
    z = float(ndtri(1 - alpha))
    nights = [tuple(_night(run, z) for run in runs) for runs in checks]
    # a check is worse only if all its runs are: the largest p is that of the union
    adjusted = holm([max(night.p for night in runs) for runs in nights])
    return [
        Check(_verdict(runs, float(p), margin, alpha), runs, float(p))
        for runs, p in zip(nights, adjusted, strict=True)
    ]


def overall(checks: Sequence[Check]) -> Verdict:
    """FAIL where any check fails, PASS where all pass."""
    verdicts = {check.verdict for check in checks}
    if "FAIL" in verdicts:
        return "FAIL"
    return "PASS" if verdicts == {"PASS"} else "UNDECIDED"


def questions_needed(found: Paired, n: int, margin: float, alpha: float) -> int | None:
    """About how many questions like these `n` would let an unchanged pipeline pass with a chance of 80 %;
    `None` where the margin is 0."""
    if margin <= 0:
        return None
    reach = float(ndtri(1 - alpha) + ndtri(POWER)) * float(found.error)
    return math.ceil(n * (reach / margin) ** 2)


def _night(found: Paired, z: float) -> Night:
    """One run's figures."""
    low, high = bounds(found, z)
    return Night(float(found.mean), float(low), float(high), float(worse_p(found)))


def _verdict(runs: Sequence[Night], p: float, margin: float, alpha: float) -> Verdict:
    """One check; a p below alpha is an upper bound below 0."""
    if p < alpha and all(night.delta <= -margin for night in runs):
        return "FAIL"
    return "PASS" if runs[-1].low > -margin else "UNDECIDED"
