"""Questions that are nearly the same, in one set or in two.

Two questions are compared by their character n-grams: the Jaccard similarity of the sets of all stretches of
five characters of their texts, after case, accents, punctuation and spaces are folded. It needs no language
and no model. MinHash (Broder 1997) with locality-sensitive hashing finds candidates without comparing all
pairs, so a set of 100,000 questions is no problem, and the exact similarity of each candidate then decides.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathoms.errors import MissingExtraError
from fathoms.runs.metadata import OF, original_of
from fathoms.types import Question

N = 5
"""The characters of an n-gram."""
THRESHOLD = 0.7
"""The similarity from which two questions are near-duplicates, by default."""
_PERMUTATIONS = 128
_SLACK = 0.2
_WEIGHTS = (0.1, 0.9)
"""The threshold for candidates is lower, and a lost pair weighs more than one that is compared in vain,
because MinHash only estimates the similarity, and the exact one decides afterwards."""


@dataclass(frozen=True)
class Duplicate:
    """A question that is nearly the same as another one, which comes before it in its set or stands in
    another set. `same_gold` says whether both have the same accepted answers."""

    question: Question
    other: Question
    similarity: float
    same_gold: bool


def near_duplicates(
    questions: Sequence[Question], against: Sequence[Question] = (), threshold: float = THRESHOLD
) -> list[Duplicate]:
    """Return each question that is nearly the same as one of `against`, or else as an earlier one of the set
    that is no duplicate itself; the most similar is named. The order is that of the set. Variants of a
    question are no duplicates of it. Raises MissingExtraError without datasketch."""
    try:
        from datasketch import MinHashLSH
    except ImportError:
        raise MissingExtraError("datasketch", "build", "finding near-duplicates") from None
    index = MinHashLSH(max(0.1, threshold - _SLACK), num_perm=_PERMUTATIONS, weights=_WEIGHTS)
    distinct: list[tuple[Question, frozenset[str]]] = []

    def keep(question: Question, grams: frozenset[str], hashed: object) -> None:
        index.insert(str(len(distinct)), hashed)
        distinct.append((question, grams))

    for other in against:
        grams = ngrams(other.text)
        keep(other, grams, _hashed(grams))
    found = []
    for question in questions:
        grams = ngrams(question.text)
        hashed = _hashed(grams)
        rows = sorted(map(int, index.query(hashed)))
        best = max(
            (
                (jaccard(grams, distinct[at][1]), -at)
                for at in rows
                if not _related(question, distinct[at][0])
            ),
            default=(0.0, 0),
        )
        if best[0] >= threshold:
            other = distinct[-best[1]][0]
            found.append(Duplicate(question, other, best[0], question.answers == other.answers))
        else:
            keep(question, grams, hashed)
    return found


def _related(one: Question, other: Question) -> bool:
    """Whether one is a variant of the other, or both are of the same question."""
    same = original_of(one) == original_of(other)
    return same and (OF in one.metadata or OF in other.metadata)


def ngrams(text: str) -> frozenset[str]:
    """Return the stretches of five characters of a text with its letters and digits alone, without case and
    accents; of a shorter text, the text."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    folded = "".join(character for character in plain if character.isalnum())
    return frozenset(_windows(folded)) or frozenset((folded,))


def _windows(text: str) -> Iterator[str]:
    """Yield the n-grams of a text."""
    for at in range(len(text) - N + 1):
        yield text[at : at + N]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection by that of the union; 1 for two empty sets."""
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def _hashed(grams: frozenset[str]) -> object:
    """Return the MinHash of a set of n-grams."""
    from datasketch import MinHash

    minhash = MinHash(num_perm=_PERMUTATIONS, seed=1)
    minhash.update_batch([gram.encode() for gram in sorted(grams)])
    return minhash
