"""The words of NLTK's `word_tokenize`, several times as fast.

NLTK splits a sentence by some 25 expressions that each go over the whole of it. All of them look at most at
the spaces around a piece, except those for the last full stop, so pieces can be split by themselves. Those of
words, numbers, brackets and single marks are split by one expression, and others by NLTK, and kept.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from fathoms.models.sentences import all_sentences

# possessive, so that no text takes long
_WORD = r"\w++(?:[-.]\w++)*+(?:\.(?!\.))?"
_PART = rf"[()\[\]{{}}<>;%?!*@#&$]|[,:](?![\d,:])|{_WORD}|\.(?=\Z|[()\[\]{{}}<>])"
_PARTS = re.compile(_PART)
_PLAIN = re.compile(rf"(?:{_PART})++")
_CONTRACTED = re.compile(r"\b(?:cannot|gimme|gonna|gotta|lemme|wanna)", re.IGNORECASE)
_CLOSES = re.compile("[\\])}>\"'\u00bb\u201d\u2019]*")
_STOP_INSIDE = re.compile(r"\.[\])}>]+\Z")


def nltk_words(text: str) -> list[str]:
    """Return the words of a text. Sentences are split by Punkt with a list of abbreviations, because NLTK's
    trained splitter must be downloaded."""
    return [word for sentence in all_sentences(text) for word in sentence_words(sentence)]


def sentence_words(sentence: str) -> list[str]:
    """Return the words of a sentence as NLTK's tokenizer splits it."""
    pieces = sentence.rstrip().split(" ")
    end = len(pieces) - 1
    while end > 0 and _CLOSES.fullmatch(pieces[end]):  # what may follow the last full stop
        end -= 1
    found: list[str] = []
    for at, piece in enumerate(pieces[:end]):
        found += _PARTS.findall(piece) if _is_plain(piece) else _split(piece, at == 0, False)
    last = " ".join(pieces[end:])
    if not _is_plain(last) or _STOP_INSIDE.search(last):
        return [*found, *_split(last, end == 0, True)]
    found += _PARTS.findall(last)
    if len(found[-1]) > 1 and found[-1].endswith("."):
        found[-1:] = [found[-1][:-1], "."]
    return found


def _is_plain(piece: str) -> bool:
    """Return whether a piece holds nothing but words, numbers, brackets and single marks."""
    return _PLAIN.fullmatch(piece) is not None and _CONTRACTED.search(piece) is None


@lru_cache(maxsize=100_000)
def _split(piece: str, is_first: bool, is_last: bool) -> tuple[str, ...]:
    """Return the words of a piece of a sentence; other words stand in for what is before and after it."""
    words = _tokenizer().tokenize(f"{'' if is_first else 'x '}{piece}{'' if is_last else ' x'}")
    return tuple(words[not is_first : len(words) - (not is_last)])


@cache
def _tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()
