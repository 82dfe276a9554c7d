"""Embeddings without a model: hashed counts of words, word pairs and character n-grams."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from fathoms.models.protocols import TextEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_GRAMS = (3, 4, 5)
_TOGETHER = 256
"""How many texts are embedded together."""
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
        for start in range(0, len(texts), _TOGETHER):
            self._fill(vectors[start : start + _TOGETHER], texts[start : start + _TOGETHER])
        return vectors

    def _fill(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> None:
        """Compute the vectors of some texts. Their features are counted together, because calling numpy for
        each text takes longer than counting."""
        import numpy as np

        hashes, ends = array("I"), []
        for text in texts:
            words = _WORD.findall(text.lower())
            hashes.extend([zlib.crc32(f"{first} {second}".encode()) for first, second in pairwise(words)])
            for word in words:
                hashes += _word_hashes(word)
            ends.append(len(hashes))
        rows = np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
        places = rows * self.dimension + np.array(hashes, dtype=np.uint32) % self.dimension
        places, counts = np.unique(places, return_counts=True)
        weights = 1 + np.log(counts)
        for first, last in pairwise(np.searchsorted(places, np.arange(len(texts) + 1) * self.dimension)):
            if first < last:  # the text has words
                weights[first:last] /= np.linalg.norm(weights[first:last])
        vectors.reshape(-1)[places] = weights

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same vectors as `embed`."""
        return self.embed(texts)


@lru_cache(maxsize=1 << 16)
def _word_hashes(word: str) -> array[int]:
    """Return the hashes of a word and of its character n-grams, which nobody may change."""
    marked = f"<{word[:_LONGEST]}>"
    grams = [marked[at : at + size] for size in _GRAMS for at in range(len(marked) - size + 1)]
    return array("I", [zlib.crc32(gram.encode("utf-8", "surrogatepass")) for gram in (word, *grams)])
