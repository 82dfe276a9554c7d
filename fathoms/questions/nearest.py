"""The piece of some pages that is most like a phrase.

Every window that begins with a word and is as long as the phrase is compared by its pairs of letters, in
one pass of NumPy over the page; only the best few are then compared letter by letter
(`difflib.SequenceMatcher`, the ratio of Ratcliff and Obershelp).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint16]

LEAST = 0.7
"""A piece that is less like the phrase than this is not near it."""
_LONGEST = 300
_BUCKETS = 64
_FEW = 4


class Near(NamedTuple):
    """A piece of a page, and how like the phrase it is, from 0 to 1."""

    likeness: float
    document: str
    page: int
    text: str


def nearest(phrase: str, documents: Mapping[str, Mapping[int, str]]) -> Near | None:
    """The piece most like a phrase of all pages by document and number; the first one wins a tie.

    Phrase and pages are folded alike. `None` where no piece is near.
    """
    phrase = phrase[:_LONGEST]
    best: Near | None = None
    for name, pages in documents.items():
        for number, text in pages.items():
            for piece in _candidates(phrase, text):
                likeness = _likeness(phrase, piece, best.likeness if best else LEAST)
                if likeness >= LEAST and (best is None or likeness > best.likeness):
                    best = Near(likeness, name, number, piece)
    return best


def _likeness(phrase: str, piece: str, least: float) -> float:
    """The ratio of two texts; 0 where a quick bound shows that it is below `least`."""
    matcher = SequenceMatcher(None, piece, phrase, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= least else 0.0


def _candidates(phrase: str, text: str) -> Iterable[str]:
    """The few pieces of a text that share most pairs of letters with a phrase; they end with a word."""
    import numpy as np

    if len(phrase) < 2 or len(text) < 2:
        return ()
    starts, counts = _indexed(text)
    wanted = np.bincount(_pairs(phrase), minlength=_BUCKETS)
    ends = np.minimum(starts + len(phrase) - 1, len(text) - 1)
    shared = np.minimum(counts[ends] - counts[starts], wanted.astype(np.uint16)).sum(axis=1)
    first = np.argsort(-shared.astype(np.int64), kind="stable")[:_FEW]
    return [piece for at in first for piece in _pieces(text, int(starts[at]), len(phrase))]


@lru_cache(maxsize=128)
def _indexed(text: str) -> tuple[NDArray[np.int64], Codes]:
    """Where words begin, and how many pairs of each kind stand before each character (modulo 2**16)."""
    import numpy as np

    starts = np.array([match.start() for match in re.finditer(r"\S+", text)], dtype=np.int64)
    counts = np.zeros((len(text), _BUCKETS), dtype=np.uint16)
    counts[np.arange(1, len(text)), _pairs(text)] = 1
    return np.minimum(starts, len(text) - 1), np.cumsum(counts, axis=0, dtype=np.uint16)


def _pairs(text: str) -> NDArray[np.int64]:
    """A number below `_BUCKETS` for each pair of neighbouring characters."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    return (codes[:-1] * 31 + codes[1:]) % _BUCKETS


def _pieces(text: str, start: int, length: int) -> list[str]:
    """The two pieces of about this length that end with a word: a little shorter and a little longer."""
    end = start + length
    after = text.find(" ", end)
    shorter = text[start : max(text.rfind(" ", start, end), start)]
    longer = text[start : after if after >= 0 else len(text)]
    return [piece for piece in (shorter, longer) if piece]
