"""Finds the piece of text on some pages that is most similar to a phrase.

A piece is a run of whole words about as long as the phrase. A NumPy pass over each page first ranks all
pieces by the characters and character pairs that they share with the phrase. Only the best few are then
compared with `difflib.SequenceMatcher`, whose ratio is that of Ratcliff and Obershelp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

LEAST = 0.7
"""The lowest similarity, from 0 to 1, at which a piece is reported."""
_LONGEST = 300
_LETTERS, _PAIRS = 32, 64
_KINDS = _LETTERS + _PAIRS
_FEW = 16


class Near(NamedTuple):
    """A piece of a page and its similarity to the phrase, from 0 to 1."""

    likeness: float
    document: str
    page: int
    text: str


class _Words(NamedTuple):
    """The start and end of each word of a page, and how many characters and pairs of each kind come before
    it.

    `before` has one row more than there are words, for the end of the page.
    """

    starts: Numbers
    ends: Numbers
    before: NDArray[np.uint16]


def nearest(phrase: str, documents: Mapping[str, Mapping[int, str]]) -> Near | None:
    """Return the piece most similar to a phrase among the pages of some documents, or `None` if none is
    similar enough.

    `documents` maps names to texts by page number; phrase and pages must be normalised in the same way. The
    first of equally similar pieces is returned.
    """
    phrase = phrase[:_LONGEST]
    if len(phrase) < 2:
        return None
    pieces = (
        (shared, name, number, piece)
        for name, pages in documents.items()
        for number, text in pages.items()
        for shared, piece in _likely(phrase, text)
    )
    matcher = SequenceMatcher(None, "", phrase, autojunk=False)
    best: Near | None = None
    for _, document, page, piece in nlargest(_FEW, pieces, key=itemgetter(0)):
        matcher.set_seq1(piece)
        likeness = matcher.ratio()
        if likeness >= LEAST and (best is None or likeness > best.likeness):
            best = Near(likeness, document, page, piece)
    return best


def _likely(phrase: str, text: str) -> Iterator[tuple[float, str]]:
    """Yield the pieces of a page that share most with a phrase, each after its share of characters."""
    import numpy as np

    if not text.strip():
        return
    words = _words(text)
    wanted = np.bincount(_kinds(phrase), minlength=_KINDS).astype(np.uint16)
    first = np.arange(len(words.starts))
    fitting = np.searchsorted(words.ends, words.starts + len(phrase), side="right")
    # pieces that are not longer than the phrase, and those with one word more
    for last in (fitting.clip(first + 1), (fitting + 1).clip(max=len(first))):
        common = np.minimum(words.before[last] - words.before[first], wanted).sum(axis=1, dtype=np.int64)
        shared = common / (words.ends[last - 1] - words.starts + len(phrase))
        for at in np.argsort(-shared, kind="stable")[:2]:
            yield float(shared[at]), text[words.starts[at] : words.ends[last[at] - 1]]


@lru_cache(maxsize=4096)
def _words(text: str) -> _Words:
    """Index the words of a page; this takes 0.1 MB for a full page."""
    import numpy as np

    spans = np.array([match.span() for match in re.finditer(r"\S+", text)], dtype=np.int64).reshape(-1, 2)
    size = len(spans) + 1
    places = np.concatenate([np.arange(len(text)), np.arange(len(text) - 1)])
    owners = np.searchsorted(spans[:, 0], places, side="right")
    counts = np.bincount(owners * _KINDS + _kinds(text), minlength=size * _KINDS)
    # uint16 may overflow; only differences of rows are used, and these stay correct
    before = np.cumsum(counts.reshape(size, _KINDS), axis=0).astype(np.uint16)
    return _Words(spans[:, 0], spans[:, 1], before)


def _kinds(text: str) -> Numbers:
    """Map each character, and then each pair of neighbours, to a number below `_KINDS`."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    pairs = _LETTERS + (codes[:-1] * 31 + codes[1:]) % _PAIRS
    return np.concatenate([codes % _LETTERS, pairs])
