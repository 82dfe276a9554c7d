"""Paired differences between runs on the same questions, for tables of several runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from fathoms.text.amounts import bracket, p_value, with_sign


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
    """Return two halves of some questions, which a hash of their ids decides. The first half has one question
    more if their number is odd."""
    order = sorted(set(ids), key=lambda id: hashlib.sha256(id.encode()).hexdigest())
    return frozenset(order[::2]), frozenset(order[1::2])


class Chosen(NamedTuple):
    """The best and the worst of several runs, chosen on one half of the questions, and the other half."""

    best: str
    worst: str
    on: frozenset[str]


def best_and_worst(scores: Mapping[str, Mapping[str, float]]) -> Chosen | None:
    """Return the best and the worst of several runs by their means over one half of the questions, and the
    questions of the other half, on which they are to be compared; `None` if not both halves have a question
    that is in all runs. `scores` maps the name of a run to the scores of its questions, in [0, 1]. Equal
    means are decided by the order of the runs."""
    shared = frozenset.intersection(*(frozenset(found) for found in scores.values()))
    by, on = halves(shared)
    if not by or not on:
        return None
    means = {name: fmean(found[id] for id in sorted(by)) for name, found in scores.items()}
    return Chosen(max(means, key=means.__getitem__), min(means, key=means.__getitem__), on)


def chosen_on_other_half(scores: Mapping[str, Mapping[str, float]]) -> dict[str, Any] | None:
    """Return the paired difference between the best and the worst of several runs, as `paired` does, without
    the luck of the winner: `best_and_worst` chooses them on one half of the questions, and they are compared
    on the other half alone, whose `n` is returned. `chosen` has the best and the worst.

    To choose on each half and to add up both comparisons would use all questions, but the two are not
    independent, and its interval would exclude 0 too often.
    """
    if (found := best_and_worst(scores)) is None:
        return None
    low, high = ({id: scores[name][id] for id in found.on} for name in (found.worst, found.best))
    comparison = paired(low, high)
    return None if comparison is None else {**comparison, "chosen": [found.best, found.worst]}


def signed(found: Mapping[str, Any]) -> str:
    """Format a difference with its interval and p value, as `-0.20 [-0.41, 0.03], p 0.120`."""
    bounds = bracket((found["low"], found["high"]))
    return f"{with_sign(found['value'])}{bounds}, {p_value(found['p'])}"
