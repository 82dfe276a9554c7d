"""BLEU (Papineni et al. 2002) of one answer, in two forms that differ.

`bleu` is NLTK's `sentence_bleu` without smoothing on the words of `word_tokenize`, as MMDocRAG uses it: an
answer without a common 4-gram scores nearly 0. `sacrebleu` is that library's sentence BLEU, with its own
tokens and exponential smoothing, divided by 100. The two must not be compared with each other.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import ClassVar, Literal

from fathoms.metrics.reference.ngrams import common_ngrams
from fathoms.metrics.reference.reference_metric import ReferenceMetric, require
from fathoms.models.words import nltk_words

ORDERS = 4
"""The most words of an n-gram."""


class Bleu(ReferenceMetric):
    """Sentence BLEU with up to 4-grams of the answer against the reference, as by NLTK, without smoothing.

    Texts are split into sentences by `fathoms.models.sentences` before they are split into words, because
    NLTK's trained splitter must be downloaded.
    """

    revision: ClassVar[int] = 2
    source: ClassVar[str] = "Papineni et al. 2002, as in MMDocRAG"
    weight: ClassVar[int | None] = 2

    kind: Literal["bleu"] = "bleu"

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return BLEU in [0, 1]."""
        return sentence_bleu(nltk_words(reference), nltk_words(answer)), {}


def sentence_bleu(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return the geometric mean of the clipped precisions of n-grams, times the brevity penalty.

    As in NLTK, it is 0 without a common word, and a precision of 0 among longer n-grams counts as the
    smallest float.
    """
    logs = []
    for order in range(1, ORDERS + 1):
        common = common_ngrams(answer, reference, order)
        if order == 1 and not common:
            return 0.0
        precision = common / max(1, len(answer) - order + 1)
        logs.append(math.log(precision or sys.float_info.min) / ORDERS)
    penalty = min(1.0, math.exp(1 - len(reference) / len(answer)))
    return penalty * math.exp(math.fsum(logs))


class SacreBleu(ReferenceMetric):
    """Sentence BLEU by sacrebleu with its default settings, divided by 100."""

    packages: ClassVar[tuple[str, ...]] = ("sacrebleu",)
    source: ClassVar[str] = "sacrebleu, Post 2018"
    weight: ClassVar[int | None] = 2

    kind: Literal["sacrebleu"] = "sacrebleu"

    def check(self) -> None:
        """Raise MissingExtraError if sacrebleu is not installed."""
        require("sacrebleu", "the metric 'sacrebleu'")

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return BLEU in [0, 1]."""
        self.check()
        import sacrebleu

        # equal texts reach 100 but for a rounding error
        return min(1.0, float(sacrebleu.sentence_bleu(answer, [reference]).score) / 100), {}
