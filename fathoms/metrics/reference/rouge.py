"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004), as the library rouge-score computes them.

The value is the F measure. ROUGE-L compares the texts as a whole (`rougeL` of the library, not `rougeLsum`);
the longest common subsequence is found here, because the library takes very long for it.
The library's own tokenizer knows only Latin letters and digits, so that two Thai texts would score 0; for
texts with other letters, words are split at everything that is no letter or digit, and scripts without spaces
into characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Literal

from fathoms.metrics.reference.base import ReferenceMetric, require
from fathoms.safety.injections import WORD

_OTHER_LETTERS = re.compile(r"[^\W\d_a-zA-Z]")
_LATIN = re.compile(r"[a-z0-9]+")


class _Rouge(ReferenceMetric):
    """Base class of the three metrics."""

    packages: ClassVar[tuple[str, ...]] = ("rouge-score",)
    source: ClassVar[str] = "Lin 2004"
    variant: ClassVar[str]

    stemmer: bool = True
    """Whether words are compared by their Porter stems."""

    def check(self) -> None:
        """Raise MissingExtraError if rouge-score is not installed."""
        require("rouge_score", f"the metric '{self.name}'")

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the F measure, with precision and recall as parts."""
        self.check()
        found = _scorer(self.variant, _words_of(self.stemmer, answer + reference)).score(reference, answer)
        score = found[self.variant]
        return float(score.fmeasure), {"precision": float(score.precision), "recall": float(score.recall)}


class Rouge1(_Rouge):
    """ROUGE-1: the F measure of the words in common."""

    variant: ClassVar[str] = "rouge1"

    kind: Literal["rouge-1"] = "rouge-1"


class Rouge2(_Rouge):
    """ROUGE-2: the F measure of the pairs of neighbouring words in common."""

    variant: ClassVar[str] = "rouge2"

    kind: Literal["rouge-2"] = "rouge-2"


class RougeL(_Rouge):
    """ROUGE-L: the F measure of the longest common subsequence of words."""

    variant: ClassVar[str] = "rougeL"

    kind: Literal["rouge-l"] = "rouge-l"

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the F measure, with precision and recall as parts."""
        self.check()
        words = _words_of(self.stemmer, answer + reference)
        ours, gold = words.tokenize(answer), words.tokenize(reference)
        common = common_length(ours, gold)
        if not common:
            return 0.0, {"precision": 0.0, "recall": 0.0}
        precision, recall = common / len(ours), common / len(gold)
        return 2 * precision * recall / (precision + recall), {"precision": precision, "recall": recall}


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of words.

    A bit of a number stands for each word of the first list (Hyyrö 2004): it is cleared where the longest
    subsequence becomes longer, so the length is the number of cleared bits.
    """
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    every = kept = (1 << len(one)) - 1
    for word in other:
        matched = kept & places.get(word, 0)
        kept = ((kept + matched) | (kept - matched)) & every
    return len(one) - kept.bit_count()


class _Words:
    """Splits texts into words, in Latin letters and digits or in any script. As in the library, words of more
    than three ASCII letters are stemmed."""

    def __init__(self, stemmer: bool, token: re.Pattern[str]) -> None:
        from nltk.stem.porter import PorterStemmer

        self._token = token
        self._stem = lru_cache(maxsize=100_000)(PorterStemmer().stem) if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text, and the characters of scripts without spaces."""
        found: list[str] = self._token.findall(text.lower())
        if self._stem is None:
            return found
        return [self._stem(word) if len(word) > 3 and word.isascii() else word for word in found]


def _words_of(stemmer: bool, texts: str) -> _Words:
    """Return what splits texts: as in the library, or so that no letter is lost where there are others."""
    return _splitter(stemmer, bool(_OTHER_LETTERS.search(texts)))


@cache
def _splitter(stemmer: bool, other_letters: bool) -> _Words:
    return _Words(stemmer, WORD if other_letters else _LATIN)


@cache
def _scorer(variant: str, words: _Words) -> Any:
    """Return the library's scorer."""
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([variant], tokenizer=words)
