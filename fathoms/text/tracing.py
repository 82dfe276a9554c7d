"""Transform a text step by step while tracking the original position of each character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

# An ASCII character with the non-ASCII characters after it, which may combine with it.
_PIECE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]*")


class Traced(NamedTuple):
    """A transformed text: `text[i]` came from the characters `starts[i]:ends[i]` of the original."""

    text: str
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> Traced:
        """Return an unchanged text with its positions."""
        return cls(text, list(range(len(text))), list(range(1, len(text) + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that `text[start:end]`, which must not be empty, came from."""
        return self.starts[start], self.ends[end - 1]

    def sub(self, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Traced:
        """Apply `pattern.sub(replace, text)`; each replacement is traced to the whole match."""
        return self.spliced(
            (match.start(), match.end(), replace(match)) for match in pattern.finditer(self.text)
        )

    def each(self, change: Callable[[str], str]) -> Traced:
        """Apply `change(text)`, a change that maps each character on its own and removes none."""
        changed = change(self.text)
        if len(changed) == len(self.text):
            return self._replace(text=changed)
        return self.spliced((at, at + 1, change(letter)) for at, letter in enumerate(self.text))

    def composed(self) -> Traced:
        """Convert the text to Unicode's form NFC; it can be done piece by piece, because an ASCII character
        never combines with the characters before it."""
        if unicodedata.is_normalized("NFC", self.text):
            return self
        return self.spliced(
            (piece.start(), piece.end(), unicodedata.normalize("NFC", piece[0]))
            for piece in _PIECE.finditer(self.text)
            if piece[0]
        )

    def stripped(self) -> Traced:
        """Remove white space at both ends."""
        start = len(self.text) - len(self.text.lstrip())
        end = max(start, len(self.text.rstrip()))
        return Traced(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def spliced(self, changes: Iterable[tuple[int, int, str]]) -> Traced:
        """Replace the ranges `(start, end, text)`, which must be in order and not overlap."""
        texts, starts, ends, done = [], [], [], 0
        for start, end, text in changes:
            if text == self.text[start:end]:
                continue
            texts += [self.text[done:start], text]
            starts += self.starts[done:start] + [self.starts[start]] * len(text)
            ends += self.ends[done:start] + [self.ends[end - 1]] * len(text)
            done = end
        texts.append(self.text[done:])
        return Traced("".join(texts), starts + self.starts[done:], ends + self.ends[done:])
