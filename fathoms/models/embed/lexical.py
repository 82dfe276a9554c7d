"""Embeddings without a model: hashed counts of words, word pairs and character n-grams."""

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
"""Number of characters of a word that are used for n-grams, because a broken reply can have megabytes without
a space."""


class LexicalEmbedder(Component):
    """`kind: lexical`: word-overlap embeddings that need no weights and are the same on every machine.

    The features of a lower-cased text are its words, its pairs of neighbouring words, and the character
    3-grams to 5-grams of each word with boundary marks (as in fastText, Bojanowski et al. 2017). They are
    hashed into `dimension` counts (feature hashing, Weinberger et al. 2009, without signs), and each count
    enters as 1 + ln(count). Texts that share words have similar vectors; synonyms do not.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    kind: Literal["lexical"] = "lexical"
    dimension: int = Field(default=4096, ge=1, le=2**20)
    """Length of a vector. The smaller it is, the more features collide."""

    def check(self) -> None:
        """Do nothing: this embedder has no requirements."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n, dimension); a text without words has a vector of zeros."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            words = _WORD.findall(text.lower())
            hashes = [zlib.crc32(f"{first} {second}".encode()) for first, second in pairwise(words)]
            hashes += (number for word in words for number in _word_hashes(word))
            if hashes:
                places, counts = np.unique(
                    np.array(hashes, dtype=np.uint32) % self.dimension, return_counts=True
                )
                weights = 1 + np.log(counts)
                row[places] = weights / np.linalg.norm(weights)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same vectors as `embed`."""
        return self.embed(texts)


@lru_cache(maxsize=1 << 16)
def _word_hashes(word: str) -> tuple[int, ...]:
    """Return the hashes of a word and of its character n-grams."""
    marked = f"<{word[:_LONGEST]}>"
    grams = [marked[at : at + size] for size in _GRAMS for at in range(len(marked) - size + 1)]
    return tuple(zlib.crc32(feature.encode("utf-8", "surrogatepass")) for feature in (word, *grams))
