"""Watches a pipeline night after night with a stated budget of false alarms: an e-detector.

**The p value of a night.** If nothing has changed, all answers to one question, those of the baseline and of
every night, are exchangeable, and questions are independent of one another. So tonight's sum of scores can be
ranked among all sums that arise when, for each question, tonight's answers are drawn at random from its pool
of answers so far. Where sums are equal, a random number decides the rank. The p value is then uniform on
[0, 1] for any difficulty of the questions and any distribution of scores, and the p values of different
nights are independent: each is uniform given its pool without order and all later answers, and the earlier p
values depend on nothing else (they are smoothed conformal p values: Vovk, Gammerman & Shafer 2005).

**The evidence.** An e-value is a number >= 0 that is at most 1 on average if nothing has changed. Here it is
exp(shift z - shift^2 / 2), where z is the normal quantile of 1 - p: the likelihood ratio of a normal shift.
For each shift the evidence after night t is R_t = (1 + R_(t-1)) e_t, the sum over all first nights s of the
product e_s ... e_t (the Shiryaev-Roberts e-detector of Shin, Ramdas & Rinaldo 2023). The evidence that counts
is the mean over the shifts. Large shifts find a collapse soonest, small ones a slow loss.

**Single nights.** With a young baseline the evidence is slow, because the worse nights soon are most of what
a night is compared with. A part of the budget is therefore spent on each night by itself (`level_alone`), and
on the first night after a baseline of one run on the right answers that were lost (`noninferiority.lost_p`).

**What is guaranteed.** If nothing has changed, the probability that the evidence is an alarm within the first
T nights is at most T / `needed`, for every T. Proof: each product has mean 1, so R_T has mean T; R is a
submartingale, and by Doob's inequality the probability that it ever reaches c up to night T is at most its
mean at T divided by c. With c = 365 / 0.025 that is 2.5 % in the first 365 nights, 5 % in the first 730, and
so on. Single nights add at most 2 % over all nights together, because their p values, in which equal sums
count as lower ones (a `draw` of 0), are uniform or larger; so a night with the answers of the baseline is
never an alarm by itself. The lost answers add at most 0.5 %, which rests on the assumption of `lost_p`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import ndtri

from fathoms.stats.noninferiority import LOST_LEVEL
from fathoms.stats.pooled import pooled_tail

SHIFTS = (0.5, 1.0, 2.0, 4.0)
"""The shifts, in standard deviations of a night, for which evidence is collected."""
YEAR = 365
"""The nights for which `BUDGET` holds."""
EVIDENCE, ALONE = 0.025, 0.02
"""The parts of the budget for the evidence and for single nights."""
BUDGET = EVIDENCE + ALONE + LOST_LEVEL
"""The largest probability of a false alarm in the first `YEAR` nights: 5 %."""
_LEAST = 1e-12
"""Smaller p values are raised to this, because rounding errors are of that order."""


def night_p(
    earlier: Sequence[Sequence[float]], tonight: Sequence[Sequence[float]], draw: float
) -> float | None:
    """Return the randomised p value of "tonight is not worse"; higher scores are better.

    `earlier` holds, for each question, all its scores so far (baseline and earlier nights), and `tonight` the
    new ones, all in [0, 1]. Questions without scores on both sides are left out; the result is `None` if none
    is left. Every other question counts alike, whatever its category: what is ranked is the sum over the
    questions of the mean score tonight minus the mean score so far, and where all questions have equally many
    scores that is the rank of the sum of tonight's scores. `draw` is a random number in [0, 1) that decides
    among equal sums.
    """
    both = [(ours, theirs) for ours, theirs in zip(earlier, tonight, strict=True) if ours and theirs]
    if not both:
        return None
    below, at_most = pooled_tail([ours for ours, _ in both], [now for _, now in both], [1.0] * len(both))
    return min(1.0, max(_LEAST, below + (1 - draw) * (at_most - below)))


def e_values(p: float) -> list[float]:
    """Return the e-value of a p value for each of `SHIFTS`."""
    z = -float(ndtri(p))
    return [float(np.exp(shift * z - shift**2 / 2)) for shift in SHIFTS]


def evidence(p_values: Iterable[float | None]) -> list[float]:
    """Return the evidence for a loss after each night, from the p values of all nights since the baseline.

    A night without a p value (`None`) leaves the evidence as it is.
    """
    sums, found = [0.0] * len(SHIFTS), []
    for p in p_values:
        if p is not None:
            sums = [(1 + before) * e for before, e in zip(sums, e_values(p), strict=True)]
        found.append(sum(sums) / len(sums))
    return found


def needed(checks: int = 1) -> float:
    """Return the evidence that is an alarm, if so many checks are watched: each has an equal part of the
    budget (Bonferroni)."""
    return checks * YEAR / EVIDENCE


def level_alone(night: int, checks: int = 1) -> float:
    """Return the p value at which the night with this number (from 1) is an alarm by itself.

    The levels of all nights add up to `ALONE`; the first ones have most of it, because then the evidence
    is slow.
    """
    return ALONE / (night * (night + 1)) / checks
