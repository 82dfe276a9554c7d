"""Finds texts on a page of a PDF: gold phrases, retrieved chunks, and what a parser left out.

A parser's text differs from that of the file in its spaces, hyphens, lines and markup, so texts are compared
by their letters and digits alone. All work is linear in the texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from fathoms.metrics.phrase_places import phrase_places
from fathoms.metrics.phrase_recall import Hyphens, Match
from fathoms.pdf.thumbnails import Word
from fathoms.types import GoldPhrase

SAME = 12
"""So many letters and digits in a row stand on a page and in a text only if it is the same passage."""
LONG = 36
"""A part of a passage with so many letters and digits stands only where the passage does."""
GAP = 8
"""The most letters and digits between two such rows that belong to the passage as well."""
MOST = 80
"""The most boxes of one text on one page."""

Boxes = list[list[int]]


class PageText:
    """The words of a page in the order of the file, with their places."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self.letters, self._word_of = "", []
        letters: list[str] = []
        for number, word in enumerate(words):
            plain = _letters(word.text)
            letters.append(plain)
            self._word_of += [number] * len(plain)
        self.letters = "".join(letters)
        self._own = letters

    @cached_property
    def text(self) -> str:
        """The text of the page."""
        return "".join(word.text + word.after for word in self._words)

    @cached_property
    def _ends(self) -> list[int]:
        """Where each word and what follows it end in `text`."""
        ends, at = [], 0
        for word in self._words:
            at += len(word.text) + len(word.after)
            ends.append(at)
        return ends

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """The places of all rows of `SAME` letters."""
        found: dict[str, list[int]] = {}
        for at in range(len(self.letters) - SAME + 1):
            found.setdefault(self.letters[at : at + SAME], []).append(at)
        return found

    def passage(self, text: str) -> Boxes:
        """Return where a text stands on this page; empty where it does not."""
        wanted = _letters(text)
        if len(wanted) < SAME:
            at = self.letters.find(wanted) if len(wanted) > 2 else -1
            return self._boxes(self._word_of[at : at + len(wanted)]) if at >= 0 else []
        rows = {wanted[at : at + SAME] for at in range(len(wanted) - SAME + 1)}
        there = sorted(at for row in rows for at in self._rows.get(row, ()))
        spans: list[list[int]] = []
        for at in there:
            if spans and at <= spans[-1][1] + GAP:
                spans[-1][1] = at + SAME
            else:
                spans.append([at, at + SAME])
        longest = max((end - start for start, end in spans), default=0)
        least = min(longest / 2, LONG)  # a few words of it may stand elsewhere on the page, too
        long_enough = (range(start, end) for start, end in spans if end - start >= least)
        return self._boxes([self._word_of[at] for one in long_enough for at in one])

    def phrases(self, phrases: Sequence[GoldPhrase], match: Match, hyphens: Hyphens) -> dict[int, Boxes]:
        """Return where each phrase stands, by its number; a phrase that does not is left out."""
        from bisect import bisect_right

        found: dict[int, list[int]] = {}
        for start, end, number in phrase_places(self.text, phrases, match, hyphens):
            first, last = bisect_right(self._ends, start), bisect_right(self._ends, end - 1)
            found.setdefault(number, []).extend(range(first, last + 1))
        return {number: self._boxes(words) for number, words in found.items()}

    def unread(self, text: str) -> Boxes:
        """Return the words that are nowhere in what a parser read of this page; empty for one that read
        nothing of it or most of it otherwise, as OCR does."""
        read = _letters(text)
        lacking = [at for at, own in enumerate(self._own) if len(own) > 1 and own not in read]
        return self._boxes(lacking) if read and 2 * len(lacking) < len(self._words) else []

    def pictures(self) -> Boxes:
        """Return where the pictures stand on the page."""
        return self._boxes([at for at, word in enumerate(self._words) if not word.text])

    def _boxes(self, words: Collection[int]) -> Boxes:
        """Return the boxes of some words, one for those that follow one another on a line."""
        boxes: list[list[float]] = []
        before = None
        for number in sorted(set(words)):
            box = self._words[number].box
            if before == number - 1 and "\n" not in self._words[before].after:
                last = boxes[-1]
                boxes[-1] = [
                    min(last[0], box[0]),
                    min(last[1], box[1]),
                    max(last[2], box[2]),
                    max(last[3], box[3]),
                ]
            else:
                boxes.append(list(box))
            before = number
        return [list(map(round, box)) for box in boxes[:MOST]]


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without case and compatibility forms."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return plain if plain.isalnum() else "".join(filter(str.isalnum, plain))


@dataclass(frozen=True)
class Passage:
    """A retrieved text, whose place on a page is sought."""

    text: str

    def on(self, page: PageText) -> Boxes:
        """Return where it stands on a page."""
        return page.passage(self.text)


@dataclass(frozen=True)
class Phrases:
    """The gold phrases of a question, and how they are matched."""

    phrases: tuple[GoldPhrase, ...]
    match: Match
    hyphens: Hyphens

    def on(self, page: PageText) -> dict[int, Boxes]:
        """Return where they stand on a page."""
        return page.phrases(self.phrases, self.match, self.hyphens)


@dataclass(frozen=True)
class Unread:
    """What a parser read of a page."""

    text: str

    def on(self, page: PageText) -> Boxes:
        """Return what the page has besides it."""
        return page.unread(self.text)


@dataclass(frozen=True)
class Drawn:
    """The pictures of a page, of whose text a parser has nothing."""

    def on(self, page: PageText) -> Boxes:
        """Return where any of the phrases stands on a page."""
        return page.pictures()


Sought = Passage | Phrases | Unread | Drawn
