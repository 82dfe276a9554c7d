"""Paired differences between runs on the same questions, for tables of several runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from fathoms.report.leaderboard import bracket, figure


def paired(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """Return the mean of `second - first` over the questions that both have, with its 95 % score interval
    (`fathoms.stats.difference`), its p value and `n`; `None` without such questions. Values are in [0, 1]
    and every question counts the same."""
    import numpy as np

    from fathoms.stats.difference import bounds, pair
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile
    from fathoms.stats.paired import difference_p

    shared = [id for id in first if id in second]
    if not shared:
        return None
    differences = np.array([second[id] - first[id] for id in shared])
    weights = np.full(len(shared), 1 / len(shared))
    low, high = bounds(pair(differences, weights), normal_quantile(CONFIDENCE))
    return {
        "value": float(differences.mean()),
        "low": float(low),
        "high": float(high),
        "p": difference_p(differences, weights),
        "n": len(shared),
    }


def halves(ids: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return two halves of some questions, which a hash of their ids decides; the first one is larger by one
    if their number is odd."""
    order = sorted(set(ids), key=lambda id: hashlib.sha256(id.encode()).hexdigest())
    return frozenset(order[::2]), frozenset(order[1::2])


def chosen_on_other_half(scores: Mapping[str, Mapping[str, float]]) -> dict[str, Any] | None:
    """Return the paired difference between the best and the worst of several runs, as `paired` does, without
    the luck of the winner: both are chosen by their means over one half of the questions, and compared on the
    other half, in both directions. `chosen` has the best and the worst of each direction.

    `scores` maps the name of a run to the scores of its questions, in [0, 1]. `None` if fewer than two
    questions are in all runs. Equal means are decided by the order of the runs.
    """
    shared = frozenset.intersection(*(frozenset(found) for found in scores.values()))
    if len(shared) < 2:
        return None
    best, worst = dict[str, float](), dict[str, float]()
    chosen = []
    first, second = halves(shared)
    for by, on in ((first, second), (second, first)):
        means = {name: fmean(found[id] for id in sorted(by)) for name, found in scores.items()}
        high, low = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        best |= {id: scores[high][id] for id in on}
        worst |= {id: scores[low][id] for id in on}
        chosen.append((high, low))
    made = paired(worst, best)
    return None if made is None else {**made, "chosen": list(dict.fromkeys(chosen))}


def signed(found: Mapping[str, Any]) -> str:
    """Format a difference with its interval and p value, as `-0.20 [-0.41, 0.03], p 0.12`."""
    p = found["p"]
    shown = "p < 0.001" if p < 0.001 else f"p {p:.2g}"
    return f"{figure(found['value'])} {bracket((found['low'], found['high'])).strip()}, {shown}"
