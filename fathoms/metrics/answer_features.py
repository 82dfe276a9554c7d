"""What the linear abstention classifier sees of an answer: its sentences, their n-grams, and features on top.

A sentence becomes two rows of tokens. In the first, words of the same use share a class (`does not mention`
and `doesn't state` are the same), determiners are left out, and a run of other words is one token. In the
second, words that are common in the training text stand for themselves. N-grams of both are hashed into
`BUCKETS` numbers. The classifier gives each sentence a score per `HEADS`, and `features` sums up the scores
of an answer. The words of the whole answer (`whole_ngrams`) and all words at its end (`ending_ngrams`) are
weighed beside these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import compress, islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

HEADS = ("silent", "unable", "commits", "refuses", "asks")
"""What a sentence may do: say that something is missing (or refuse), say that the question cannot be
answered, give an answer, refuse, or ask back."""
BUCKETS = 1 << 16
WIDE = 1 << 20
"""The buckets of the n-grams of whole answers. There are so many because few n-grams have a weight, and the
others must not fall into their buckets."""

_MARKS = {
    **dict.fromkeys("*`", ""),
    **dict.fromkeys("\u2019\u2018\u00b4\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u00a0\u202f\u2009", " "),
    "\u200b": "",
}
# It begins with a set of characters, by which Python skips other text quickly.
_ASIDE = re.compile(
    r"[!\[(h#](?:(?<=!)\[[^\]]{0,2000}\](?:\([^)]{0,2000}\))?|(?<=\[)\d[\d, ]{0,40}\]|(?<=\()image ?\d+\)"
    r"|(?<=h)ttps?://\S+|(?<=^#)#{0,5} .{0,99}$)",
    re.MULTILINE,
)
"""Pictures, citations, addresses and headings, which state nothing."""
_END = r" (?<=[.!?] )(?<!\.\w\. )(?<!\bfig\. )(?<!\bvs\. )(?<!\b[md]r\. )| (?<=[.!?][\"')\]] )|\n\n*"
_SENTENCE_END = re.compile(_END)
_SENTENCE_END_ANYWHERE = re.compile(rf"{_END}|(?<=[\u3002\uff01\uff1f\uff1b\u061f])")
"""The same with the full stops of Chinese, Japanese and Arabic, after which there may be no space."""
_LETTER = re.compile(r"\w")
_IDEOGRAPHS = r"[\u3040-\u30ff\u3400-\u9fff]"
_ASCII_TOKEN = r"[A-Za-z]+(?:'[A-Za-z]+)*|[:,;?\"(]|[0-9]+(?:[.,:][0-9]+)*%?"
"""What `_TOKEN` is in ASCII, which is read faster."""
_TOKEN = rf"{_IDEOGRAPHS}|\d+(?:[.,:]\d+)*%?|[^\W\d_]+(?:'[^\W\d_]+)*|[:,;?\"(]"

_OTHER, _NUMBER, _EDGE, _FIRST_CLASS = 1, 2, 3, 4
_BITS = 16
_LONGEST_OF_CLASSES, _LONGEST_OF_WORDS = 5, 3
_ENDING = 2
"""The last sentences of an answer, whose plain words count."""
_PLAIN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")
_MOST_STORED = 100_000
_LONG = 60
"""The n-grams of a sentence from which on it is checked for loops."""
_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_BOUND = 8.0
"""Scores of sentences are cut at this absolute value: beyond it, a sentence is no more certain."""


class Sentence(NamedTuple):
    """The scores of a sentence by head, and whether it has a number, a guess (`about`), or begins with a
    conclusion or a turn (`however`)."""

    silent: float
    unable: float
    commits: float
    refuses: float
    asks: float
    number: bool
    guess: bool
    concludes: bool
    turns: bool


class _Codes(dict[str, int]):
    """The code of every known word: its class, and the number of the word itself in the lower bits. The codes
    of other words are kept too, up to a limit, because looking one up is faster than finding it out."""

    def __missing__(self, token: str) -> int:
        code = _NUMBER << _BITS | _NUMBER if token[0].isdigit() else _OTHER << _BITS | _OTHER
        if len(self) < _MOST_STORED:
            self[token] = code
        return code


class Tokens(NamedTuple):
    """The tokens of several sentences in one row, with an edge before and after each sentence: their classes,
    their words, and the number of the sentence of each."""

    classes: NDArray[np.uint64]
    words: NDArray[np.uint64]
    owners: NDArray[np.int64]


class Lexicon:
    """The classes of words (`nothing` first, whose words are left out), and the words that stand for
    themselves."""

    def __init__(self, classes: Mapping[str, Sequence[str]], words: Sequence[str]) -> None:
        of: dict[str, int] = {}
        for number, members in enumerate(classes.values(), _FIRST_CLASS):
            for word in members:
                of.setdefault(word, number)
        places = {word: number for number, word in enumerate(words, _FIRST_CLASS)}
        self._codes = _Codes(
            {word: of.get(word, _OTHER) << _BITS | places.get(word, _OTHER) for word in of | places}
        )
        names = dict(zip(classes, range(_FIRST_CLASS, _FIRST_CLASS + len(classes)), strict=True))
        self.guess, self.therefore = names["guess"], names["therefore"]
        self.however = names["however"]
        # Chinese and Japanese have no spaces: known words of several characters are tried first.
        together = [word for word in of if re.match(f"{_IDEOGRAPHS}{{2}}", word)]
        self._token = re.compile(_ASCII_TOKEN)
        self._token_anywhere = re.compile("|".join([*sorted(together, key=lambda w: (-len(w), w)), _TOKEN]))

    def read(self, sentences: Sequence[str]) -> Tokens:
        """Return the tokens of some sentences."""
        codes, lengths, code = [], [], self._codes.__getitem__
        edge = _EDGE << _BITS | _EDGE
        for sentence in sentences:
            pattern = self._token if sentence.isascii() else self._token_anywhere
            found = pattern.findall(_spelt_out(sentence))
            codes.append(edge)
            codes.extend(map(code, found))
            codes.append(edge)
            lengths.append(len(found) + 2)
        flat = np.array(codes, dtype=np.uint64)
        mask = np.uint64((1 << _BITS) - 1)
        return Tokens(flat >> np.uint64(_BITS), flat & mask, np.repeat(np.arange(len(lengths)), lengths))


def split_sentences(text: str) -> list[str]:
    """Split an answer into sentences and lines, in lower case, without mark-up, pictures and citations."""
    # One by one, because this is many times faster than `str.translate` is with other than ASCII.
    for mark, plain in islice(_MARKS.items(), 2 if text.isascii() else None):
        text = text.replace(mark, plain)
    plain = _ASIDE.sub(" ", text.lower())
    end = _SENTENCE_END if plain.isascii() else _SENTENCE_END_ANYWHERE
    return [part.strip() for part in end.split(plain) if _LETTER.search(part)]


def _spelt_out(text: str) -> str:
    """Return a text in which `not` stands for `n't`, so that both are the same words. It is in lower case."""
    if "n't" in text:
        text = text.replace("can't", "cannot").replace("won't", "will not").replace("n't", " not")
    return text


def ngrams(tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the hashed n-grams of all sentences, and the number of the sentence that each belongs to.

    In a long sentence that says the same again and again, as small models do, each counts once.
    """
    of_classes = _hashed(tokens.classes, tokens.owners, _LONGEST_OF_CLASSES, 11, BUCKETS, runs=True)
    of_words = _hashed(tokens.words, tokens.owners, _LONGEST_OF_WORDS, 29, BUCKETS, runs=False)
    hashes, owners = (
        np.concatenate([of_classes[0], of_words[0]]),
        np.concatenate([of_classes[1], of_words[1]]),
    )
    totals = np.bincount(owners)
    long = _may_loop(hashes, owners, totals)[owners]
    if not long.any():
        return hashes, owners
    once = distinct(owners[long] * BUCKETS + hashes[long])
    loops = np.bincount(once // BUCKETS, minlength=len(totals)) * 2 < totals
    rest, once = ~(long & loops[owners]), once[loops[once // BUCKETS]]
    return np.concatenate([hashes[rest], once % BUCKETS]), np.concatenate([owners[rest], once // BUCKETS])


def _may_loop(
    hashes: NDArray[np.int64], owners: NDArray[np.int64], totals: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return which sentences may say the same again and again: long ones that have few different n-grams,
    of which only 8 bits are compared here, because that is many times faster than sorting them."""
    long = totals > _LONG
    inside = long[owners]
    found = np.zeros((np.count_nonzero(long), 256), dtype=bool)
    found[(np.cumsum(long) - 1)[owners[inside]], hashes[inside] % 256] = True
    long[long] = found.sum(axis=1) * 2 < totals[long]
    return long


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values in ascending order; several times faster than `numpy.unique` here."""
    # A stable sort is the faster one of values that come in several runs, each nearly in order.
    ordered: NDArray[np.int64] = np.sort(values, kind="stable")
    unique: NDArray[np.int64] = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]]
    return unique


def whole_ngrams(tokens: Tokens, answers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the hashed n-grams of the known words of whole answers, and the number of the answer that each
    belongs to. `answers` has the number of the answer of each sentence."""
    return _hashed(tokens.words, answers[tokens.owners], _LONGEST_OF_WORDS, 29, WIDE, runs=False)


def ending_ngrams(answers: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the hashed n-grams of all words in the last sentences of answers, and the number of the answer
    that each belongs to. `answers` holds the sentences of each answer."""
    codes, lengths = [], []
    for sentences in answers:
        found = _PLAIN.findall(_spelt_out(" ".join(sentences[-_ENDING:])))
        codes.extend([crc32(word.encode()) for word in found])
        lengths.append(len(found))
    owners = np.repeat(np.arange(len(lengths)), lengths)
    return _hashed(np.array(codes, dtype=np.uint64), owners, _LONGEST_OF_WORDS, 47, WIDE, runs=False)


def _hashed(
    flat: NDArray[np.uint64], owner: NDArray[np.int64], longest: int, salt: int, buckets: int, *, runs: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hash the n-grams of up to `longest` tokens into `buckets` numbers.

    Runs of equal tokens count once: with `runs` of any token, otherwise of unknown words and numbers. With
    `runs`, the first class is left out.
    """
    if runs:
        stays = flat != _FIRST_CLASS
        flat, owner = flat[stays], owner[stays]
    again = (flat[1:] == flat[:-1]) & (owner[1:] == owner[:-1])
    if not runs:
        again &= flat[1:] <= _NUMBER
    first = np.concatenate([[True], ~again]) if len(flat) else np.ones(0, dtype=bool)
    flat, owner = flat[first], owner[first]
    found, owners = [], []
    mixed = np.full(len(flat), salt, dtype=np.uint64)
    for more in range(min(longest, len(flat))):
        size = len(flat) - more
        mixed = (mixed[:size] * _FACTOR + flat[more:] + np.uint64(1)) * _MIX
        mixed ^= mixed >> np.uint64(29)
        within = owner[:size] == owner[more:]
        found.append(((mixed >> np.uint64(40)) & np.uint64(buckets - 1))[within].astype(np.int64))
        owners.append(owner[:size][within])
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(found), np.concatenate(owners)


def described(lexicon: Lexicon, tokens: Tokens, scores: NDArray[Any]) -> list[Sentence]:
    """Return the sentences of these tokens, of which `scores` are the scores by head."""
    count, classes, owners = len(scores), tokens.classes, tokens.owners
    begins = np.searchsorted(owners, np.arange(count))
    near = np.arange(len(owners)) - begins[owners] < 4
    at_begin = [(classes == word) & near for word in (lexicon.therefore, lexicon.however)]
    flags = [
        (np.bincount(owners[mask], minlength=count) > 0).tolist()
        for mask in (classes == _NUMBER, classes == lexicon.guess, *at_begin)
    ]
    limited = np.clip(scores, -_BOUND, _BOUND).tolist()
    return [Sentence(*values, *present) for values, *present in zip(limited, *flags, strict=True)]


def features(sentences: Sequence[Sentence], characters: int) -> list[float]:
    """Return the features of an answer of at least one sentence and of this many characters.

    They say how certain the sentences are that something is missing, that the question cannot be answered,
    and that this is the answer: at the beginning, at the end and anywhere, and what comes after what.
    """
    silent, unable, commits, _, _, number, guess, concludes, _ = zip(*sentences, strict=True)
    count = len(sentences)
    places = range(count)
    top = max(places, key=silent.__getitem__)
    barred = max(places, key=unable.__getitem__)
    hot = [place for place in places if silent[place] > 0]
    first, last = (hot[0], hot[-1]) if hot else (top, top)
    after, before = slice(last + 1, count), slice(first)
    left, span, root = count - 1 - last, max(count - 1, 1), math.sqrt(count)
    at_end, at_start = left <= 1, first <= 1
    values: list[float] = []
    for scores in (silent, unable):
        second = sorted(scores)[-2] if count > 1 else -4.0
        values += [max(scores), second, scores[0], scores[-1]]
        values += [max(scores[-2:]), max(scores[:2]), max(scores[-3:])]
    values += [max(commits), commits[-1], max(commits[-2:])]
    values += [
        max(commits[after], default=-6.0),
        max(commits[before], default=-6.0),
        max(commits[barred + 1 :], default=-6.0),
        max(compress(commits[barred + 1 :], concludes[barred + 1 :]), default=-6.0),
    ]
    values += [sum(scores[-3:]) / min(count, 3) for scores in (silent, commits)]
    values += [sum([max(score, -1.0) for score in unable[-3:]]) / min(count, 3), sum(silent) / count]
    values += [len(hot) / count, sum([score > 0 for score in unable]) / root]
    values += [sum([score > 1 for score in silent]) / root]
    values += [
        sum([number[place] and silent[place] < 0 and commits[place] > 0 for place in places]) / root,
        top / span if count > 1 else 0.5,
        last / span if count > 1 else 1.0,
        barred / span if count > 1 else 0.5,
        math.log(count),
        math.log(characters + 1),
        min(left, 8),
        min(count - 1 - barred, 6) if unable[barred] > 0 else 0,
        unable[-1] - commits[-1],
        unable[barred] - commits[barred],
        silent[top] / 4 if at_end else 0.0,
        silent[top] / 4 if at_start else 0.0,
    ]
    values += [
        any(number[after]),
        any(number[before]),
        number[top],
        any(guess),
        any(guess[after]),
        any(guess) and any(guess[place] and silent[place] < 0 for place in places),
        guess[top],
        concludes[top],
        concludes[last],
        any(concludes[place] for place in hot),
        any(concludes) and any(concludes[place] and number[place] and silent[place] <= 0 for place in places),
        count == 1,
        at_end,
        first == 0,
        at_start,
        at_start and at_end,
    ]
    return values + _after_turns(sentences, first, last)


def _after_turns(sentences: Sequence[Sentence], first: int, last: int) -> list[float]:
    """Return the features of sentences that begin with a turn, such as "However": an answer that says what
    one place lacks may go on with what another place has, or the other way round. `first` and `last` are the
    places of the sentences that say that something is missing."""
    turned = [each for each in sentences[first + 1 :] if each.turns]
    spoken = [each for each in turned if each.silent <= 0]
    return [
        any(each.turns and each.silent > 0 for each in sentences),
        any(each.turns for each in sentences[last + 1 :]),
        sentences[last].turns and last == len(sentences) - 1,
        bool(spoken),
        any(each.number for each in spoken),
        max([each.commits - each.silent for each in turned], default=-6.0) / 2,
    ]
