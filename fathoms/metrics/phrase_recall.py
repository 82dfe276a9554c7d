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
  Japanese, Thai, Lao, Burmese, Khmer) have no boundaries, except that a run of katakana is one word. An
  Arabic word is found with and without the article, and after the conjunctions and prepositions that are
  written together with it. A number of five digits or more is also found with spaces between its groups of
  three digits. A phrase that is deliberately a stem ("hallucinat") is found only by `substring`.

Instead of a phrase, a variant can hold a richer form (`fathoms.types.GOLD_FORMS`): a number with its unit, a
date, a regular expression, a yes or no, words near one another, or a list. It counts as one phrase.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, compress
from operator import not_
from typing import Literal, NamedTuple

from fathoms.answers import Reading, read
from fathoms.answers.reading import PartKind
from fathoms.metrics.gold.matching import Place, places
from fathoms.text.folding import (
    KATAKANA,
    LETTER,
    fold_plain,
    fold_words,
    has_broken_words,
    trace_plain,
    trace_words,
    without_glue,
)
from fathoms.text.tracing import Traced
from fathoms.types import GoldDate, GoldNumber, GoldPhrase, GoldRegex, GoldYesNo

Match = Literal["substring", "word"]
Hyphens = Literal["both", "answer"]

_STARTS_WORD = re.compile(LETTER)
_ENDS_WORD = re.compile(rf"{LETTER}\Z")
_STARTS_KATAKANA = re.compile(KATAKANA)
_ENDS_KATAKANA = re.compile(rf"{KATAKANA}\Z")
_ARABIC = "[\u0620-\u064a\u066e-\u06d3]"
_STARTS_ARABIC = re.compile(f"{_ARABIC}+")
# The article, not in short words such as the name of God.
_ARTICLE = re.compile(rf"\u0627\u0644(?={_ARABIC}{{3}})")
# What is written together with the next word in Arabic: "and", "so"; the article, also after "in", "like" and
# "to"; and these three alone.
_CONJUNCTIONS = ("", "\u0648", "\u0641")
_ARTICLES = ("\u0627\u0644", "\u0628\u0627\u0644", "\u0643\u0627\u0644", "\u0644\u0644")
_SINGLE = ("", "\u0628", "\u0643", "\u0644")
# Digits after a comma are decimals if a percent or currency sign, a unit or "million" follows them.
_DECIMALS = (
    r"\d+\s?(?:[%‰°€$£¥₹]|"
    r"(?:[ckmµ]?m|km/h|[km]?g|[cdmh]?l|[kmg]?wh?|[kmg]?hz|[kmgt]b|ha|mill\w+)[23²³]?(?!\w))"
)
_STARTS_NUMBER = re.compile(r"\.?\d")
_ENDS_NUMBER = re.compile(r"\d\Z")
_SPACED = re.compile(
    r"(?<![\d.,] )(?<![\w.,])(?:[1-9]\d{1,2}(?: \d{3}){1,4}|[1-9](?: \d{3}){2,4})(?! ?\d)(?!\w)"
)
_MAY_BE_SPACED = re.compile(r"\d \d")
_DIGIT = re.compile(r"\d")
_LONG = re.compile(r"(?<![\w.,])[1-9]\d{3,14}(?!\w)")
_ENDS_IN_POINT = re.compile(r"\d[.,]\Z")


class Folded(str):
    """A folded text with the text as it was written (`raw`), in which numbers, dates and expressions are
    searched for. It is a `str`, because everything else needs the folded text only."""

    raw: str

    @cached_property
    def joined(self) -> str | None:
        """The text with words joined that are broken at the end of a line; `None` if there are none."""
        return fold_words(self.raw, hyphens=True, join=True) if has_broken_words(self.raw) else None

    @classmethod
    def of(cls, folded: str, raw: str) -> Folded:
        """Return a folded text with the text that it was made of."""
        text = cls(folded)
        text.raw = raw
        return text


class PhraseRecall(NamedTuple):
    """The phrase recall of a text.

    `value` is in [0, 1]. `variant` is the index of the best variant, or `None` if no variant has a phrase.
    `found` and `missed` are the phrases of that variant, as written in the gold answer.
    """

    value: float
    variant: int | None
    found: tuple[GoldPhrase, ...]
    missed: tuple[GoldPhrase, ...]


