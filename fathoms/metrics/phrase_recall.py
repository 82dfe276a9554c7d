"""Phrase-level recall: how much of an acceptable answer stands in what was said (FATHOMS-RAG, section III.B).

R(a, P) is the share of the phrases of variant `a` found in the prediction P; the score is the maximum of
R over the variants:

    correctness = max over the variants a of |{p in a: p is found in P}| / |a|

How a phrase is "found":

- `substring`: anywhere, as in the paper. Then "no" is in "not", "1" in "10" and "cnn" in "cnns".
- `word`: between word boundaries, with numbers read as numbers: "1" is not in "10", "0.1", "1.5", "-1" or
  "1,000", but is in "The answer is 1." and "(1)"; "29.3" is in "29.3%" but "29" is not. Letters and
  digits that touch are one word ("1" is not in "v1"). A phrase that begins or ends with punctuation
  needs no boundary there. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao) have
  no boundaries. A phrase that is a stem on purpose ("hallucinat") is only found by `substring`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from fathoms.metrics.folding import fold_plain, fold_words

Match = Literal["substring", "word"]
Hyphens = Literal["both", "answer"]

_WORD = r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_STARTS_WORD = re.compile(_WORD)
_ENDS_WORD = re.compile(rf"{_WORD}\Z")
_STARTS_NUMBER = re.compile(r"\.?\d")
_ENDS_NUMBER = re.compile(r"\d\Z")
_ENDS_IN_POINT = re.compile(r"\d[.,]\Z")


class PhraseRecall(NamedTuple):
    """Recall in [0, 1], the variant that gave it (`None` where no variant has a phrase), and which of its
    phrases were found and missed, as they are written in the gold."""

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
    """The best recall of `answer` over any-of `variants` of all-of phrases; the first one wins a tie.

    `hyphens` says where a hyphen counts as a space: in the answer and the phrases (`both`), or in the
    `answer` alone, where a phrase with a hyphen is never found. Variants without a phrase are skipped;
    an answer of nothing but white space scores 0.
    """
    return recall_in((fold_text(answer, match),), variants, match, hyphens)


def fold_text(text: str, match: Match) -> str:
    """A text in which phrases are looked for, as `recall_in` wants it."""
    return fold_words(text, hyphens=True) if match == "word" else fold_plain(text, hyphens=True)


def recall_in(
    texts: Sequence[str],
    variants: Iterable[Sequence[str]],
    match: Match = "substring",
    hyphens: Hyphens = "both",
) -> PhraseRecall:
    """The same over `texts` that `fold_text` folded: a phrase is found where any of them holds it."""
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
    """Whether any of the folded texts holds the phrase."""
    return any(_stands_in(text, phrase, match, hyphens) for text in texts)


def _stands_in(text: str, phrase: str, match: Match, hyphens: Hyphens) -> bool:
    """Whether the folded answer holds the phrase."""
    if match == "substring":
        return fold_plain(phrase, hyphens=hyphens == "both") in text
    return any(True for _ in spans(text, phrase, match, hyphens))


def spans(text: str, phrase: str, match: Match, hyphens: Hyphens) -> Iterator[tuple[int, int]]:
    """Where the folded text holds the phrase, from left to right; a phrase with nothing left is nowhere."""
    if match == "substring":
        whole = Whole(fold_plain(phrase, hyphens=hyphens == "both"), _edge(""), _edge(""))
    else:
        whole = _whole(phrase, hyphens)
    size = len(whole.phrase)
    at = text.find(whole.phrase) if size else -1
    while at >= 0:
        held = whole.left.match(text, at) and whole.right.match(text, at + size)
        if held:
            yield at, at + size
        at = text.find(whole.phrase, at + size if held else at + 1)


class Whole(NamedTuple):
    """A folded phrase, and what must hold where it begins and where it ends."""

    phrase: str
    left: re.Pattern[str]
    right: re.Pattern[str]


@lru_cache(maxsize=16_384)
def _whole(phrase: str, hyphens: Hyphens) -> Whole:
    """How a phrase is found as a whole. There are few edges, and a pattern takes long to make."""
    folded = fold_words(phrase, hyphens=hyphens == "both")
    return Whole(folded, _edge(_left_edge(folded)), _edge(_right_edge(folded)))


@lru_cache
def _edge(pattern: str) -> re.Pattern[str]:
    """A condition on a place in a text."""
    return re.compile(pattern)


def _left_edge(phrase: str) -> str:
    """What must not stand before the phrase: a letter or digit, or the rest of a number."""
    edge = rf"(?<!{_WORD})" if _STARTS_WORD.match(phrase) else ""
    if not _STARTS_NUMBER.match(phrase):
        return edge
    if phrase.startswith("."):
        return r"(?<![\w.])"
    return edge + r"(?<!-)(?<!\d\.)(?<![^\w.]\.)(?<!\A\.)"


def _right_edge(phrase: str) -> str:
    """What must not stand after the phrase; a point that ends a sentence may."""
    edge = rf"(?!{_WORD})" if _ENDS_WORD.search(phrase) else ""
    if _ENDS_NUMBER.search(phrase):
        return edge + r"(?!\.\d)"
    return r"(?!\d)" if _ENDS_IN_POINT.search(phrase) else edge
