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

from fathoms.metrics.answer_features import (
    BUCKETS,
    HEADS,
    WIDE,
    Lexicon,
    Sentence,
    described,
    distinct,
    ending_ngrams,
    features,
    ngrams,
    split_sentences,
    whole_ngrams,
)
from fathoms.metrics.clauses import normalise
from fathoms.metrics.cues import cue_features
from fathoms.metrics.grammar import read_grammar
from fathoms.paths import require_own_file
from fathoms.types import Verdict

# Answers are scored in blocks, to bound the memory of their n-grams.
_BLOCK = 256
# Only an answer of at most this many characters can be the text of a failure as a whole, or `N/A`.
_SHORT = 400
# The least share of the n-grams at the end of an answer that must be known for them to count: English answers
# have 13 % at least, most answers in other languages less than 10 %.
_LEAST_KNOWN = 0.12
DOUBT = 1.5
"""Answers whose log-odds are closer to 0 than this are decided by the cues, too, which take several times as
long as the weights."""
# The most characters of an answer in doubt whose cues are read, half from either end.
_CUED = 6000
# One word of these is an answer: `none` may be the number of something.
_NONE = frozenset({"yes", "no", "none", "nothing", "nobody", "neither", "no one", "never"})
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_QUOTED = "\"'\u300d\u300f"
_QUOTES = tuple(_QUOTED)
_AROUND = " .!?\"'()[]_-:\u3002\uff01\uff1f"


class Hashed(NamedTuple):
    """Hashed n-grams, and the number of the answer that each belongs to."""

    hashes: NDArray[np.int64]
    owners: NDArray[np.int64]


class Read(NamedTuple):
    """What the classifier sees of some answers: the scores of all sentences in a row, the n-grams of whole
    answers, and those of their ends."""

    sentences: list[Sentence]
    whole: Hashed
    ending: Hashed


