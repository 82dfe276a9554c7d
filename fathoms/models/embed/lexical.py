"""Embeddings without a model: hashed counts of words, word pairs and character n-grams."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from pydantic import Field

from fathoms.models.protocols import TextEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_GRAMS = (3, 4, 5)
_TOGETHER = 256
"""The most texts that are embedded together."""
_COUNTS = 1 << 20
"""The most counts that are computed together."""
_LONGEST = 1000
"""Number of characters of a word that are used for n-grams, because a broken reply can have megabytes without
a space."""


class LexicalEmbedder(TextEmbedder):
    """`kind: lexical`: word-overlap embeddings that need no weights and are the same on every machine.

    The features of a lower-cased text are its words, its pairs of neighbouring words, and the character
    3-grams to 5-grams of each word with boundary marks (as in fastText, Bojanowski et al. 2017). They are
    hashed into `dimension` counts (feature hashing, Weinberger et al. 2009, without signs), and each count
    enters as 1 + ln(count). Texts that share words have similar vectors; synonyms do not.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    inert: ClassVar[bool] = True
    kind: Literal["lexical"] = "lexical"
    dimension: int = Field(default=4096, ge=1, le=2**20)
    """Length of a vector. The smaller it is, the more features collide."""

    def check(self) -> None:
        """Do nothing: this embedder has no requirements."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n, dimension); a text without words has a vector of zeros."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        together = min(_TOGETHER, _COUNTS // self.dimension)
        for start in range(0, len(texts), together):
            self._fill(vectors[start : start + together], texts[start : start + together])
        return vectors

    def _fill(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> None:
        """Compute the vectors of some texts. Their features are counted together, because calling numpy for
        each text takes longer than counting."""
        import numpy as np

        hashes, ends = array("I"), []
        for text in texts:
            words = [_hashed(word) for word in _WORD.findall(text.lower())]
            # The checksum of a pair goes on from that of its first word.
            seconds, firsts = [word.encoded for word in words[1:]], [word.before for word in words]
            hashes.extend(map(zlib.crc32, seconds, firsts))
            for word in words:
                hashes += word.hashes
            ends.append(len(hashes))
        rows = np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
        places = rows * self.dimension + np.array(hashes, dtype=np.uint32) % self.dimension
        counts = np.bincount(places)
        places = np.flatnonzero(counts)
        counts = counts[places]
        weights = 1 + np.log(counts)
        for first, last in pairwise(np.searchsorted(places, np.arange(len(texts) + 1) * self.dimension)):
            if first < last:  # the text has words
                weights[first:last] /= np.linalg.norm(weights[first:last])
        vectors.reshape(-1)[places] = weights

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same vectors as `embed`."""
        return self.embed(texts)


class _Word(NamedTuple):
    """A word in UTF-8, the checksum of the word and a space, and the hashes of the word and of its n-grams,
    which nobody may change."""

    encoded: bytes
    before: int
    hashes: array[int]


@lru_cache(maxsize=1 << 16)
def _hashed(word: str) -> _Word:
    """Hash a word and its character n-grams."""
    bounded = f"<{word[:_LONGEST]}>"
    grams = [bounded[at : at + size] for size in _GRAMS for at in range(len(bounded) - size + 1)]
    hashes = array("I", [zlib.crc32(gram.encode()) for gram in (word, *grams)])
    return _Word(word.encode(), zlib.crc32(f"{word} ".encode()), hashes)
