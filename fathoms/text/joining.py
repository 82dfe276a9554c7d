r"""Joins words and lines that a PDF breaks at the end of a line, so that whole words are read.

- A hyphen or a soft hyphen at the end of a line goes between lower-case letters (`coordina-\ntion`; not
  `COVID-\n19`). A word that may have a hyphen of its own (`well-\nknown`) is written as the
  document writes it elsewhere; where that is not known, and both its parts are words, its line break stays.
- In scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) the line break itself goes, unless the line
  is so short that it was not wrapped (a heading). Korean and all other scripts keep it.
- Text with one letter a line, which was written vertically, becomes one line.

Child processes run this file by its path, so nothing of fathoms is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import pairwise

NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\ufe10-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff60\U00020000-\U0003ffff"
)
"""The characters, for a pattern, between which a line break is no space: those of scripts that are written
without spaces, and their marks."""
LOWER = "a-z\u00df-\u00f6\u00f8-\u00ff\u03b1-\u03c9\u0430-\u045f"
"""Lower-case letters, for a pattern."""
_BREAK = r"[ \t]*\n[ \t]*"
_HYPHENED = re.compile(rf"[-\u2010\u00ad](?<=[{LOWER}].){_BREAK}(?=[{LOWER}])")
_UNSPACED = re.compile(rf"\n(?<=[{NO_SPACES}]\n)[ \t]*(?=[{NO_SPACES}])")
_SINGLE = re.compile(
    rf"(?<![^\n])(?:(?:[^\W\d_]|[{NO_SPACES}])[ \t]*\n){{2,}}(?:[^\W\d_]|[{NO_SPACES}])(?![^\s])"
)
_HAS_SINGLE = re.compile(r"\n[^\s\d][ \t]*\n")
_IS_UNSPACED = re.compile(f"[{NO_SPACES}]")
_SENTENCE_END = "\u3002\uff01\uff1f"
_LONGEST_WORD = 60
_LAST_WORD = re.compile(r"[^\W\d_]*\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]*")
_MARKS = ".,;:!?()[]{}'\"\u2018\u2019\u201c\u201d"
_FIRST_PARTS = frozenset(
    (
        "anti",
        "co",
        "cross",
        "first",
        "full",
        "half",
        "high",
        "inter",
        "long",
        "low",
        "mid",
        "multi",
        "near",
        "non",
        "off",
        "open",
        "over",
        "post",
        "pre",
        "re",
        "real",
        "second",
        "self",
        "semi",
        "short",
        "single",
        "state",
        "sub",
        "super",
        "third",
        "two",
        "ultra",
        "under",
        "well",
    )
)
"""First parts of words that are often written with a hyphen, also where none stands alone in a document."""


def join_lines(pages: Sequence[str]) -> list[str]:
    """Return the text of the pages of a document with its broken words and lines joined."""
    pages = [page.replace("\r\n", "\n") for page in pages]
    whole = [_HYPHENED.sub("\0", page) for page in pages]
    known: Set[str] = frozenset()
    if any("\0" in page for page in whole):
        known = {word.strip(_MARKS).lower() for word in set(" ".join(whole).split())}
    return [_joined(page, known) for page in pages]


def _joined(text: str, known: Set[str]) -> str:
    """Join the lines of one page; `known` are the words that the document does not break."""
    text = _HYPHENED.sub(lambda hyphen: _hyphen(hyphen, known), text)
    if _HAS_SINGLE.search(f"\n{text}\n"):
        text = _SINGLE.sub(_in_one_line, text)
    if text.isascii():
        return text
    if " \n" in text:
        text = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    return _UNSPACED.sub(_line_break, text)


def _hyphen(found: re.Match[str], known: Set[str]) -> str:
    """Return what stands for a hyphen and the line break after it."""
    if found[0][0] == "\u00ad":
        return ""
    text, start, end = found.string, found.start(), found.end()
    before = _LAST_WORD.search(text, max(0, start - _LONGEST_WORD), start)
    after = _FIRST_WORD.match(text, end, end + _LONGEST_WORD)
    first, second = (part[0].lower() if part else "" for part in (before, after))
    if first + second in known:
        return ""
    around = (
        text[start - len(first) - 1 : start - len(first)] + text[end + len(second) : end + len(second) + 1]
    )
    if f"{first}-{second}" in known or "-" in around:
        return "-"
    whole = len(first) > 1 and not (second in known and (first in known or first in _FIRST_PARTS))
    return "" if whole else found[0]


def _in_one_line(run: re.Match[str]) -> str:
    """Join letters that stand one on each line, but not those of a list (a, b, c)."""
    letters = "".join(run[0].split())
    codes = [ord(letter) for letter in letters]
    is_list = all(after - before == 1 for before, after in pairwise(codes))
    return letters if _IS_UNSPACED.search(letters) or not is_list else run[0]


def _line_break(found: re.Match[str]) -> str:
    """Return what stands for a line break in a script without spaces: nothing, or the break itself after a
    sentence and after a line that is much shorter than the next, which was not wrapped."""
    text, start, end = found.string, found.start(), found.end()
    length = start - text.rfind("\n", 0, start) - 1
    following = text.find("\n", end)
    next_length = (len(text) if following < 0 else following) - end
    ends = text[start - 1] in _SENTENCE_END and length > 1
    return found[0] if ends or 2 * length < next_length else ""
