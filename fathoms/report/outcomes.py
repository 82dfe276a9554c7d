"""Formats the 2 x 2 abstention table (answerable or not, answered or abstained) and its rates."""

from __future__ import annotations

from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import AbstentionCounts, AbstentionRates

OUTCOMES = ("answered", "abstained")
RATES = {"coverage": "coverage", "selective_accuracy": "selective accuracy"}


def outcomes(counts: AbstentionCounts) -> list[str]:
    """Format the two cells of a line, each a count with its share of the line."""
    pair = (counts.answered, counts.abstained)
    return [f"{count} ({figure(count / sum(pair))})" if any(pair) else "0" for count in pair]


def rate_text(rates: AbstentionRates, name: str) -> str:
    """Format a rate with its interval and the number of answers behind it: `0.81 [0.72, 0.88] (93)`."""
    number = getattr(rates, f"{name}_n")
    return f"{figure(getattr(rates, name))}{bracket(rates.bounds(name))}" + (
        "" if number is None else f" ({number})"
    )