def phrase_recall(
    answer: str,
    variants: Iterable[Sequence[GoldPhrase]],
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


def reading_recall(
    reading: Reading, variants: Iterable[Sequence[GoldPhrase]], hyphens: Hyphens = "both"
) -> PhraseRecall:
    """Return the best phrase recall of an answer as it was read, by the rule `word`.

    Phrases are searched for in the plain text. A bare number is none that stands for a page, a heading, an
    item of a list or a citation. A phrase that the reading itself would set aside or change, such as `p. 12`
    or `[3]`, is searched for in the raw answer too, and so is any phrase where citations were set aside whose
    brackets may be text.
    """
    return _best(variants, ReadTexts(reading, hyphens).have)


class ReadTexts:
    """The forms of an answer in which phrases are searched for, each folded when it is first needed."""

    def __init__(self, reading: Reading, hyphens: Hyphens) -> None:
        self._reading = reading
        self._hyphens = hyphens
        self._folded: dict[str, Folded] = {}

    def have(self, phrase: GoldPhrase) -> bool:
        """Return whether a phrase is found in the answer."""
        reading = self._reading
        is_found = self._stands(phrase, reading.plain) or (
            isinstance(phrase, str)
            and (name := _without_scripts(phrase)) != phrase
            and self._stands(name, reading.plain)
        )
        if isinstance(phrase, GoldYesNo):
            return is_found
        if not isinstance(phrase, GoldRegex) and (not isinstance(phrase, str) or is_bare_number(phrase)):
            # what is found in the plain text may be the number of a page
            return (is_found and self._stands(phrase, reading.numbers)) or self._stands_aside(phrase)
        if is_found or reading.unreasoned == reading.plain:
            return is_found
        may_be_set_aside = (
            isinstance(phrase, GoldRegex)
            or is_changed(phrase)
            or (reading.cited and _MAY_CITE.search(phrase))
            or ("](" in reading.text and _MAY_BE_ADDRESS.search(phrase))
        )
        return (bool(may_be_set_aside) and self._stands(phrase, reading.unreasoned)) or self._stands_aside(
            phrase
        )

    def _stands_aside(self, phrase: GoldPhrase) -> bool:
        """Return whether what was set aside has a phrase that hardly stands there by chance, and so may be
        what was asked for: `Date: 2024-05-01`, `Reference: ISO 9001`, `Keep away from children.`"""
        if isinstance(phrase, GoldDate) or (isinstance(phrase, GoldNumber) and phrase.unit):
            return self._stands(phrase, self._reading.aside("disclaimer"))
        if not isinstance(phrase, str) or is_bare_number(phrase):
            return False
        kinds: list[PartKind] = ["disclaimer", "offer"] if len(phrase.split()) >= _LEAST_WORDS else []
        kinds += ["disclaimer", "sources"] if _NAMES.search(phrase) else []
        aside = self._reading.aside(*kinds) if kinds else ""
        return bool(aside) and self._stands(phrase, _MODEL_STAMP.sub("", aside))

    def _stands(self, phrase: GoldPhrase, text: str) -> bool:
        """Return whether a phrase stands in one of the texts."""
        found = self._folded.get(text)
        if found is None:
            if isinstance(phrase, GoldNumber | GoldDate | GoldYesNo):  # they are read in the text as written
                return stands_in((Folded.of(" ", text),), phrase, "word", self._hyphens)
            found = self._folded[text] = fold_text(text, "word")
        return bool(found.strip()) and stands_in((found,), phrase, "word", self._hyphens)


_LEAST_WORDS = 3
"""A phrase of fewer words stands in an offer or a disclaimer by chance."""
_MODEL_STAMP = re.compile(
    r"(?im)^[^\w\n]*(?:(?:generated|answered|created|written|powered) (?:by|with|using)\b.*"
    r"|model\b.*\b(?:\d(?: ?ms| ?s| ?sec| ?seconds| tokens| sources)|tokens|latency)\b.*)"
)
"""Matches the line by which a service says which model answered, and how fast: nobody asks for that."""
_NAMES = re.compile(r"\d|\w[/@]\w")
"""Matches what a name with a number or an address has, for which a list of sources may be asked."""
_SCRIPTED = re.compile(r"(?<![^\W_][^\W_])(?<=[^\W\d_])[_^]\{?(\d{1,2})\}?(?!\w)")
_FILE = re.compile(r"\S+\.[a-z]{2,5}")
_MAY_CITE = re.compile(r"[\d.]")
"""Matches what a phrase has that stands in a citation."""
_MAY_BE_ADDRESS = re.compile(r"[./@:#]")
"""Matches what the target of a link has, which is no part of the plain text."""
_BARE_NUMBER = re.compile(r"\W*[-+\u2212]?\d[\d.,' ]*\W*")


def _without_scripts(phrase: str) -> str:
    """Return a phrase with the indices and powers of its letters as formulas are read: `x1` for `x_1`."""
    return _SCRIPTED.sub(r"\1", phrase) if "_" in phrase or "^" in phrase else phrase


def is_bare_number(phrase: str) -> bool:
    """Return whether a gold phrase is nothing but a number."""
    return phrase[:1] not in "[(" and _BARE_NUMBER.fullmatch(phrase) is not None


@lru_cache(maxsize=16_384)
def is_changed(phrase: str) -> bool:
    """Return whether reading a gold phrase as an answer, or at the end of one, would change it."""
    texts = [phrase, f"It is {phrase}"]
    if not _FILE.fullmatch(phrase):  # a list of sources names files, whatever was asked
        texts.append(f"It is so.\n\n{phrase}")
    return any(read(text).plain != text for text in texts)


def fold_text(text: str, match: Match) -> Folded:
    """Fold a text by the rule of `match`, as `recall_in` needs it."""
    folded = fold_words(text, hyphens=True) if match == "word" else fold_plain(text, hyphens=True)
    return Folded.of(folded, text)


def searchable(variants: Iterable[Sequence[GoldPhrase]]) -> tuple[tuple[GoldPhrase, ...], ...]:
    """Return the variants without what can only be read in an answer: whether it says yes or no."""
    return tuple([tuple([part for part in variant if type(part) is not GoldYesNo]) for variant in variants])


def recall_in(
    texts: Sequence[str],
    variants: Iterable[Sequence[GoldPhrase]],
    match: Match = "substring",
    hyphens: Hyphens = "both",
) -> PhraseRecall:
    """Compute phrase recall as `phrase_recall` does, over several texts already folded by `fold_text`.

    A phrase counts as found if any of the texts contains it.
    """
    said = [text for text in texts if text and not text.isspace()]
    return _best(variants, lambda phrase: stands_in(said, phrase, match, hyphens))


def _best(variants: Iterable[Sequence[GoldPhrase]], stands: Callable[[GoldPhrase], bool]) -> PhraseRecall:
    """Return the recall of the best variant; `stands` says whether a phrase is found."""
    best = PhraseRecall(0.0, None, (), ())
    for index, phrases in enumerate(variants):
        if not phrases:
            continue
        matches = [stands(phrase) for phrase in phrases]
        value = sum(matches) / len(phrases)
        if best.variant is None or value > best.value:
            found, missed = compress(phrases, matches), compress(phrases, map(not_, matches))
            best = PhraseRecall(value, index, tuple(found), tuple(missed))
    return best


def stands_in(texts: Sequence[str], phrase: GoldPhrase, match: Match, hyphens: Hyphens) -> bool:
    """Return whether any of the folded texts contains the phrase, or the richer form of one."""
    if not texts:
        return False  # a phrase takes longer to prepare than to search for
    if not isinstance(phrase, str):
        return any(True for text in texts for _ in written_places(text, phrase, match, hyphens))
    if match == "substring":
        folded = fold_plain(phrase, hyphens=hyphens == "both")
        return any(folded in text for text in texts)
    whole = _as_written(phrase, hyphens)
    for text in texts:
        if _next_place(text, whole, 0) >= 0:
            return True
    others = _other_notations(phrase, hyphens)
    if others and any(_next_place(text, other, 0) >= 0 for text in texts for other in others):
        return True
    joined = [text.joined for text in texts if isinstance(text, Folded) and "\n" in text.raw]
    return any(text and _next_place(text, each, 0) >= 0 for text in joined for each in (whole, *others))


def spans(text: str, phrase: str, match: Match, hyphens: Hyphens) -> Iterator[tuple[int, int]]:
    """Yield the `(start, end)` places of a phrase in a folded text, from left to right and not overlapping.

    A phrase that is empty after folding has no places.
    """
    if match == "substring":
        wholes = [_Whole(fold_plain(phrase, hyphens=hyphens == "both"), _edge(""), _edge(""))]
    else:
        wholes = [_as_written(phrase, hyphens), *_other_notations(phrase, hyphens)]
    found = (_places(text, whole) for whole in wholes)
    yield from next(found) if len(wholes) == 1 else sorted(chain.from_iterable(found))


def _places(text: str, whole: _Whole) -> Iterator[tuple[int, int]]:
    """Yield the places of one notation of a phrase in a folded text."""
    size = len(whole.phrase)
    at = _next_place(text, whole, 0)
    while at >= 0:
        yield at, at + size
        at = _next_place(text, whole, at + size)


def _next_place(text: str, whole: _Whole, start: int) -> int:
    """Return where one notation of a phrase stands in a folded text from `start` on, -1 if nowhere."""
    phrase, left, right = whole
    at = text.find(phrase, start) if phrase else -1
    while at >= 0 and not (left.match(text, at) and right.match(text, at + len(phrase))):
        at = text.find(phrase, at + 1)
    return at


def written_places(text: str, phrase: GoldPhrase, match: Match, hyphens: Hyphens) -> Iterator[Place]:
    """Yield the places of a phrase or of a richer form in a folded text, as places of the text as written."""
    raw = text.raw if isinstance(text, Folded) else text

    def find(plain: str) -> list[Place]:
        if found := list(spans(text, plain, match, hyphens)):
            traced = _traced(raw, match)
        elif match == "word" and isinstance(text, Folded) and (joined := text.joined) is not None:
            found = list(spans(joined, plain, match, hyphens))
            traced = trace_words(raw, hyphens=True, join=True)
        return [traced.span(*span) for span in found] if found else []

    yield from places(phrase, raw, find)


@lru_cache(maxsize=4)
def _traced(raw: str, match: Match) -> Traced:
    """Fold a text with the original place of each character; cached for the phrases of one text."""
    return (trace_words if match == "word" else trace_plain)(raw, hyphens=True)


class _Whole(NamedTuple):
    """A folded phrase, with the patterns that must match at its start and at its end."""

    phrase: str
    left: re.Pattern[str]
    right: re.Pattern[str]


@lru_cache(maxsize=16_384)
def fold_phrase(phrase: str, hyphens: Hyphens = "both") -> str:
    """Fold a gold phrase by the `word` rule; cached, because it is searched for in several texts."""
    return fold_words(phrase, hyphens=hyphens == "both")


@lru_cache(maxsize=16_384)
def _as_written(phrase: str, hyphens: Hyphens) -> _Whole:
    """Prepare a phrase for the `word` rule; cached, like its few distinct patterns, which compile slowly."""
    folded = fold_phrase(phrase, hyphens)
    if _MAY_BE_SPACED.search(folded):
        folded = _SPACED.sub(lambda number: number[0].replace(" ", ""), folded)
    if article := _ARTICLE.match(folded):
        folded = folded[article.end() :]
    return _Whole(folded, _edge(_left_edge(folded)), _edge(_right_edge(folded)))


@lru_cache(maxsize=16_384)
def _other_notations(phrase: str, hyphens: Hyphens) -> tuple[_Whole, ...]:
    """Prepare the other notations of a phrase: with spaces in its long numbers, and those of `_notations`."""
    folded, left, right = _as_written(phrase, hyphens)
    found = []
    spaced = folded
    if len(folded) > 3:
        spaced = _LONG.sub(lambda number: f"{int(number[0]):,}".replace(",", " "), folded)
    if spaced != folded:
        edges = rf"(?<!\d ){left.pattern}", rf"(?! \d{{3}}(?!\d)){right.pattern}"
        found.append(_Whole(spaced, *map(_edge, edges)))
    for other in dict.fromkeys(_notations(folded, phrase)):
        found.append(_Whole(other, _edge(_left_edge(other)), _edge(_right_edge(other))))
    return tuple(found)


_PERCENT = re.compile(r"(?<=\d)(?:%| ?(?:percent|per cent|pct)\b\.?)")
_TIMES = re.compile(r"(?<=\d) ?(?:×|x|times)(?!\w)")  # noqa: RUF001
_HYPHENED = re.compile(r"(?<=[^\W\d_]{2})-(?=[^\W\d_]{2})")
_HANGUL = re.compile("(?<=[\uac00-\ud7a3])(?=[\uac00-\ud7a3])")
# Answers too, not only the text of PDFs: a service copies the reversed pair that its own parser reads. Only
# after three letters beside the article, because short words with either order exist (peace and safe).
_LAM_ALEF = re.compile(
    f"(?<={_ARABIC}{{3}})(?<!\u0627\u0644{_ARABIC})(?<!\u0627\u0644{_ARABIC}{{2}})\u0644\u0627"
)
_BELOW = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-")
_MOST_BREAKS = 12


def _notations(folded: str, phrase: str) -> Iterator[str]:
    """Yield other notations of a folded phrase that mean the same as the `phrase` that was folded.

    A number without the space before its unit, because `5M` and `5 m` are written alike once they are folded;
    percent and times in words and signs; a word without its hyphen; a Korean word with a space, because lines
    end inside words and spacing varies; and the pair lam-alef reversed inside a word, as fonts of PDFs give
    it.
    """
    if _DIGIT.search(folded):
        if (glued := without_glue(folded)) != folded:
            yield glued
        if _PERCENT.search(folded):
            yield from (_PERCENT.sub(sign, folded) for sign in ("%", " percent", " per cent", " pct"))
        if _TIMES.search(folded):
            yield from (_TIMES.sub(sign, folded) for sign in ("x", "×", " x", " ×", " times"))  # noqa: RUF001
    if "-" in phrase or not phrase.isascii():
        hyphened = fold_phrase(phrase.replace("-", "\u2010"), "answer")
        if _HYPHENED.search(hyphened):
            yield _HYPHENED.sub("", hyphened)
    if folded.isascii():
        return
    if (plain := folded.translate(_BELOW)) != folded:
        yield plain
    breaks = [found.start() for found in _HANGUL.finditer(folded)]
    for at in breaks if len(breaks) <= _MOST_BREAKS else ():
        yield f"{folded[:at]} {folded[at:]}"
    if _LAM_ALEF.search(folded):
        yield _LAM_ALEF.sub("\u0627\u0644", folded)


@lru_cache
def _edge(pattern: str) -> re.Pattern[str]:
    """Compile a condition on a place in a text; cached."""
    return re.compile(pattern)


def _left_edge(phrase: str) -> str:
    """Return a pattern that rejects a letter, a digit or the rest of a number before the phrase."""
    edge = rf"(?<!{LETTER})" if _STARTS_WORD.match(phrase) else ""
    if _STARTS_KATAKANA.match(phrase):
        return rf"(?<!{KATAKANA})"
    if word := _STARTS_ARABIC.match(phrase):
        return "(?:" + "|".join([edge, *_clitics(len(word[0]))]) + ")"
    if not _STARTS_NUMBER.match(phrase):
        return edge
    if phrase.startswith("."):
        return r"(?<![\w.])"
    # "1" is not found in "-1" or "0.1", nor in ".1" at the beginning of the text or of a word.
    edge += r"(?<!-)(?<!\d\.)(?<![^\w.]\.)(?<!\A\.)"
    return edge + rf"(?!(?<=\d,){_DECIMALS})"


def _clitics(length: int) -> Iterator[str]:
    """Yield the patterns of what can stand together with an Arabic word of this length before it.

    A single letter is a clitic only before three letters or more, as "and" is in light10,
    because many short words begin with such a letter.
    """
    for first in _CONJUNCTIONS:
        for second in (*(_ARTICLES if length > 1 else ()), *(_SINGLE if length > 2 else ())):
            if first or second:
                yield rf"(?<=(?<!{LETTER}){first}{second})"


def _right_edge(phrase: str) -> str:
    """Return a pattern that rejects a letter, a digit or the rest of a number after the phrase."""
    edge = rf"(?!{LETTER})" if _ENDS_WORD.search(phrase) else ""
    if _ENDS_KATAKANA.search(phrase):
        return rf"(?!{KATAKANA})"
    if _ENDS_NUMBER.search(phrase):
        # "1" is not found in "1.5", but it is found in "1." at the end of a sentence.
        return edge + rf"(?!\.\d)(?!,{_DECIMALS})"
    return r"(?!\d)" if _ENDS_IN_POINT.search(phrase) else edge
