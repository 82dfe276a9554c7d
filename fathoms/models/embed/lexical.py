"""Embeddings with no model at all: hashed counts of words and of the characters in them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_GRAMS = (3, 4, 5)
_LONGEST = 1000
"""Characters of a word that go into n-grams: a model gone astray can say megabytes without a space."""


class LexicalEmbedder(Component):
    """`kind: lexical`: NumPy alone, no weights, the same vectors on every machine.

    The features of a text are its words, its pairs of neighbouring words, and the character 3- to
    5-grams of every word between marks (as in fastText, Bojanowski et al. 2017), lower-cased and hashed
    into `dimension` counts (Weinberger et al. 2009, without signs). Counts go in as 1 + ln(count).
    Texts that share words are near; meaning is not seen.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    kind: Literal["lexical"] = "lexical"
    dimension: int = Field(default=4096, ge=1, le=2**20)
    """The length of a vector: fewer mean more features that share a place."""

    def check(self) -> None:
        """Nothing can be missing."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (n, dimension); zeros for a text without a word."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            hashes = _hashes(text)
            if hashes:
                places, counts = np.unique(
                    np.array(hashes, dtype=np.uint32) % self.dimension, return_counts=True
                )
                weights = 1 + np.log(counts)
                row[places] = weights / np.linalg.norm(weights)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same as `embed`."""
        return self.embed(texts)


def _hashes(text: str) -> list[int]:
    """The hash of every feature of a text."""
    words = _WORD.findall(text.lower())
    found = [zlib.crc32(f"{first} {second}".encode()) for first, second in pairwise(words)]
    for word in words:
        found += _word_hashes(word)
    return found


@lru_cache(maxsize=1 << 16)
def _word_hashes(word: str) -> tuple[int, ...]:
    """The hashes of a word and of its character n-grams."""
    marked = f"<{word[:_LONGEST]}>"
    grams = [marked[at : at + size] for size in _GRAMS for at in range(len(marked) - size + 1)]
    return tuple(zlib.crc32(feature.encode("utf-8", "surrogatepass")) for feature in (word, *grams))
