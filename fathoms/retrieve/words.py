"""Splitting text into words by its script, for keyword search in languages that `\\w+` cannot split.

Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces between words. They are split by
the dictionaries of ICU (Unicode's own library, which browsers use for this), with the package `icu4py`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

import regex

from fathoms.errors import MissingExtraError

# `\w` of `re` has no marks, and would end a word at the vowel signs of Thai, Hindi and Arabic.
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}_]+")
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_HANGUL = regex.compile(r"(\p{Hangul}+)")
_ARABIC = regex.compile(r"\p{Arabic}")
# The normalisation of light10 (Larkey, Ballesteros and Connell, SIGIR 2002), and the Persian forms of kaf and
# ya. Ta marbuta is made equal to ha only in the stem, because it is an ending that the stemmer removes. The
# stemmer removes the article, too, but not where a conjunction stands before it.
_INTERCHANGED = str.maketrans("أإآٱىیک", "ااااييك", "\u0640")
_MARKS = regex.compile(r"\p{M}+")
_CONJUNCTION = regex.compile(r"^[وف](?=ال\w{3})")

Stem = Callable[[str], str]


def split(text: str, stem_arabic: Stem = str) -> list[str]:
    """Return the words of a text of any languages, in lower case and in order.

    - Scripts without spaces between words are split by ICU. Compatibility forms, such as full-width digits,
      are normalised (NFKC).
    - Korean words carry particles at their end. A word becomes its syllables and the pairs of neighbouring
      ones, as in Lucene's CJKBigramFilter with `outputUnigrams`, so that a noun is found with any particle.
    - Arabic script loses its vowel marks, and letters that are often interchanged become one; `stem_arabic`
      then makes the stem of a word.
    - All other words are runs of letters with their marks, digits and `_`.
    """
    words: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if word.isascii():
            words.append(word)
            continue
        for piece in _HANGUL.split(word):
            if _HANGUL.match(piece):
                words += _syllables(piece)
            elif piece:
                words += _pieces(piece, stem_arabic)
    return words


def require() -> None:
    """Raise MissingExtraError if `icu4py` is not installed."""
    try:
        import icu4py.breakers  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("icu4py", "bm25-languages", "retrieve.tokenizer 'auto'") from error


def _syllables(word: str) -> Iterator[str]:
    """Yield the syllables of a Korean word, each followed by its pair with the next one."""
    for at, syllable in enumerate(word):
        yield syllable
        if at + 1 < len(word):
            yield word[at : at + 2]


def _pieces(word: str, stem_arabic: Stem) -> Iterator[str]:
    """Yield the words of a run of characters without spaces and Korean syllables."""
    if UNSPACED.search(word):
        from icu4py.breakers import WordBreaker

        yield from map(str, WordBreaker(word, "root"))
    elif _ARABIC.search(word):
        plain = _MARKS.sub("", word).translate(_INTERCHANGED)
        if plain:
            yield stem_arabic(_CONJUNCTION.sub("", plain)).replace("ة", "ه")  # noqa: RUF001
    else:
        yield word
