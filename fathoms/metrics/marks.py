"""Find the places of gold phrases in a text, so that reports can highlight them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from fathoms.metrics.folding import trace_plain, trace_words
from fathoms.metrics.phrase_recall import Hyphens, Match, fold_text, spans


class Mark(NamedTuple):
    """A place in a text: `text[start:end]` is the phrase with the index `phrase`."""

    start: int
    end: int
    phrase: int


def marks(text: str, phrases: Sequence[str], match: Match, hyphens: Hyphens) -> list[Mark]:
    """Return the places of all phrases, from left to right.

    A place that several phrases share belongs to the first of them. Phrases are found by the rules of
    `phrase_recall`: a phrase has a mark if and only if it counts as found, except for phrases that are empty
    after folding.
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


# Cached, because the same chunk is retrieved for many questions.
_folded = lru_cache(maxsize=512)(fold_text)
