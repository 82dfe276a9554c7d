"""Phrase-level recall: the share of the gold phrases found in an answer (FATHOMS-RAG, section III.B).

R(a, P) is the share of the phrases of the gold variant `a` that are found in the prediction P. The score is
the maximum of R over the variants:

    correctness = max over the variants a of |{p in a: p is found in P}| / |a|

There are two rules for when a phrase is "found":

- `substring`: it occurs anywhere, as in the paper. By this rule "no" is found in "not", "1" in "10" and
  "cnn" in "cnns".
- `word`: it occurs between word boundaries, and numbers match only as whole numbers. "1" is not found in
  "10", "0.1", "1.5", "-1" or "1,000", but it is found in "The answer is 1." and "(1)". "29.3" is found in
  "29.3%", but "29" is not. Adjacent letters and digits form one word ("1" is not found in "v1"). A phrase
  that begins or ends with punctuation needs no boundary there. Scripts written without spaces (Chinese,
  Japanese, Thai, Lao) have no boundaries. A phrase that is deliberately a stem ("hallucinat") is found only
  by `substring`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from fathoms.metrics.folding import fold_plain, fold_words

Match = Literal["substring", "word"]
Hyphens = Literal["both", "answer"]

# A word character, except those of Thai, Lao, Japanese and Chinese, which are written without spaces.
_WORD = r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_STARTS_WORD = re.compile(_WORD)
_ENDS_WORD = re.compile(rf"{_WORD}\Z")
_STARTS_NUMBER = re.compile(r"\.?\d")
_ENDS_NUMBER = re.compile(r"\d\Z")
_ENDS_IN_POINT = re.compile(r"\d[.,]\Z")


class PhraseRecall(NamedTuple):
    """The phrase recall of a text.

    `value` is in [0, 1]. `variant` is the index of the best variant, or `None` if no variant has a phrase.
    `found` and `missed` are the phrases of that variant, as written in the gold answer.
    """

    value: float
    variant: int | None
    found: tuple[str, ...]
    missed: tuple[str, ...]


def phrase_recall(
    answer: str,
    variants: Iterable[Sequence[str]],
    match: Match = "substring",
    hyphens: Hyphens = "both",
) -> PhraseRecall:
    """Return the best phrase recall of `answer` over the gold `variants`; the first variant wins a tie.

    Each variant is a list of phrases that should all be found, and any one variant is enough. `hyphens` says
    where a hyphen is replaced by a space: in the answer and the phrases (`both`), or only in the `answer`, so
    that a phrase with a hyphen is never found. Variants without phrases are skipped. An answer that is empty
    or only white space scores 0.
    """
    return recall_in((fold_text(answer, match),), variants, match, hyphens)


def fold_text(text: str, match: Match) -> str:
    """Fold a text by the rule of `match`, as `recall_in` needs it."""
    return fold_words(text, hyphens=True) if match == "word" else fold_plain(text, hyphens=True)


def recall_in(
    texts: Sequence[str],
    variants: Iterable[Sequence[str]],
    match: Match = "substring",
    hyphens: Hyphens = "both",
) -> PhraseRecall:
    """Compute phrase recall as `phrase_recall` does, over several texts already folded by `fold_text`.

    A phrase counts as found if any of the texts contains it.
    """
    said = [text for text in texts if text and not text.isspace()]
    best = PhraseRecall(0.0, None, (), ())
    for index, phrases in enumerate(variants):
        if not phrases:
            continue
        found = tuple(phrase for phrase in phrases if stands_in(said, phrase, match, hyphens))
        value = len(found) / len(phrases)
        if best.variant is None or value > best.value:
            missed = tuple(phrase for phrase in phrases if phrase not in found)
            best = PhraseRecall(value, index, found, missed)
    return best


def stands_in(texts: Sequence[str], phrase: str, match: Match, hyphens: Hyphens) -> bool:
    """Return whether any of the folded texts contains the phrase."""
    if match == "substring":
        folded = fold_plain(phrase, hyphens=hyphens == "both")
        return any(folded in text for text in texts)
    return any(True for text in texts for _ in spans(text, phrase, match, hyphens))


def spans(text: str, phrase: str, match: Match, hyphens: Hyphens) -> Iterator[tuple[int, int]]:
    """Yield the `(start, end)` places of a phrase in a folded text, from left to right and not overlapping.

    A phrase that is empty after folding has no places.
    """
    if match == "substring":
        whole = _Whole(fold_plain(phrase, hyphens=hyphens == "both"), _edge(""), _edge(""))
    else:
        whole = _whole(phrase, hyphens)
    size = len(whole.phrase)
    at = text.find(whole.phrase) if size else -1
    while at >= 0:
        held = whole.left.match(text, at) and whole.right.match(text, at + size)
        if held:
            yield at, at + size
        at = text.find(whole.phrase, at + size if held else at + 1)


class _Whole(NamedTuple):
    """A folded phrase, with the patterns that must match at its start and at its end."""

    phrase: str
    left: re.Pattern[str]
    right: re.Pattern[str]


@lru_cache(maxsize=16_384)
def _whole(phrase: str, hyphens: Hyphens) -> _Whole:
    """Prepare a phrase for the `word` rule; cached, like its few distinct patterns, which compile slowly."""
    folded = fold_words(phrase, hyphens=hyphens == "both")
    return _Whole(folded, _edge(_left_edge(folded)), _edge(_right_edge(folded)))


@lru_cache
def _edge(pattern: str) -> re.Pattern[str]:
    """Compile a condition on a place in a text; cached."""
    return re.compile(pattern)


def _left_edge(phrase: str) -> str:
    """Return a pattern that rejects a letter, a digit or the rest of a number before the phrase."""
    edge = rf"(?<!{_WORD})" if _STARTS_WORD.match(phrase) else ""
    if not _STARTS_NUMBER.match(phrase):
        return edge
    if phrase.startswith("."):
        return r"(?<![\w.])"
    # "1" is not found in "-1" or "0.1", nor in ".1" at the beginning of the text or of a word.
    return edge + r"(?<!-)(?<!\d\.)(?<![^\w.]\.)(?<!\A\.)"


def _right_edge(phrase: str) -> str:
    """Return a pattern that rejects a letter, a digit or the rest of a number after the phrase."""
    edge = rf"(?!{_WORD})" if _ENDS_WORD.search(phrase) else ""
    if _ENDS_NUMBER.search(phrase):
        # "1" is not found in "1.5", but it is found in "1." at the end of a sentence.
        return edge + r"(?!\.\d)"
    return r"(?!\d)" if _ENDS_IN_POINT.search(phrase) else edge
