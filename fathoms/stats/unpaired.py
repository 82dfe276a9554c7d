"""Compare the means of two independent groups of questions."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any


def difference_of_means(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the mean of the second group minus that of the first, with a 95 % interval, as `value`, `low`
    and `high`; `None` where a mean or an interval is not known.

    Each group is a figure with `value`, `low` and `high`. The interval is recovered from those of the groups
    (MOVER, Zou and Donner 2008); of two proportions with Wilson's intervals it is Newcombe's (1998, method
    10). The groups must be independent: for two wordings of the same question use a paired difference.
    """
    parts = [found.get(name) for found in (first, second) for name in ("value", "low", "high")]
    if None in parts:
        return None
    a, low_a, high_a, b, low_b, high_b = (float(part) for part in parts if part is not None)
    return {
        "value": b - a,
        "low": b - a - sqrt((b - low_b) ** 2 + (high_a - a) ** 2),
        "high": b - a + sqrt((high_b - b) ** 2 + (a - low_a) ** 2),
    }
