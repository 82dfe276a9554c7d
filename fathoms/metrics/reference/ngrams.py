"""Counts the n-grams that two texts have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def common_ngrams(one: Sequence[str], other: Sequence[str], order: int) -> int:
    """Return how many runs of `order` words two lists of words have in common; each counts as often as in the
    list that has it less often."""
    ours, theirs = (
        Counter(zip(*(words[start:] for start in range(order)), strict=False)) for words in (one, other)
    )
    return sum(min(ours[gram], theirs[gram]) for gram in ours.keys() & theirs.keys())
