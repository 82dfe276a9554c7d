"""What became of questions: answered or abstained, as the cells of the 2 x 2 table."""

from __future__ import annotations

from collections.abc import Mapping

from fathoms.report.table import figure

OUTCOMES = ("answered", "abstained")


def outcomes(counts: Mapping[str, int]) -> list[str]:
    """The two cells of a line, each a count and its share of the line."""
    pair = [counts.get(key) or 0 for key in OUTCOMES]
    return [f"{count} ({figure(count / sum(pair))})" if any(pair) else "0" for count in pair]