class Weights(NamedTuple):
    """The weights of the classifier.

    `sentences` has one row per hashed n-gram and one column per head, in steps of `step`; `bias` is added to
    the scores of the heads. `answers` weighs the features of an answer. `ngrams` weighs, in steps of `step`,
    the hashed n-grams of a whole answer (first row) and of its end (second row); those that are not known
    have 0. `threshold` is subtracted from the sum. `alone` weighs the features of an answer whose n-grams are
    hardly known, as in another language; its last number is the threshold for these. `doubt` weighs the
    certainty of an answer whose log-odds are within `DOUBT` of 0, and what the cues say of it
    (`cue_features`); its last number is added.
    """

    lexicon: Lexicon
    sentences: NDArray[np.int16]
    step: float
    bias: NDArray[np.float64]
    answers: NDArray[np.float64]
    ngrams: NDArray[np.int16]
    threshold: float
    alone: NDArray[np.float64]
    doubt: NDArray[np.float64]

    def read(self, answers: Sequence[Sequence[str]]) -> Read:
        """Read some answers, each given by its sentences."""
        texts = [sentence for sentences in answers for sentence in sentences]
        if not texts:
            none = Hashed(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
            return Read([], none, none)
        tokens = self.lexicon.read(texts)
        hashes, owners = ngrams(tokens)
        found = self.sentences[hashes]
        counts = np.bincount(owners, minlength=len(texts))
        # Sums of whole numbers are exact, so a score is the same on every machine.
        sums = [
            np.bincount(owners, weights=found[:, head], minlength=len(texts)) for head in range(len(HEADS))
        ]
        scores = np.stack(sums, axis=1) * self.step / np.sqrt(np.maximum(counts, 1))[:, None] + self.bias
        answer = np.repeat(np.arange(len(answers)), [len(sentences) for sentences in answers])
        return Read(
            described(self.lexicon, tokens, scores),
            Hashed(*whole_ngrams(tokens, answer)),
            Hashed(*ending_ngrams(answers)),
        )

    def weigh_ngrams(self, read: Read, count: int) -> NDArray[np.float64]:
        """Return what the n-grams of each of `count` answers add to its certainty, or NaN if few are known.

        Each known n-gram of an answer counts once, and their sum is divided by the root of their number.
        """
        added = np.zeros(count)
        for weights, (hashes, owners) in zip(self.ngrams, (read.whole, read.ending), strict=True):
            known = weights[hashes] != 0
            once = distinct(owners[known] * WIDE + hashes[known])
            sums = np.bincount(once // WIDE, weights=weights[once % WIDE], minlength=count) * self.step
            added += sums / np.sqrt(np.maximum(np.bincount(once // WIDE, minlength=count), 1))
        totals, found = (np.bincount(each, minlength=count) for each in (owners, owners[known]))
        added[found < _LEAST_KNOWN * totals] = np.nan
        return added

    def certainty(self, values: Sequence[float], by_ngrams: float) -> float:
        """Return the log-odds that an answer with these features abstains."""
        if math.isnan(by_ngrams):
            return float(np.dot(self.alone[:-1], values) - self.alone[-1])
        return float(np.dot(self.answers, values)) + by_ngrams - self.threshold

    def settled(self, certainty: float, text: str) -> float:
        """Return the log-odds that an answer abstains, with what the cues say of it where these are low."""
        if abs(certainty) >= DOUBT:
            return certainty
        half = _CUED // 2
        read = text if len(text) <= _CUED else f"{text[:half]}\n{text[-half:]}"
        return float(np.dot(self.doubt[:-1], [certainty, *cue_features(read)]) + self.doubt[-1])


@lru_cache(maxsize=1)
def read_weights(path: Path, sha256: str) -> Weights:
    """Read the weights that come with fathoms; raises DataError if the file is not the pinned one."""
    require_own_file(path, sha256)
    with np.load(path, allow_pickle=False) as data:
        words = json.loads(bytes(data["words"]).decode())
        ngrams = np.zeros((2, WIDE), dtype=np.int16)
        ngrams[tuple(data["known"])] = data["ngrams"]
        return Weights(
            Lexicon(words["classes"], words["words"]),
            data["sentences"],
            float(data["step"]),
            data["bias"],
            data["answers"],
            ngrams,
            float(data["threshold"]),
            data["alone"],
            data["doubt"],
        )


def classify(weights: Weights, texts: Sequence[str]) -> list[Verdict]:
    """Return one verdict per text: `premise` is the sentence that decided, `why` the reason."""
    verdicts: list[Verdict] = []
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        parts = [split_sentences(text) for text in block]
        read = weights.read(parts)
        added = weights.weigh_ngrams(read, len(parts)).tolist()
        place = 0
        for text, sentences, by_ngrams in zip(block, parts, added, strict=True):
            scored = read.sentences[place : place + len(sentences)]
            verdicts.append(_decide(weights, text, sentences, scored, by_ngrams))
            place += len(sentences)
    return verdicts


def _decide(
    weights: Weights, text: str, sentences: Sequence[str], scored: Sequence[Sentence], by_ngrams: float
) -> Verdict:
    """Return the verdict on one answer, given the scores of its sentences and the weight of its n-grams."""

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
    asks = all(map(_is_question, sentences)) or (scored[-1].asks > 0 and _only_asks(scored))
    if asks and not _is_quoted(sentences[-1]):
        return verdict("asks-back", " ".join(sentences[-1].split()), "asks back and gives no answer")
    certainty = weights.settled(weights.certainty(features(scored, len(text)), by_ngrams), text)
    share = f"probability {1 / (1 + math.exp(-certainty)):.2f}"
    places = range(len(scored))
    if certainty <= 0:
        if max(each.silent for each in scored) <= 0:
            return verdict("statement", "", "no sentence abstains")
        answer = max(places, key=lambda place: scored[place].commits)
        return verdict(
            "statement",
            " ".join(sentences[answer].split()),
            f"reads as an answer, {share} of an abstention",
        )
    top = max(places, key=lambda place: scored[place].silent + scored[place].unable)
    label = "refusal" if scored[top].refuses > 0 else "abstention"
    return verdict(label, " ".join(sentences[top].split()), f"sentence {top + 1} of {len(scored)}, {share}")


def _is_question(sentence: str) -> bool:
    """Return whether a sentence ends with a question mark."""
    return sentence.rstrip(")] ").endswith(_QUESTION_MARKS)


def _is_quoted(sentence: str) -> bool:
    """Return whether a sentence ends with a question that someone else asks, in quotation marks."""
    bare = sentence.rstrip(")]. ")
    return bare.endswith(_QUOTES) and bare.rstrip(_QUOTED).endswith(_QUESTION_MARKS)


def _only_asks(scored: Sequence[Sentence]) -> bool:
    """Return whether no sentence of an answer gives an answer, or says that something is missing."""
    return all(each.asks > 0 or (each.commits <= 0 and each.silent <= 0) for each in scored)


def sentence_matrix(lexicon: Lexicon, texts: Sequence[str]) -> tuple[Any, Any, Any]:
    """Return the n-grams of sentences as the values, rows and columns of a sparse matrix, for training."""
    hashes, owners = ngrams(lexicon.read(texts))
    counts = np.bincount(owners, minlength=len(texts))
    return 1 / np.sqrt(counts[owners]), owners, hashes % BUCKETS
