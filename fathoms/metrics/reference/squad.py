"""Exact match and token F1, as in the evaluation of SQuAD (Rajpurkar et al. 2016).

Both texts are lower-cased, and punctuation, the articles a, an and the, and extra white space are removed. F1
is that of the bags of words: with no word in common it is 0; if one text has no words left, it is 1 if the
other has none either, and 0 otherwise (SQuAD 2.0).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import ClassVar, Literal

from fathoms.metrics.reference.reference_metric import ReferenceMetric

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_SOURCE = "SQuAD, Rajpurkar et al. 2016"


def normalised(text: str) -> str:
    """Return the text as SQuAD's evaluation compares it."""
    letters = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(_ARTICLES.sub(" ", letters).split())


class ExactMatch(ReferenceMetric):
    """Whether the answer equals the reference after SQuAD's normalisation (1) or not (0)."""

    source: ClassVar[str] = _SOURCE

    kind: Literal["exact-match"] = "exact-match"

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return 1 for texts that are equal after SQuAD's normalisation, and else 0."""
        return float(normalised(answer) == normalised(reference)), {}


class TokenF1(ReferenceMetric):
    """The F1 of the words that answer and reference have in common, after SQuAD's normalisation."""

    source: ClassVar[str] = _SOURCE

    kind: Literal["token-f1"] = "token-f1"

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the F1, with precision and recall as parts."""
        ours, gold = normalised(answer).split(), normalised(reference).split()
        if not ours or not gold:
            return float(ours == gold), {"precision": None, "recall": None}
        common = (Counter(ours) & Counter(gold)).total()
        precision, recall = common / len(ours), common / len(gold)
        f1 = 2 * precision * recall / (precision + recall) if common else 0.0
        return f1, {"precision": precision, "recall": recall}
