"""BLEU (Papineni et al. 2002) of one answer, by two libraries that differ.

`bleu` is NLTK's `sentence_bleu` without smoothing on NLTK's word tokens, as MMDocRAG uses it: an answer
without a common 4-gram scores nearly 0. `sacrebleu` is that library's sentence BLEU, with its own tokens and
exponential smoothing, divided by 100. The two must not be compared with each other.
"""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal

from fathoms.metrics.reference.base import ReferenceMetric, require
from fathoms.models.sentences import sentences


class Bleu(ReferenceMetric):
    """Sentence BLEU with up to 4-grams of the answer against the reference, by NLTK, without smoothing.

    Texts are split into sentences by `fathoms.models.sentences` before they are split into words, because
    NLTK's trained splitter must be downloaded.
    """

    source: ClassVar[str] = "Papineni et al. 2002, as in MMDocRAG"

    kind: Literal["bleu"] = "bleu"

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return BLEU in [0, 1]."""
        from nltk.translate.bleu_score import sentence_bleu

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NLTK warns of every text without a common 4-gram
            return float(sentence_bleu([_words(reference)], _words(answer))), {}


class SacreBleu(ReferenceMetric):
    """Sentence BLEU by sacrebleu with its default settings, divided by 100."""

    packages: ClassVar[tuple[str, ...]] = ("sacrebleu",)
    source: ClassVar[str] = "sacrebleu, Post 2018"

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


def _words(text: str) -> list[str]:
    """Return the words of a text as NLTK splits them."""
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [word for sentence in sentences(text) for word in tokenizer.tokenize(sentence)]
