"""Formats the 2 x 2 abstention table (answerable or not, answered or abstained) and the rates computed from
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fathoms.report.table import bracket, figure

OUTCOMES = ("answered", "abstained")
RATES = {"coverage": "coverage", "selective_accuracy": "selective accuracy"}


def outcomes(counts: Mapping[str, int]) -> list[str]:
    """Format the two cells of a line, each a count with its share of the line."""
    pair = [counts.get(key) or 0 for key in OUTCOMES]
    return [f"{count} ({figure(count / sum(pair))})" if any(pair) else "0" for count in pair]


def rate_text(rates: Mapping[str, Any], name: str) -> str:
    """Format a rate with its interval and the number of answers behind it: `0.81 [.72, .88] (93)`."""
    interval = (rates.get("intervals") or {}).get(name)
    low_high = bracket((interval["low"], interval["high"])) if interval else ""
    number = rates.get(f"{name}_n")
    return f"{figure(rates.get(name))}{low_high}" + ("" if number is None else f" ({number})")
