"""Find the places of gold phrases in a text, so that reports can highlight them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from fathoms.answers import Reading
from fathoms.metrics.phrase_recall import Hyphens, Match, ReadTexts, fold_text, written_places
from fathoms.text.tracing import Traced
from fathoms.types import GoldPhrase, GoldYesNo


class PhrasePlace(NamedTuple):
    """A place in a text: `text[start:end]` is the phrase with the index `phrase`."""

    start: int
    end: int
    phrase: int


def phrase_places(
    text: str, phrases: Sequence[GoldPhrase], match: Match, hyphens: Hyphens
) -> list[PhrasePlace]:
    """Return the places of all phrases, from left to right.

    A place that several phrases share belongs to the first of them. Phrases are found by the rules of
    `phrase_recall`: a phrase has a place if and only if it counts as found, except for phrases that are empty
    after folding, and for yes and no, which no place stands for.
    """
    folded = _folded(text, match)
    found: dict[tuple[int, int], int] = {}
    for number, phrase in enumerate(phrases if folded and not folded.isspace() else ()):
        if not isinstance(phrase, GoldYesNo):
            for place in written_places(folded, phrase, match, hyphens):
                found.setdefault(place, number)
    return sorted(PhrasePlace(*place, number) for place, number in found.items())


def places_in_answer(reading: Reading, phrases: Sequence[GoldPhrase], hyphens: Hyphens) -> list[PhrasePlace]:
    """Return the places in the raw answer of all phrases that `reading_recall` finds, from left to right."""
    texts = ReadTexts(reading, hyphens)
    found: dict[tuple[int, int], int] = {}
    for number, phrase in enumerate(phrases):
        if isinstance(phrase, GoldYesNo) or not texts.have(phrase):
            continue
        for text in (reading.numbers, reading.plain, reading.unreasoned):
            if places := list(written_places(_folded(text, "word"), phrase, "word", hyphens)):
                traced = _in_raw(reading, text)
                for start, end in places:
                    found.setdefault(traced.span(start, end), number)
                break
    return sorted(PhrasePlace(*place, number) for place, number in found.items())


def _in_raw(reading: Reading, text: str) -> Traced:
    """Return one of the forms of a reading with the place of each character in the raw answer."""
    if len(text) == len(reading.plain):  # the plain text itself, or with blanks in place of some numbers
        return reading.trace_plain()
    thoughts = [(part.start, part.end, "") for part in reading.parts if part.kind == "reasoning"]
    return Traced.of(reading.raw).spliced(thoughts)


# Cached, because the same chunk is retrieved for many questions.
_folded = lru_cache(maxsize=512)(fold_text)
