"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004), with the values of the library rouge-score.

The value is the F measure. ROUGE-L compares the texts as a whole (`rougeL` of the library, not `rougeLsum`).
The library knows only the letters a to z and digits, so that two Thai texts would score 0; for texts in other
scripts than Latin, words are split at everything that is no letter or digit, and scripts without spaces into
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Literal

from fathoms.metrics.reference.ngrams import common_ngrams
from fathoms.metrics.reference.reference_metric import ReferenceMetric
from fathoms.models.stems import stem
from fathoms.safety.injections import WORD

_OTHER_LETTERS = re.compile(r"[^\W\d_a-zA-ZªºÀ-˿\u1e00-\u1eff]")
"""Letters of other scripts than Latin, whose accented letters the library takes for spaces."""
_LATIN = re.compile(r"[a-z0-9]+")


class _Rouge(ReferenceMetric):
    """Base class of the three metrics."""

    source: ClassVar[str] = "Lin 2004"
    weight: ClassVar[int | None] = 1
    order: ClassVar[int] = 1
    """The words of what is counted."""

    stemmer: bool = True
    """Whether words are compared by their Porter stems."""

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the F measure, with precision and recall as parts."""
        token = WORD if _OTHER_LETTERS.search(answer + reference) else _LATIN
        ours, gold = (self._words(text, token) for text in (answer, reference))
        common = self.common(ours, gold)
        precision, recall = (common / max(1, len(words) - self.order + 1) for words in (ours, gold))
        value = 2 * precision * recall / (precision + recall) if common else 0.0
        return value, {"precision": precision, "recall": recall}

    def common(self, ours: Sequence[str], gold: Sequence[str]) -> int:
        """Return how much two lists of words have in common."""
        return common_ngrams(ours, gold, self.order)

    def _words(self, text: str, token: re.Pattern[str]) -> list[str]:
        """Return the words of a text, or their stems."""
        words: list[str] = token.findall(text.lower())
        return list(map(_stem, words)) if self.stemmer else words


class Rouge1(_Rouge):
    """ROUGE-1: the F measure of the words in common."""

    kind: Literal["rouge-1"] = "rouge-1"


class Rouge2(_Rouge):
    """ROUGE-2: the F measure of the pairs of neighbouring words in common."""

    order: ClassVar[int] = 2

    kind: Literal["rouge-2"] = "rouge-2"


class RougeL(_Rouge):
    """ROUGE-L: the F measure of the longest common subsequence of words."""

    kind: Literal["rouge-l"] = "rouge-l"

    def common(self, ours: Sequence[str], gold: Sequence[str]) -> int:
        """Return the length of the longest common subsequence."""
        return common_length(ours, gold)


class MirageRougeL(RougeL):
    """ROUGE-L without stems, by which Martin et al. (2025) computed the values that they released."""

    source: ClassVar[str] = "Martin et al. 2025"

    kind: Literal["mirage.rouge-l"] = "mirage.rouge-l"  # type: ignore[assignment]
    stemmer: bool = False
    """Whether words are compared by their Porter stems."""


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of words.

    A bit of a number stands for each word of the first list (Hyyrö 2004): it is cleared where the longest
    subsequence becomes longer, so the length is the number of cleared bits.
    """
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    every = bits = (1 << len(one)) - 1
    for word in other:
        matched = bits & places.get(word, 0)
        bits = ((bits + matched) | (bits - matched)) & every
    return len(one) - bits.bit_count()


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Return the stem of a word; as in the library, only words of more than three ASCII letters have one."""
    return stem(word) if len(word) > 3 and word.isascii() else word
