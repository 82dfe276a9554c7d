"""The learnt weights of the abstention classifier `linear`, and how they decide; this module loads numpy."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.errors import DataError
from fathoms.metrics.answer_features import (
    BUCKETS,
    HEADS,
    Lexicon,
    Sentence,
    described,
    features,
    ngrams,
    split_sentences,
)
from fathoms.metrics.clauses import normalise
from fathoms.metrics.grammar import read_grammar
from fathoms.paths import sha256_file
from fathoms.types import Verdict

# Answers are scored in blocks, to bound the memory of their n-grams.
_BLOCK = 256
# Only an answer of at most this many characters can be the text of a failure as a whole, or `N/A`.
_SHORT = 400
# One word of these is an answer: `none` may be the number of something.
_NONE = frozenset({"yes", "no", "none", "nothing", "nobody", "neither", "no one", "never"})
_AROUND = " .!?\"'()[]_-:\u3002\uff01\uff1f"


class Weights(NamedTuple):
    """The weights of the classifier.

    `sentences` has one row per hashed n-gram and one column per head, in steps of `step`; `bias` is added to
    the scores of the heads. `answers` weighs the features of an answer, and `threshold` is subtracted.
    """

    lexicon: Lexicon
    sentences: NDArray[np.int16]
    step: float
    bias: NDArray[np.float64]
    answers: NDArray[np.float64]
    threshold: float

    def score_sentences(self, texts: Sequence[str]) -> list[Sentence]:
        """Return the scores of sentences; those of a sentence do not depend on the others."""
        if not texts:
            return []
        tokens = self.lexicon.read(texts)
        hashes, owners = ngrams(tokens)
        found = self.sentences[hashes]
        counts = np.bincount(owners, minlength=len(texts))
        # Sums of whole numbers are exact, so a score is the same on every machine.
        sums = [
            np.bincount(owners, weights=found[:, head], minlength=len(texts)) for head in range(len(HEADS))
        ]
        scores = np.stack(sums, axis=1) * self.step / np.sqrt(np.maximum(counts, 1))[:, None] + self.bias
        return described(self.lexicon, tokens, scores)


@lru_cache(maxsize=1)
def read_weights(path: Path, sha256: str) -> Weights:
    """Read the weights that come with fathoms; raises DataError if the file is not the pinned one."""
    if sha256_file(path) != sha256:
        raise DataError(
            f"{path} is not the file that belongs to this version of fathoms: install fathoms again"
        )
    with np.load(path, allow_pickle=False) as data:
        words = json.loads(bytes(data["words"]).decode())
        return Weights(
            Lexicon(words["classes"], words["words"]),
            data["sentences"],
            float(data["step"]),
            data["bias"],
            data["answers"],
            float(data["threshold"]),
        )


def classify(weights: Weights, texts: Sequence[str]) -> list[Verdict]:
    """Return one verdict per text: `premise` is the sentence that decided, `why` the reason."""
    verdicts: list[Verdict] = []
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        parts = [split_sentences(text) for text in block]
        scored = weights.score_sentences([sentence for each in parts for sentence in each])
        place = 0
        for text, sentences in zip(block, parts, strict=True):
            verdicts.append(_decide(weights, text, sentences, scored[place : place + len(sentences)]))
            place += len(sentences)
    return verdicts


def _decide(weights: Weights, text: str, sentences: Sequence[str], scored: Sequence[Sentence]) -> Verdict:
    """Return the verdict on one answer, given the scores of its sentences."""

    def verdict(label: str, premise: str, why: str) -> Verdict:
        return Verdict(claim=text, premise=premise, label=label, why=why)

    if len(text) <= _SHORT:
        whole = " ".join(normalise(text).split()).strip(_AROUND)
        if not whole or read_grammar().is_whole("blank", whole):
            return verdict("empty", whole, "the whole answer")
        if read_grammar().is_whole("whole", whole):
            return verdict("abstention", whole, "the whole answer")
        if whole in _NONE:
            return verdict("statement", whole, "the whole answer")
    if not scored:
        return verdict("statement", "", "no sentence abstains")
    certainty = float(np.dot(weights.answers, features(scored, len(text)))) - weights.threshold
    share = f"probability {1 / (1 + math.exp(-certainty)):.2f}"
    places = range(len(scored))
    if certainty <= 0:
        if max(each.silent for each in scored) <= 0:
            return verdict("statement", "", "no sentence abstains")
        answer = max(places, key=lambda place: scored[place].commits)
        return verdict(
            "statement",
            " ".join(sentences[answer].split()),
            f"answers all the same ({share} of an abstention)",
        )
    top = max(places, key=lambda place: scored[place].silent + scored[place].unable)
    label = "refusal" if scored[top].refuses > 0 else "abstention"
    return verdict(label, " ".join(sentences[top].split()), f"sentence {top + 1} of {len(scored)}, {share}")


def sentence_matrix(lexicon: Lexicon, texts: Sequence[str]) -> tuple[Any, Any, Any]:
    """Return the n-grams of sentences as the values, rows and columns of a sparse matrix, for training."""
    hashes, owners = ngrams(lexicon.read(texts))
    counts = np.bincount(owners, minlength=len(texts))
    return 1 / np.sqrt(counts[owners]), owners, hashes % BUCKETS
