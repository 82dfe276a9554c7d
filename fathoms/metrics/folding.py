"""What counts as the same text when a phrase is looked for in an answer.

Two foldings. `fold_plain` is the one of the code that FATHOMS-RAG released (the paper says nothing of it):
lower case, and `-` becomes a space. `fold_words` is ours, for whole-word matching; it also folds what an
answer's author does not mean by its spelling:

- Unicode: case, compatibility forms (ligatures, full-width digits, non-breaking spaces), curly quotes,
  invisible characters; superscripts and fractions stay, since 10² is not 102;
- white space: every run of it, line breaks included, is one space;
- Markdown emphasis around words: `**7.0**%` is `7.0%`;
- thousands separators: `5,592,245` and `5 592 245` with narrow or non-breaking spaces are `5592245`;
- dashes: one that begins a negative number is a minus sign and stays, every other becomes a space.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from fathoms.metrics.tracing import Traced

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_KEPT = ("<super>", "<sub>", "<fraction>")
_REPLACED = {
    **dict.fromkeys("‐‑‒–—―−⁃﹘﹣－", "-"),  # noqa: RUF001
    **dict.fromkeys("‘’‚‛′", "'"),  # noqa: RUF001
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
_GROUPED = re.compile(r"\d(?<![\d.,]\d)\d{0,2}(?:[,\u00a0\u2007\u2009\u202f]\d{3})+(?!,?\d)")
_MARKERS = re.compile(r"[*_`]+")
_SPACES = re.compile(r" \s+|[^\S ]\s*")
_DASH = re.compile(r"-(?P<minus>(?<![\w)%\]]-)(?=\.?\d))?")


def fold_plain(text: str, *, hyphens: bool) -> str:
    """Lower case; with `hyphens`, every `-` is a space."""
    text = text.lower()
    return text.replace("-", " ") if hyphens else text


def fold_words(text: str, *, hyphens: bool) -> str:
    """The folding described above; with `hyphens`, dashes that are no minus sign are spaces."""
    text = _GROUPED.sub(_ungrouped, text)
    if not text.isascii():
        text = _NOT_ASCII.sub(_fold_character, unicodedata.normalize("NFC", text))
    text = _MARKERS.sub(_without_emphasis, text.casefold())
    if hyphens:
        text = _DASH.sub(_minus_or_space, text)
    return " ".join(text.split())


def trace_plain(text: str, *, hyphens: bool) -> Traced:
    """What `fold_plain` gives, and where it came from."""
    return Traced.of(text).each(lambda part: fold_plain(part, hyphens=hyphens))


def trace_words(text: str, *, hyphens: bool) -> Traced:
    """What `fold_words` gives, and where it came from."""
    traced = Traced.of(text).sub(_GROUPED, _ungrouped)
    if not traced.text.isascii():
        traced = traced.composed().sub(_NOT_ASCII, _fold_character)
    traced = traced.each(str.casefold).sub(_MARKERS, _without_emphasis)
    if hyphens:
        traced = traced.sub(_DASH, _minus_or_space)
    return traced.sub(_SPACES, lambda _: " ").stripped()


def _ungrouped(number: re.Match[str]) -> str:
    """The digits of a number written in groups of three."""
    return re.sub(r"\D", "", number[0])


def _without_emphasis(markers: re.Match[str]) -> str:
    """Nothing where the markers stand at the edge of a word, themselves elsewhere (`2*3`, `a * b`)."""
    before = markers.string[max(0, markers.start() - 1) : markers.start()]
    after = markers.string[markers.end() : markers.end() + 1]
    return markers[0] if before.isalnum() == after.isalnum() else ""


def _minus_or_space(dash: re.Match[str]) -> str:
    """A minus sign stays, any other dash parts words."""
    return " " if dash["minus"] is None else "-"


@lru_cache(maxsize=4096)
def _fold_letter(character: str) -> str:
    """One character without its typographic variants."""
    if character in _REPLACED:
        return _REPLACED[character]
    if unicodedata.decomposition(character).startswith(_KEPT):
        return character
    return unicodedata.normalize("NFKC", character)


def _fold_character(match: re.Match[str]) -> str:
    """One character of a substitution."""
    return _fold_letter(match[0])
