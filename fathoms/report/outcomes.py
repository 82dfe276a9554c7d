"""What became of answers: answered or abstained, as the cells of the 2 x 2 table, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fathoms.report.table import bracket, figure

OUTCOMES = ("answered", "abstained")
RATES = {"coverage": "coverage", "selective_accuracy": "selective accuracy"}


def outcomes(counts: Mapping[str, int]) -> list[str]:
    """The two cells of a line, each a count and its share of the line."""
    pair = [counts.get(key) or 0 for key in OUTCOMES]
    return [f"{count} ({figure(count / sum(pair))})" if any(pair) else "0" for count in pair]


def rate_text(rates: Mapping[str, Any], name: str) -> str:
    """`0.81 [.72, .88] (93)`: a rate with its interval and the answers that it is a share of."""
    interval = (rates.get("intervals") or {}).get(name)
    low_high = bracket((interval["low"], interval["high"])) if interval else ""
    number = rates.get(f"{name}_n")
    return f"{figure(rates.get(name))}{low_high}" + ("" if number is None else f" ({number})")
