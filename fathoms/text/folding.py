"""Normalise text before a phrase is searched for in an answer.

There are two rules. `fold_plain` is the rule of the code that FATHOMS-RAG released (the paper does not
mention it): lower case, and `-` becomes a space. `fold_words` is our own rule, for whole-word matching. It
also removes differences of spelling that carry no meaning:

- Unicode: case, compatibility forms (ligatures, full-width digits, non-breaking spaces), curly quotes and
  invisible characters. Superscripts and fractions are kept, because 10² is not 102; superscript letters after
  a digit become letters (`1ᵉʳ`).
- Digits of all scripts, and the Arabic decimal, thousands and percent signs, become ASCII.
- Arabic: vowel marks and the tatweel are removed, and letters that are often interchanged become one: the
  normalisation of light10 (Larkey, Ballesteros and Connell 2002), and the Persian forms of kaf and ya.
- Japanese: a long vowel mark at the end of a katakana word of four characters or more is removed, because it
  is optional (JIS Z 8301).
- Line ends: a line break between characters of a script without spaces is none, and neither is a soft hyphen
  there. With `join`, a hyphen at the end of a line between lower-case letters is none either
  (`coordina-\ntion`; not `COVID-\n19`); both readings are needed, because a word may have a hyphen of its
  own.
- Units: a number that is written together with its unit is separated from it (`41.5m`, `20℃`), and
  superscript digits after a letter become digits (`m²`).
- White space: each run of white space, including line breaks, becomes one space. None stands before `%`.
- Markdown emphasis around words: `**7.0**%` becomes `7.0%`.
- Thousands separators: `5,592,245`, `5.592.245`, `5'592'245`, the Indian `55,92,245`, and `5 592 245` with
  narrow or non-breaking spaces, become `5592245`. `5.592` is not changed, because its point can be a decimal
  point.
- Dashes: a minus sign before a number is kept; every other dash becomes a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from fathoms.text.joining import LOWER, NO_SPACES
from fathoms.text.tracing import Traced

LETTER = (
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Matches a word character, except those of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which are
written without spaces between words."""
KATAKANA = "[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]"
"""Matches a katakana: a run of them is kept together, as by Unicode's rules for word boundaries (UAX #29)."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Unicode decompositions that would change the meaning of a number: 10² would become 102.
_MEANINGFUL = ("<super>", "<sub>", "<fraction>")
_REPLACED = {
    **dict.fromkeys("‐‑‒–—―−⁃﹘﹣－", "-"),  # noqa: RUF001
    **dict.fromkeys("‘’‚‛′", "'"),  # noqa: RUF001
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("•‧∙⋅・･", "·"),
    **{"œ": "oe", "Œ": "oe", "æ": "ae", "Æ": "ae"},
    "\u0640": "",
}
_VOWEL_MARKS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]")
# Letters of Arabic that are often interchanged: hamza on alef, ya and alef maqsura, ha and ta marbuta.
_INTERCHANGED = str.maketrans("أإآٱىةیک", "اااايهيك")
_ARABIC_SIGNS = str.maketrans("\u066b\u066c\u066a", ".,%")
# A full-width mark is a part of a number only between full-width digits; elsewhere it separates two numbers.
_FULL_WIDTH_MARK = re.compile("(?<=[\uff10-\uff19])[\uff0c\uff0e](?=[\uff10-\uff19])")
# A number in groups of three digits; the lookbehind excludes digits that continue a number or its decimals.
_GROUPED = re.compile(
    r"\d(?<![\d.,'’]\d)\d{0,2}(?:(?:[,\u00a0\u2007\u2009\u202f]\d{3})+(?!,?\d)"  # noqa: RUF001
    r"|(?:\.\d{3}){2,}(?!\.?\d)"
    r"|(?:['’]\d{3})+(?!['’]?\d)|(?:(?<=\d\d)|(?<=\b\d))(?:,\d\d)+,\d{3}(?!,?\d))"  # noqa: RUF001
)
_MAY_GROUP = re.compile(r"[,.'’\u00a0\u2007\u2009\u202f](?<=\d.)(?=\d\d)")  # noqa: RUF001
_BREAK = r"[ \t]*\n[ \t]*"
_BROKEN = re.compile(rf"\u00ad[ \t]*\n\s*|(?<=[{NO_SPACES}]){_BREAK}(?=[{NO_SPACES}])")
_BROKEN_WORD = re.compile(
    rf"(?<=[{LOWER}])[-\u2010]{_BREAK}(?=[{LOWER}])|(?<=[{NO_SPACES}]){_BREAK}(?=\w)|(?<=\w){_BREAK}(?=[{NO_SPACES}])"
    rf"|(?<=^[^\W\d_]){_BREAK}(?=[^\W\d_]$)",
    re.MULTILINE,
)
"""Matches a hyphen at the end of a line inside a word, which the author may have written or not, a line break
beside a script without spaces, and one between letters that stand alone on their lines."""
_MAY_BREAK_WORD = re.compile(rf"[-\u2010\n](?:(?<!\n){_BREAK}[{LOWER}]|(?<=\n)[ \t]*[^\W\d_]$)", re.MULTILINE)
_UNSPACED = re.compile(f"[{NO_SPACES}]")
_UNITS = (
    "[pnµμumcdkh]?m|[µμmk]?g|[nµμm]s|min|hrs?|[kMGT]?Hz|[mkMGT]?Wh?|[mkM]?V|m?Ah|[kMG]?J|[hkM]?Pa|m?bar|[kKMGTP]i?B"
    "|[kMG]bit(?:/s)?|[kMG]bps|fps|rpm|dB|px|ha|ft|mi|lbs?|oz|mph|km/h|m/s|kph|[mcdµ]?[lL]|mol|ppm|°[CF]?|℃|℉|Ω"
)
# A number is separated from its unit; not 5m of a price, nor what is a part of a name (v2m, 10ms1).
_GLUED = re.compile(
    rf"\d(?<![\w.,'’$€£¥]\d)[\d.,]*(?<=\d)(?=[^\W\d_]|°)(?=(?:{_UNITS})[²³23]?(?!\w))"  # noqa: RUF001
)
_SEPARATED = re.compile(rf"(?<=\d) (?=(?:{_UNITS.lower()})[23]?(?!\w))", re.IGNORECASE)
_UNIT_POWER = re.compile("[¹²³⁴-⁹](?<=[A-Za-zµΩ].)")
# Superscript letters after a digit, with the point before them (1.º, 1ᵉʳ), except those of formulas (2ⁿ).
_ORDINAL = re.compile("(?<=[0-9])\\.?[ªº]|(?<=[0-9])[\u02b0-\u02b8\u02e1-\u02e3\u1d2c-\u1d6a\u1d9b-\u1dbf]+")
_FINAL_LONG_VOWEL = re.compile(f"\u30fc(?<={KATAKANA}{{3}}\u30fc)(?!{KATAKANA})")
_BEFORE_PERCENT = re.compile(r" (?<=\d )(?=%)")
# Characters of scripts other than Latin, Greek and Cyrillic, and superscript letters.
_OTHER_SCRIPT = re.compile("[ªº\u02b0-\u02e3\u0590-\u1dbf\u2c00-\ufdff\ufe10-\ufeff\uff00-\U0010ffff]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_MARKERS = re.compile(r"[*_`][*_`]*")  # begins with a set of characters, by which Python skips other text
# All white space that is not already one single space.
_SPACES = re.compile(r" \s+|[^\S ]\s*")
# A dash is a minus sign if a number follows it and no word character, `)`, `]` or `%` precedes it.
_DASH = re.compile(r"-(?P<minus>(?<![\w)%\]]-)(?=\.?\d))?")


def fold_plain(text: str, *, hyphens: bool) -> str:
    """Return the text in lower case; with `hyphens`, every `-` becomes a space."""
    text = text.lower()
    return text.replace("-", " ") if hyphens else text


def fold_words(text: str, *, hyphens: bool, join: bool = False) -> str:
    """Normalise text by our own rule; with `hyphens`, all dashes but minus signs become spaces, and with
    `join`, words that are broken at the end of a line are joined."""
    others = not text.isascii() and _OTHER_SCRIPT.search(text)
    if "\n" in text:
        text = _BROKEN_WORD.sub("", text) if join else text
        text = _BROKEN.sub("", text) if others or "\u00ad" in text else text
    text = plain_digits(text) if others else text
    if _MAY_GROUP.search(text):
        text = _GROUPED.sub(_ungrouped, text)
    text = _GLUED.sub(_with_space, text)
    if others:
        text = _ORDINAL.sub(_without_point, text)
    if not text.isascii():
        text = _UNIT_POWER.sub(_plain_power, text)
        text = _NOT_ASCII.sub(_fold_character, unicodedata.normalize("NFC", text))
        text = unicodedata.normalize("NFC", text)
    if others:
        text = _FINAL_LONG_VOWEL.sub("", text)
    text = text.casefold()
    if "*" in text or "_" in text or "`" in text:
        text = _MARKERS.sub(_without_emphasis, text)
    if hyphens:
        text = _DASH.sub(_minus_or_space, text)
    text = " ".join(text.split())
    return _BEFORE_PERCENT.sub("", text) if " %" in text else text


def has_broken_words(text: str) -> bool:
    """Return whether lines of a text end inside words, so that `join` makes a difference."""
    if not _MAY_BREAK_WORD.search(text) and (text.isascii() or not _UNSPACED.search(text)):
        return False  # the other pattern is slow
    return _BROKEN_WORD.search(text) is not None


def plain_digits(text: str) -> str:
    """Replace the digits of all scripts, and the signs within Arabic and full-width numbers, by ASCII.

    Each character is replaced by one character, so that the places in the text stay the same.
    """
    if text.isascii():
        return text
    text = _FULL_WIDTH_MARK.sub(_fold_character, text).translate(_ARABIC_SIGNS)
    return _OTHER_DIGIT.sub(_digit, text)


def plain_letters(text: str) -> str:
    """Replace Arabic letters that are often interchanged by one of them; all places stay the same."""
    return text.translate(_INTERCHANGED)


def trace_plain(text: str, *, hyphens: bool) -> Traced:
    """Return the result of `fold_plain`, with the original position of each character."""
    return Traced.of(text).each(lambda part: fold_plain(part, hyphens=hyphens))


def trace_words(text: str, *, hyphens: bool, join: bool = False) -> Traced:
    """Return the result of `fold_words`, with the original position of each character."""
    others = not text.isascii() and _OTHER_SCRIPT.search(text)
    traced = Traced.of(text)
    if others:
        traced = traced._replace(text=plain_digits(text))
    if "\n" in text:
        traced = traced.sub(_BROKEN_WORD, _nothing) if join else traced
        traced = traced.sub(_BROKEN, _nothing)
    traced = traced.sub(_GROUPED, _ungrouped).sub(_GLUED, _with_space)
    if others:
        traced = traced.sub(_ORDINAL, _without_point)
    if not traced.text.isascii():
        traced = traced.sub(_UNIT_POWER, _plain_power)
        traced = traced.composed().sub(_NOT_ASCII, _fold_character).composed()
    if others:
        traced = traced.sub(_FINAL_LONG_VOWEL, lambda _: "")
    traced = traced.each(str.casefold).sub(_MARKERS, _without_emphasis)
    if hyphens:
        traced = traced.sub(_DASH, _minus_or_space)
    return traced.sub(_SPACES, lambda _: " ").stripped().sub(_BEFORE_PERCENT, lambda _: "")


def _ungrouped(number: re.Match[str]) -> str:
    """Remove the separators from a number with digits in groups of three."""
    return re.sub(r"\D", "", number[0])


def without_glue(folded: str) -> str:
    """Return a folded phrase with its numbers and their units written together."""
    return _SEPARATED.sub("", folded)


def _nothing(match: re.Match[str]) -> str:
    """Return nothing in place of a match."""
    return ""


def _with_space(number: re.Match[str]) -> str:
    """Separate a number from the unit after it."""
    return f"{number[0]} "


def _plain_power(power: re.Match[str]) -> str:
    """Write a superscript digit as a digit."""
    return str(unicodedata.digit(power[0]))


def without_vowel_marks(text: str) -> str:
    """Remove the vowel marks of Arabic."""
    return _VOWEL_MARKS.sub("", text)


def _without_point(ordinal: re.Match[str]) -> str:
    """Write the superscript letters of an ordinal number as letters, without the point before them."""
    letters = ordinal[0].removeprefix(".")
    return letters if letters in "ªº" else unicodedata.normalize("NFKC", letters)


def _digit(character: re.Match[str]) -> str:
    """Replace a digit by that of ASCII."""
    return str(unicodedata.decimal(character[0]))


def _without_emphasis(markers: re.Match[str]) -> str:
    """Remove Markdown markers at the edge of a word, and keep them elsewhere (`2*3`, `a * b`)."""
    before = markers.string[max(0, markers.start() - 1) : markers.start()]
    after = markers.string[markers.end() : markers.end() + 1]
    return markers[0] if before.isalnum() == after.isalnum() else ""


def _minus_or_space(dash: re.Match[str]) -> str:
    """Keep a minus sign, and replace any other dash with a space."""
    return " " if dash["minus"] is None else "-"


@lru_cache(maxsize=4096)
def _fold_letter(character: str) -> str:
    """Replace a character by its plain form, except superscripts, subscripts and fractions."""
    if character in _REPLACED:
        return _REPLACED[character]
    if unicodedata.decomposition(character).startswith(_MEANINGFUL):
        return character
    if unicodedata.category(character) == "Cf" or _VOWEL_MARKS.match(character):
        return ""
    return plain_letters(without_vowel_marks(unicodedata.normalize("NFKC", character)))


def _fold_character(match: re.Match[str]) -> str:
    """Apply `_fold_letter` to a matched character."""
    return _fold_letter(match[0])
