"""Weighted means of claims, some of which are not judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fathoms.metrics.claims.truth import Truth
from fathoms.types import Score


class Term(NamedTuple):
    """What one claim adds to a mean: a number between `low` and `high`, which are equal if all of its
    verdicts are there, out of `weight`. `counts` says whether the claim counts at all; `None` if that is
    unknown."""

    low: float
    high: float
    weight: float = 1.0
    counts: Truth = True


def mean_of(metric: str, terms: Iterable[Term], why: Mapping[str, object] | None = None) -> Score:
    """Return the sum of the terms divided by the sum of their weights, over the claims that are judged.

    The parts are those of `shares.share_of`: `claims` counts those that count or may count, `supported` those
    that add anything, and `lowest` and `highest` are the extremes over all that the missing verdicts could
    be. The value is `None` if no claim counts or none is judged.
    """
    found = [term for term in terms if term.counts is not False]
    judged = [term for term in found if term.counts and term.low == term.high]
    value = _ratio([(term.low, term.weight) for term in judged])
    parts = {
        "claims": float(len(found)),
        "supported": float(sum(term.low > 0 for term in judged)),
        "unjudged": float(len(found) - len(judged)),
        "lowest": _lowest([(term.low, term.weight, term.counts) for term in found]),
        "highest": _negated(_lowest([(-term.high, term.weight, term.counts) for term in found])),
    }
    return Score(metric=metric, value=value, n=len(judged), parts=parts, why=dict(why or {}))


def _lowest(terms: Sequence[tuple[float, float, Truth]]) -> float | None:
    """Return the smallest ratio of sums, where terms of which it is unknown whether they count are taken in
    as long as they lower it."""
    taken = [(value, weight) for value, weight, counts in terms if counts]
    for value, weight in sorted(
        ((value, weight) for value, weight, counts in terms if counts is None and weight),
        key=lambda term: term[0] / term[1],
    ):
        sofar = _ratio(taken)
        if sofar is None or value / weight < sofar:
            taken.append((value, weight))
    return _ratio(taken)


def _ratio(terms: Sequence[tuple[float, float]]) -> float | None:
    weights = sum(weight for _, weight in terms)
    return sum(value for value, _ in terms) / weights if weights else None


def _negated(value: float | None) -> float | None:
    return None if value is None else 0.0 - value
