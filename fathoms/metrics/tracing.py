"""A text that is changed step by step, and still knows where each of its characters came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple

_PIECE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]*")


class Traced(NamedTuple):
    """`text[i]` was made of the characters from `starts[i]` to `ends[i]` of the original."""

    text: str
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> Traced:
        """A text that nothing has been done to yet."""
        return cls(text, list(range(len(text))), list(range(1, len(text) + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, stands in the original."""
        return self.starts[start], self.ends[end - 1]

    def sub(self, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Traced:
        """`pattern.sub(replace, text)`. What stands in the place of a match comes from the whole match."""
        return self._spliced(
            (match.start(), match.end(), replace(match)) for match in pattern.finditer(self.text)
        )

    def each(self, change: Callable[[str], str]) -> Traced:
        """`change(text)`, for a change that looks at one character at a time and leaves none out."""
        changed = change(self.text)
        if len(changed) == len(self.text):
            return self._replace(text=changed)
        return self._spliced((at, at + 1, change(letter)) for at, letter in enumerate(self.text))

    def composed(self) -> Traced:
        """The text in Unicode's form NFC. A composition never begins before an ASCII character."""
        if unicodedata.is_normalized("NFC", self.text):
            return self
        return self._spliced(
            (piece.start(), piece.end(), unicodedata.normalize("NFC", piece[0]))
            for piece in _PIECE.finditer(self.text)
            if piece[0]
        )

    def stripped(self) -> Traced:
        """Without white space at either end."""
        start = len(self.text) - len(self.text.lstrip())
        end = max(start, len(self.text.rstrip()))
        return Traced(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def _spliced(self, changes: Iterable[tuple[int, int, str]]) -> Traced:
        """With some stretches replaced, which come from left to right."""
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
