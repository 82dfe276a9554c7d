"""Whether probabilities are right: a reliability diagram and its expected calibration error (ECE).

The error is the mean distance between the probability and the share that came true, over bins that are
weighted by their sizes (Naeini, Cooper & Hauskrecht 2015), with bins of equal width (Guo et al. 2017). Here a
probability is that of "yes" and is compared with how often "yes" was true; Guo et al. compare the probability
of the label that was given with how often that label was right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.stats.intervals import blaker

BINS = 10
DRAWS = 2_000
_SLACK = 1e-9
"""So much below the edge of a bin, a probability is in it: a computed 0.3 may be 0.29999999999999999."""


@dataclass(frozen=True)
class Bin:
    """The probabilities from `low` up to `high`: how many there are, their mean, and the share that came true
    with its 95 % interval, for which they count as independent. The last bin holds 1 as well."""

    low: float
    high: float
    n: int
    mean: float
    share: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """How far probabilities are right. `by_chance` is the mean error that right probabilities would have with
    these numbers, because few of them never match their share exactly. `unknown` counts what has none."""

    ece: float
    by_chance: float
    n: int
    unknown: int
    width: float
    bins: tuple[Bin, ...]


def calibration(
    p: Sequence[float | None], came_true: Sequence[bool], bins: int = BINS, seed: int = 0
) -> Calibration | None:
    """Compare probabilities with what came true, in so many bins of equal width; `None` if none is known.
    Empty bins are left out."""
    pairs = [(one, true) for one, true in zip(p, came_true, strict=True) if one is not None]
    if not pairs:
        return None
    known, true = np.array([one for one, _ in pairs]), np.array([one for _, one in pairs], dtype=float)
    places = np.minimum((known * bins + _SLACK).astype(int), bins - 1)
    sizes = np.bincount(places, minlength=bins)
    means = np.bincount(places, known, bins)
    hits = np.bincount(places, true, bins)
    rng = np.random.default_rng(seed)
    drawn = [np.bincount(places, rng.random(known.size) < known, bins) for _ in range(DRAWS)]
    found = []
    for at in np.flatnonzero(sizes):
        n = int(sizes[at])
        share = float(hits[at]) / n
        found.append(
            Bin(float(at / bins), float((at + 1) / bins), n, float(means[at]) / n, share, blaker(share, n))
        )
    return Calibration(
        ece=float(np.abs(means - hits).sum() / known.size),
        by_chance=float(np.abs(means - np.array(drawn)).sum(axis=1).mean() / known.size),
        n=known.size,
        unknown=len(p) - known.size,
        width=1 / bins,
        bins=tuple(found),
    )
