"""Normalise text before a phrase is searched for in an answer.

There are two rules. `fold_plain` is the rule of the code that FATHOMS-RAG released (the paper does not
mention it): lower case, and `-` becomes a space. `fold_words` is our own rule, for whole-word matching. It
also removes differences of spelling that carry no meaning:

- Unicode: case, compatibility forms (ligatures, full-width digits, non-breaking spaces), curly quotes and
  invisible characters. Superscripts and fractions are kept, because 10² is not 102.
- White space: each run of white space, including line breaks, becomes one space.
- Markdown emphasis around words: `**7.0**%` becomes `7.0%`.
- Thousands separators: `5,592,245`, and `5 592 245` with narrow or non-breaking spaces, become `5592245`.
- Dashes: a minus sign before a number is kept; every other dash becomes a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from fathoms.metrics.tracing import Traced

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Unicode decompositions that would change the meaning of a number: 10² would become 102.
_KEPT = ("<super>", "<sub>", "<fraction>")
_REPLACED = {
    **dict.fromkeys("‐‑‒–—―−⁃﹘﹣－", "-"),  # noqa: RUF001
    **dict.fromkeys("‘’‚‛′", "'"),  # noqa: RUF001
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
# A number in groups of three digits; the lookbehind excludes digits that continue a number or its decimals.
_GROUPED = re.compile(r"\d(?<![\d.,]\d)\d{0,2}(?:[,\u00a0\u2007\u2009\u202f]\d{3})+(?!,?\d)")
_MARKERS = re.compile(r"[*_`]+")
# All white space that is not already one single space.
_SPACES = re.compile(r" \s+|[^\S ]\s*")
# A dash is a minus sign if a number follows it and no word character, `)`, `]` or `%` precedes it.
_DASH = re.compile(r"-(?P<minus>(?<![\w)%\]]-)(?=\.?\d))?")


def fold_plain(text: str, *, hyphens: bool) -> str:
    """Return the text in lower case; with `hyphens`, every `-` becomes a space."""
    text = text.lower()
    return text.replace("-", " ") if hyphens else text


def fold_words(text: str, *, hyphens: bool) -> str:
    """Normalise text by our own rule; with `hyphens`, all dashes but minus signs become spaces."""
    text = _GROUPED.sub(_ungrouped, text)
    if not text.isascii():
        text = _NOT_ASCII.sub(_fold_character, unicodedata.normalize("NFC", text))
    text = _MARKERS.sub(_without_emphasis, text.casefold())
    if hyphens:
        text = _DASH.sub(_minus_or_space, text)
    return " ".join(text.split())


def trace_plain(text: str, *, hyphens: bool) -> Traced:
    """Return the result of `fold_plain`, with the original position of each character."""
    return Traced.of(text).each(lambda part: fold_plain(part, hyphens=hyphens))


def trace_words(text: str, *, hyphens: bool) -> Traced:
    """Return the result of `fold_words`, with the original position of each character."""
    traced = Traced.of(text).sub(_GROUPED, _ungrouped)
    if not traced.text.isascii():
        traced = traced.composed().sub(_NOT_ASCII, _fold_character)
    traced = traced.each(str.casefold).sub(_MARKERS, _without_emphasis)
    if hyphens:
        traced = traced.sub(_DASH, _minus_or_space)
    return traced.sub(_SPACES, lambda _: " ").stripped()


def _ungrouped(number: re.Match[str]) -> str:
    """Remove the separators from a number with digits in groups of three."""
    return re.sub(r"\D", "", number[0])


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
    if unicodedata.decomposition(character).startswith(_KEPT):
        return character
    return unicodedata.normalize("NFKC", character)


def _fold_character(match: re.Match[str]) -> str:
    """Apply `_fold_letter` to a matched character."""
    return _fold_letter(match[0])
