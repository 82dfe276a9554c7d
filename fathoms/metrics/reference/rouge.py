"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004), by the library rouge-score.

The value is the F measure. ROUGE-L compares the texts as a whole (`rougeL` of the library, not `rougeLsum`).
The library's own tokenizer knows only Latin letters and digits, so that two Thai texts would score 0; for
texts with other letters, words are split at everything that is no letter or digit, and scripts without spaces
into characters.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar, Literal

from fathoms.metrics.reference.base import ReferenceMetric, require

_OTHER_LETTERS = re.compile(r"[^\W\d_a-zA-Z]")
_WITHOUT_SPACES = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_WITHOUT_SPACES}]|[^\W{_WITHOUT_SPACES}]+")


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
        latin = not _OTHER_LETTERS.search(answer + reference)
        found = _scorer(self.variant, self.stemmer, latin).score(reference, answer)[self.variant]
        return float(found.fmeasure), {"precision": float(found.precision), "recall": float(found.recall)}


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


class _Words:
    """Splits texts in any script. As in the library, words of more than three ASCII letters are stemmed."""

    def __init__(self, stemmer: bool) -> None:
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text, and the characters of scripts without spaces."""
        found: list[str] = _TOKEN.findall(text.lower())
        if self._stemmer is None:
            return found
        return [self._stemmer.stem(word) if word.isascii() and len(word) > 3 else word for word in found]


@cache
def _scorer(variant: str, stemmer: bool, latin: bool) -> Any:
    """Return the library's scorer."""
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([variant], use_stemmer=stemmer, tokenizer=None if latin else _Words(stemmer))
