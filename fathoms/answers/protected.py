"""Finds the code and the formulas in an answer, in which nothing is a citation, a tag or emphasis."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

Span = tuple[int, int]

CODE = re.compile(r"```.*?(?:```|\Z)|(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)", re.DOTALL)
# It begins with a set of characters, by which Python skips other text quickly.
MATH = re.compile(
    r"[$\\](?:(?<=\$)\$[^$]{1,2000}\$\$"
    r"|(?<=\\)\((?:[^\n\\]|\\(?![()]))*\\\)|(?<=\\)\[(?:[^\\]|\\(?![\[\]]))*\\\]"
    # `$5 and $7` are prices: a formula has no space at its ends, and something that prices do not have
    r"|(?<=\$)(?<![\\$\w]\$)(?=[^\s$])(?:[^$\n\\]|\\.){1,500}?(?<=[^\s\\])\$(?![\d$]))",
    re.DOTALL,
)


class Spans:
    """Parts of a text in their order, which do not overlap; `offset in spans` finds one quickly."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.all = list(spans)
        self._starts = [start for start, _ in self.all]

    def __contains__(self, offset: int) -> bool:
        after = bisect_right(self._starts, offset) if self.all else 0
        return after > 0 and offset < self.all[after - 1][1]


def code_spans(text: str) -> Spans:
    """Return the fenced and inline code of a text."""
    return Spans(match.span() for match in CODE.finditer(text)) if "`" in text else Spans(())


def math_spans(text: str) -> Spans:
    """Return the formulas of a text in LaTeX."""
    return Spans(match.span() for match in MATH.finditer(text)) if "$" in text or "\\" in text else Spans(())
