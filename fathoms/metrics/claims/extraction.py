"""How well texts are split into claims, by comparison with claims that were released.

Two claims match if they say the same in much the same words: the words of each, without the most common
ones and by their stems, are weighted by how few claims of the text have them, and at least `THRESHOLD` of
the weight is shared. A claim matches at most one other, and as much weight as possible is matched in all.
Other rules give other figures; the sources have none. `extraction.yaml` has what was measured, by the way of
splitting.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from fathoms.models.stems import stem
from fathoms.text.amounts import percent

THRESHOLD = 0.65
"""The lowest multiple of 0.05 at which at most 15 % of the claims that RAGChecker released are as similar to
another claim of the same text. `benchmarks/judges/extraction.py` prints this share."""
FILE = Path(__file__).with_suffix(".yaml")
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_COMMON = frozenset(
    [
        *("a", "an", "the", "of", "in", "on", "at", "to", "for", "by", "with", "from", "and", "or", "as"),
        *("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "it", "its", "that"),
        *("this", "which", "who", "whose", "their", "his", "her", "into", "also"),
    ]
)
Weigh = Callable[[str], float]


class Share(BaseModel):
    """A share in [0, 1] with its 95 % interval."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    value: float
    low: float
    high: float


class Extraction(BaseModel):
    """How well one way of splitting found the claims that were released.

    `precision` is the share of its claims that match a released one, `recall` the share of the released
    claims that match one of its own. `answers` and `released` are the numbers of texts and of their released
    claims. `failed` counts texts that it could not split, which are among neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    decomposer: str
    precision: Share
    recall: Share
    claims_a_sentence: float
    released_a_sentence: float
    answers: int
    claims: int
    released: int
    failed: int = 0
    source: str

    @property
    def sentence(self) -> str:
        """What the figures say, in one sentence."""
        return (
            f"claims by {self.decomposer}: {percent(self.precision.value)} of them match claims of"
            f" {self.source}, and {percent(self.recall.value)} of those are found;"
            f" {self.claims_a_sentence:.1f} claims a sentence instead of {self.released_a_sentence:.1f}"
            f" ({self.answers} answers)"
        )


def sentence_of(decomposer: str) -> str:
    """Say how well a way of splitting found released claims, or that it was never measured."""
    known = measured().get(decomposer)
    return known.sentence if known else f"claims by {decomposer}, never compared with released claims"


class Matched(NamedTuple):
    """How many extracted claims match a released one, and how many there are of both."""

    matched: int
    extracted: int
    released: int


@cache
def measured() -> dict[str, Extraction]:
    """Return what was measured, by the way of splitting: `sentences`, or the name of a language model."""
    import yaml

    rows = TypeAdapter(list[Extraction]).validate_python(yaml.safe_load(FILE.read_text(encoding="utf-8")))
    return {row.decomposer: row for row in rows}


def matched(extracted: Sequence[str], released: Sequence[str], threshold: float = THRESHOLD) -> Matched:
    """Match the claims of one text with those that were released of it."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    ours, theirs = [_words(claim) for claim in extracted], [_words(claim) for claim in released]
    sizes = len(extracted), len(released)
    if not all(sizes):
        return Matched(0, *sizes)
    weigh = _weigher(theirs)
    shared = np.array([[_similarity(one, other, weigh) for other in theirs] for one in ours])
    shared[shared < threshold] = 0
    rows, columns = linear_sum_assignment(-shared)
    return Matched(int((shared[rows, columns] > 0).sum()), *sizes)


def confusable(released: Sequence[str], threshold: float = THRESHOLD) -> int:
    """Return how many claims of one text are as similar as the threshold to another of its claims."""
    words = [_words(claim) for claim in released]
    weigh = _weigher(words)
    return sum(
        any(one != other and _similarity(one, other, weigh) >= threshold for other in words) for one in words
    )


def _similarity(one: frozenset[str], other: frozenset[str], weigh: Weigh) -> float:
    """Return the share of the weight of two claims that they have in common, in [0, 1]: the F1 of weighted
    words."""
    whole = sum(map(weigh, one)) + sum(map(weigh, other))
    return 2 * sum(map(weigh, one & other)) / whole if whole else 0.0


def _weigher(claims: Iterable[frozenset[str]]) -> Weigh:
    """Return the weight of a word: log(1 + N / n), for n of N claims that have it; an unknown word is as rare
    as one that one claim has."""
    known = list(claims)
    having = Counter(word for words in known for word in words)
    return lambda word: log(1 + len(known) / max(1, having[word]))


@lru_cache(maxsize=4096)
def _words(claim: str) -> frozenset[str]:
    """Return the stems of the words of a claim (Porter 1980), without the most common words."""
    return frozenset(stem(word) for word in _WORD.findall(claim.lower()) if word not in _COMMON)
