"""The words of `word_tokenize` of NLTK 3.10, many times as fast.

NLTK splits a sentence by some 25 expressions that each go over the whole of it. All of them look at most at
the spaces around a piece, except those for the last full stop, so each piece can be split by itself, and
kept. Those without straight quotes and runs of dots or dashes are split by one expression, and others by the
rules of NLTK, which is not imported, because that takes a second.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from fathoms.models.sentences import all_sentences

_MARKS = r"()\[\]{}<>;%?!*@#&$\u00ab\u201c\u2018\u201e\u00bb\u201d\u2019\u2012-\u2015"
"""What is a word by itself."""
# possessive, so that no text takes long
_WORD = rf"""(?:[^\s{_MARKS}'"`.,:\-]|(?<!\.)\.(?!\.)|(?<!-)-(?!-)|[,:](?=\d))++"""
_PART = rf"[{_MARKS}]|[,:](?![\d,:])|{_WORD}"
_PARTS = re.compile(_PART)
_PLAIN = re.compile(rf"(?:\n|{_PART})++")
_CONTRACTED = re.compile(r"\b(?:cannot|gimme|gonna|gotta|lemme|wanna)", re.IGNORECASE)
_CLOSES = re.compile("[\\])}>\"'\u00bb\u201d\u2019]*")
_STOP_INSIDE = re.compile("\\.[\\])}>\u00bb\u201d\u2019]+\\Z")

_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        ("([\u00ab\u201c\u2018\u201e]|`+)", r" \1 "),  # quotes that open
        ('^"', "``"),
        ("(``)", r" \1 "),
        (r"""([ (\[{<])("|'{2})""", r"\1 `` "),
        (r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        ("([^.])(\\.)([\\])}>\"'\u00bb\u201d\u2019 ]*+)\\s*$", r"\1 \2 \3 "),  # the last full stop
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        ("(\\.{2,}|[;@#$%&\u2012-\u2015])", r" \1 "),
        (r"""([^.])(\.)([\])}>"']*)\s*$""", r"\1 \2\3 "),
        (r"([?!])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"([*\[\](){}<>]|--)", r" \1 "),
        (r"\A|\Z", " "),
        ("([\u00bb\u201d\u2019])", r" \1 "),  # quotes that close
        (r"""''|\"""", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),  # endings
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        (
            r"(?i)\b(can(?=not)|d(?='ye)|gim(?=me)|gon(?=na)|got(?=ta)|lem(?=me)|more(?='n))"
            r"(not|'ye|me|na|ta|'n)\b",
            r" \1 \2 ",
        ),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
]
"""What NLTK's tokenizer replaces by what, in its order."""


def nltk_words(text: str) -> list[str]:
    """Return the words of a text. Sentences are split by Punkt with a list of abbreviations, because NLTK's
    trained splitter must be downloaded."""
    return [word for sentence in all_sentences(text) for word in sentence_words(sentence)]


def sentence_words(sentence: str) -> list[str]:
    """Return the words of a sentence, without white space at its end, as NLTK's tokenizer splits it."""
    pieces = sentence.split(" ")
    end = len(pieces) - 1
    while end > 0 and _CLOSES.fullmatch(pieces[end]):  # what may follow the last full stop
        end -= 1
    last = " ".join(pieces[end:])
    if end == 0:
        return list(_split(last, is_first=True, is_last=True))
    between = chain.from_iterable(map(_split, pieces[1:end]))
    return [*_split(pieces[0], is_first=True), *between, *_split(last, is_last=True)]


@lru_cache(maxsize=100_000)
def _split(piece: str, is_first: bool = False, is_last: bool = False) -> tuple[str, ...]:
    """Return the words of a piece of a sentence; other words stand in for what is before and after it."""
    if _is_plain(piece) and not (is_last and _STOP_INSIDE.search(piece)):
        words: list[str] = _PARTS.findall(piece)
        if is_last and len(words[-1]) > 1 and words[-1].endswith("."):
            words[-1:] = [words[-1][:-1], "."]
        return tuple(words)
    words = _by_rules(f"{'' if is_first else 'x '}{piece}{'' if is_last else ' x'}")
    return tuple(words[not is_first : len(words) - (not is_last)])


def _is_plain(piece: str) -> bool:
    """Return whether a piece is split by one expression."""
    return _PLAIN.fullmatch(piece) is not None and _CONTRACTED.search(piece) is None


def _by_rules(text: str) -> list[str]:
    """Return the words of a text as NLTK's tokenizer splits it."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.split()
