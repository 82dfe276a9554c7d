"""Sentence boundaries by Punkt (Kiss and Strunk 2006) as NLTK 3.10 finds them without trained parameters.

Importing NLTK takes a second, and its Punkt takes several times as long as this one. Without trained
parameters, only these rules of the algorithm are left: a full stop ends a sentence unless it belongs to an
abbreviation, or to an initial or a number before a word that does not look like the first of a sentence; `?`
and `!` always do.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterator
from itertools import pairwise

_NOT_IN_WORDS = r"""[)";}\]*:@'({\[\u2018\u2019\u201c\u201d\xab\xbb!?]"""
_LONG_MARK = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_END = re.compile(rf"[.?!](?=(?P<after>{_NOT_IN_WORDS}|\s+(?P<next>\S+)))")
_WORD = re.compile(
    rf"""{_LONG_MARK}|(?=[^("`{{\[:;&#*@)}}\]\-,])\S+?"""
    rf"(?=\s|$|{_NOT_IN_WORDS}|{_LONG_MARK}|,(?=$|\s|{_NOT_IN_WORDS}|{_LONG_MARK}))|\S"
)
_CLOSING = re.compile(
    r"""["')\]}\u2018\u2019\u201c\u201d\xab\xbb]+?(?:\s+|(?=--)|$)""",
    re.MULTILINE,
)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.\-]*\.?")
_INITIAL = re.compile(r"[^\W\d]\.")
_MARKS = frozenset(";:,.!?")


def split(text: str, abbreviations: Collection[str] = frozenset()) -> list[str]:
    """Split a text into sentences, without the spaces between them. Abbreviations are in lower case and have
    no full stop at their end."""
    return [text[start:end] for start, end in _sentences(text, abbreviations)]


def pieces(text: str) -> list[str]:
    """Cut a text where its sentences begin, so that the spaces after a sentence belong to it."""
    starts = [start for start, _ in _sentences(text, frozenset())]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _sentences(text: str, abbreviations: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last place of each sentence."""
    for start, end in _with_closing_punctuation(text, _spans(text, abbreviations)):
        if text[start:end]:
            yield start, end


def _spans(text: str, abbreviations: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last place of each sentence, before closing marks are moved."""
    start = 0
    for found, context in _contexts(text):
        if _has_break(context, abbreviations):
            yield start, found.end()
            start = found.end() if found["next"] is None else found.start("next")
    yield start, len(text.rstrip())


def _contexts(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the marks that may end a sentence, each with the word before it and what follows. Of several in
    one word, only the last counts."""
    before: re.Match[str] | None = None
    start = end = 0  # of the word before the mark
    for found in _END.finditer(text):
        since = text[end : found.start()]
        space = max(map(since.rfind, string.whitespace))
        first = end + space + 1 if space > 0 else start
        if before is not None and end <= first:
            yield before, text[start : before.end()] + before["after"]
        before, start, end = found, first, found.start()
    if before is not None:
        yield before, text[start : before.end()] + before["after"]


def _has_break(context: str, abbreviations: Collection[str]) -> bool:
    """Return whether a sentence ends in a context, before its last word."""
    words = [word for line in context.split("\n") for word in _WORD.findall(line)]
    return any(_ends(word, after, abbreviations) for word, after in pairwise(words))


def _ends(word: str, after: str, abbreviations: Collection[str]) -> bool:
    """Return whether a word with its full stop, or a mark, ends a sentence, given the word after it."""
    if word in (".", "?", "!"):
        return True
    if not word.endswith(".") or word.endswith(".."):
        return False
    bare = word[:-1].lower()
    if bare in abbreviations or bare.rpartition("-")[2] in abbreviations:
        return False
    if _INITIAL.fullmatch(word):
        return not (after in _MARKS or after[0].islower() or after[0].isupper())
    return _NUMBER.fullmatch(word) is None or not (after in _MARKS or after[0].islower())


def _with_closing_punctuation(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences, with closing quotes and brackets moved to the sentence before them."""
    start, end = next(spans)
    for following, its_end in spans:
        if closing := _CLOSING.match(text[following:its_end]):
            yield start, following + len(closing[0].rstrip())
            following += closing.end()
        else:
            yield start, end
        start, end = following, its_end
    yield start, end
