"""Says by learnt weights whether a sentence stands around an answer: an offer, a disclaimer, an opening.

A sentence is seen as its words, their classes (`@ask` is ask, contact, tell ...), the pairs and triples of
these, and the number of words that no ending has. `benchmarks/endings/train.py` makes the weights from
sentences that were written for it. No model and no library is needed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["sources", "offer", "disclaimer", "confidence"]
WEIGHTS = Path(__file__).with_name("endings.json")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[?!:()\[\]/%<>=|·@©™→★☆●○#$€\"“„]")  # noqa: RUF001
_DECORATED = ("*", "_", "(", "—", "–")  # noqa: RUF001
_ENDED = re.compile(r"[.!?:,…][*_)\"'”’\]]*\Z")  # noqa: RUF001
_WORD_AT = re.compile(r"[\W_]*+([^\W\d_]+)")
_LONGEST_WORD = 40
_BOT = ("bot", "bots")
_WORD = re.compile(r"[^\W\d_]{2}")
MOST_UNKNOWN = 5
"""The most unknown words of an ending: hardly any ending has more, and most sentences of an answer do."""
LEAST_CLOSING, LEAST_OPENING, _LEAST_PARAGRAPH = 0.8, 0.2, 0.4
"""The log-odds above which a last sentence in a line, a first one, and a last one in a paragraph of its own
are no part of what is said."""
_FRAGMENT = 1.5
"""What the log-odds of a few words must be higher by: they may be a name or a value that was asked for."""
_FEW = 4
_NEVER = -9.0
MOST_UNKNOWN_FIRST = 2
"""The most unknown words of an opening."""
_MOST_SIGNS = 2
"""So many unknown words more are allowed in the quick count, which takes a word and its comma for another
word."""
_LONGEST = 400
"""The longest sentence that is looked at, in characters."""


class Weights(NamedTuple):
    """The weights of features of last sentences (`closing`) and of first ones (`opening`), and of the kinds
    of the last ones. `known` are the words that endings have, `first` those by which openings begin, and
    `classes` the class of a word."""

    classes: dict[str, str]
    known: frozenset[str]
    first: frozenset[str]
    closing: dict[str, float]
    opening: dict[str, float]
    kinds: dict[Kind, dict[str, float]]


@lru_cache(maxsize=1)
def read_weights() -> Weights:
    """Read the weights that come with fathoms."""
    found = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return Weights(**{**found, "known": frozenset(found["known"]), "first": frozenset(found["first"])})


def words(text: str) -> list[str]:
    """Return the words and signs of a text in lower case; each number is `0`, the name of each bot `bot`."""
    text = text.lower()
    return [
        "0" if "0" <= word[0] <= "9" else "bot" if word.endswith(_BOT) else word
        for word in _TOKEN.findall(text if text.isascii() else text.replace("’", "'"))  # noqa: RUF001
    ]


def features(found: Sequence[str], classes: dict[str, str], unknown: int) -> list[str]:
    """Return the features of a sentence's words: the words, their classes and the pairs and triples of these,
    and how many are unknown. The same one may come twice."""
    named = ["^", *[classes.get(word, word) for word in found], "$"]
    pairs = [f"{one} {other}" for one, other in pairwise(named)]
    triples = [f"{pair} {other}" for pair, other in zip(pairs, named[2:], strict=False)]
    return [*found, *named, *pairs, *triples, f"@unknown {unknown}", f"@words {min(len(found) // 5, 5)}"]


def score(text: str, weights: dict[str, float], every: Weights, most: int = MOST_UNKNOWN) -> float:
    """Return the log-odds that a sentence stands around an answer, by the weights of one place. One with more
    than `most` unknown words does not."""
    if (
        len(text) > _LONGEST
        or _WORD.search(text) is None
        or len(set(text.lower().split()) - every.known) > most + _MOST_SIGNS
    ):
        return _NEVER
    found = words(text)
    unknown = sum([word not in every.known for word in found])
    if unknown > most or unknown == sum(map(str.isalpha, found)):
        return _NEVER
    seen = [
        weights[feature] for feature in set(features(found, every.classes, unknown)) if feature in weights
    ]
    return weights["@bias"] + sum(seen) / math.sqrt(max(len(seen), 1))


def kind(text: str, every: Weights) -> Kind:
    """Return the likeliest kind of a last sentence that stands around an answer."""
    return max(every.kinds, key=lambda name: score(text, every.kinds[name], every))


def kind_of(text: str, *, is_paragraph: bool = False) -> Kind | None:
    """Return what kind of ending a last sentence is, or None where it is a part of what is said."""
    every = read_weights()
    least = _LEAST_PARAGRAPH if is_paragraph else LEAST_CLOSING
    found = score(text, every.closing, every)
    if found <= least or (found <= least + _FRAGMENT and _is_fragment(text)):
        return None
    return kind(text, every)


def _is_fragment(text: str) -> bool:
    """Return whether a text is a few words without an end, a bracket or emphasis."""
    return len(words(text)) <= _FEW and not _ENDED.search(text) and not text.startswith(_DECORATED)


def is_opening(text: str) -> bool:
    """Return whether a first sentence or clause is none of what is said."""
    every = read_weights()
    return score(text, every.opening, every, MOST_UNKNOWN_FIRST) > LEAST_OPENING


def may_open(text: str, start: int) -> bool:
    """Return whether an opening may begin at a place, by its first word."""
    first = _WORD_AT.match(text, start, start + _LONGEST_WORD)
    return first is not None and first[1].lower() in read_weights().first
