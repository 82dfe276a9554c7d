"""How much an approximate search loses against the exact one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fathoms.errors import UsageError


def recall(found: Sequence[Sequence[int]], exact: Sequence[Sequence[int]], k: int) -> float:
    """Return recall@k against exact search: the share of the exact `k` best that are among the `k` best
    found, averaged over queries.

    `found` and `exact` hold the numbers of the pages of each query, best first. A query with fewer than `k`
    exact results is compared by as many as it has. This is the recall of ANN-Benchmarks (Aumüller et al.
    2018) by numbers, not by distances. Raises UsageError if there is nothing to compare.
    """
    if k < 1 or not exact or len(found) != len(exact) or not all(exact):
        raise UsageError(
            f"recall@{k} of {len(found)} searches against {len(exact)} exact ones cannot be computed: give"
            " both for the same queries, with one exact result or more of each"
        )
    shares = [
        len(set(ours[:k]) & set(theirs[:k])) / len(set(theirs[:k]))
        for ours, theirs in zip(found, exact, strict=True)
    ]
    return sum(shares) / len(shares)


SAMPLE = 32
"""The most questions for which approximate and exact search are compared."""
T = TypeVar("T")


def sample(questions: Sequence[T]) -> Sequence[T]:
    """Return at most `SAMPLE` questions, spread over all."""
    return questions[:: max(1, -(-len(questions) // SAMPLE))]
