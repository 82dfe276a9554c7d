"""Finds a form of a gold answer in a text.

A form is searched for in the text as written, because folding loses what tells "MW" from "mW". Phrases inside
`near` and `list` are found by the rule of the scoring profile.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from fathoms.errors import DataError
from fathoms.metrics.gold.dates import date_places
from fathoms.metrics.gold.numbers import number_places
from fathoms.metrics.gold.yes_no import says
from fathoms.types import GoldDate, GoldList, GoldNear, GoldNumber, GoldPhrase, GoldRegex, GoldYesNo

Place = tuple[int, int]
"""The first character of a match and the one after its last, in the text as written."""
Finder = Callable[[str], Sequence[Place]]
"""Finds the places of a phrase, in the text as written."""

SECONDS = 2.0
"""The longest that a regular expression may search one text."""
_WORD = re.compile(r"\w+(?:[.,'’]\w+)*")  # noqa: RUF001


def places(form: GoldPhrase, text: str, phrase: Finder) -> Iterator[Place]:
    """Yield the places of a form in a text as written; `phrase` finds plain phrases.

    A yes or no has the whole text as its place. Raises DataError for a regular expression that takes longer
    than `SECONDS`.
    """
    match form:
        case str():
            yield from phrase(form)
        case GoldNumber():
            yield from number_places(form, text)
        case GoldDate():
            yield from date_places(form, text)
        case GoldRegex():
            yield from _expression(form, text)
        case GoldYesNo():
            if says(text) is (form.yes_no == "yes"):
                yield 0, len(text)
        case GoldNear():
            yield from _near([list(places(part, text, phrase)) for part in form.near], text, form.within)
        case GoldList():
            found = [list(places(part, text, phrase)) for part in form.list]
            if sum(map(bool, found)) >= (form.at_least or len(found)):
                yield from (place for of_part in found for place in of_part)


def _expression(form: GoldRegex, text: str) -> Iterator[Place]:
    """Yield the matches of a regular expression, within its time."""
    import regex

    flags = regex.IGNORECASE if form.ignore_case else 0
    try:
        for match in regex.compile(form.regex, flags).finditer(text, timeout=SECONDS):
            yield match.span()
    except TimeoutError:
        raise DataError(
            f"the regular expression '{form.regex}' of a gold answer searched {len(text):,} characters for"
            f" {SECONDS:g} seconds: write it without a repetition inside a repetition"
        ) from None


def is_slow(form: GoldRegex) -> bool:
    """Return whether a regular expression takes long on one of some long texts that nearly match it."""
    import regex

    pattern = regex.compile(form.regex, regex.IGNORECASE if form.ignore_case else 0)
    literal = "".join(letter for letter in form.regex if letter.isalnum())[:1]
    try:
        for piece in {"a", "0", " ", "a ", "a1", literal or "a"}:
            pattern.search(piece * 3000 + "\n!", timeout=SECONDS / 4)
    except TimeoutError:
        return True
    return False


def _near(found: Sequence[Sequence[Place]], text: str, within: int) -> Iterator[Place]:
    """Yield the shortest stretches that hold one place of every part and at most `within` other words."""
    ordered = sorted((start, end, part) for part, of_part in enumerate(found) for start, end in of_part)
    words = [match.start() for match in _WORD.finditer(text)] if all(found) else []
    latest: dict[int, Place] = {}
    for start, end, part in ordered:
        latest[part] = (start, end)
        if len(latest) < len(found):
            continue
        first, last = min(place[0] for place in latest.values()), max(place[1] for place in latest.values())
        most = sum(len(_within(words, *place)) for place in latest.values())
        if len(_within(words, first, last)) - most > within:
            continue  # also if no place lies inside another; this keeps long texts from taking long
        own = sum(any(a <= word < b for a, b in latest.values()) for word in _within(words, first, last))
        if len(_within(words, first, last)) - own <= within:
            yield first, last


def _within(words: Sequence[int], first: int, last: int) -> Sequence[int]:
    """Return the words that begin in a stretch of the text."""
    return words[bisect_left(words, first) : bisect_left(words, last)]
