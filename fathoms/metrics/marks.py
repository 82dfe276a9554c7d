"""Where in a text the gold phrases stand that phrase recall finds in it, for whoever reads the text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from fathoms.metrics.folding import trace_plain, trace_words
from fathoms.metrics.phrase_recall import Hyphens, Match, fold_text, spans


class Mark(NamedTuple):
    """`text[start:end]` is the phrase with this number."""

    start: int
    end: int
    phrase: int


def marks(text: str, phrases: Sequence[str], match: Match, hyphens: Hyphens) -> list[Mark]:
    """The places of all phrases, from left to right; what several phrases hold alike is the first one's.

    Found by the rule of `phrase_recall`: a phrase has a mark exactly where it counts as found, unless
    nothing is left of it when it is folded.
    """
    folded = _folded(text, match)
    found = [
        (*span, number)
        for number, phrase in enumerate(phrases)
        for span in spans(folded, phrase, match, hyphens)
    ]
    if not found or folded.isspace():
        return []
    traced = (trace_words if match == "word" else trace_plain)(text, hyphens=True)
    places: dict[tuple[int, int], int] = {}
    for start, end, number in found:
        places.setdefault(traced.span(start, end), number)
    return sorted(Mark(*place, number) for place, number in places.items())


@lru_cache(maxsize=512)
def _folded(text: str, match: Match) -> str:
    """A text to look for phrases in; the same chunk is retrieved again and again."""
    return fold_text(text, match)
