"""Prepares texts for the page: cleans them, stores each once, marks phrases, and shortens long texts.

A text is `{"s": text}`, or `{"p": index}` for a long text in the pool. `marks` are `[start, end, phrase]`
and `aside` are `[start, end, kind]`, in UTF-16 code units, as JavaScript counts. A shortened text has its
original length in `cut`, and in `beyond` the number of marks in the part that is not shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from fathoms.metrics.phrase_places import PhrasePlace

POOLED = 100
"""Texts with at least this many characters are stored in the pool."""
MARKED = 1_000_000
"""Phrases are marked in this many characters of a text: searching takes 100 bytes a character."""
_UNFIT = re.compile(r"[\x00\ud800-\udfff]")

Marker = Callable[[str], Sequence[PhrasePlace]]
Aside = tuple[int, int, str]
"""A place in an answer that is no part of what it says, and its kind."""


def clean(value: Any) -> Any:
    """Return JSON data that every page can show: NUL becomes U+2400, lone surrogates become U+FFFD, and NaN
    and infinite numbers become `None`."""
    if isinstance(value, str):
        return _UNFIT.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(child) for key, child in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [clean(child) for child in value] if isinstance(value, list) else value


def start(text: object, length: int) -> str:
    """Return the beginning of a text on one line, with an ellipsis if it was cut."""
    line = " ".join(str(text)[: 4 * length].split())  # the cut bounds the work on very long texts
    return line if len(line) <= length else line[: length - 1] + "…"


def brief(value: Any, length: int) -> Any:
    """Return at most `length` characters of a text, with an ellipsis if it was cut.

    Other JSON values are returned unchanged unless their JSON text is longer than that.
    """
    if value is None or isinstance(value, bool | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= length else text[:length] + "…"


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def in_units(text: str, spans: Sequence[PhrasePlace | Aside]) -> list[list[Any]]:
    """Convert the places of marks, or of what is set aside, to UTF-16 code units."""
    if not spans or text.isascii() or max(text) <= "\uffff":  # each character is one code unit
        return [list(mark) for mark in spans]
    before = [0, *accumulate(1 + (letter > "\uffff") for letter in text)]
    return [[before[start], before[end], what] for start, end, what in spans]


class Pool:
    """The long texts of one chunk, each stored once, and the references to them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.size = 0
        self._places: dict[str, int] = {}
        self._users: list[list[dict[str, Any]]] = []
        self._whole: list[int] = []

    def add(self, text: str, marker: Marker | None = None, aside: Sequence[Aside] = ()) -> dict[str, Any]:
        """Add a text and return it in the form that the page reads."""
        found = in_units(text, marker(text[:MARKED])) if marker else []
        annotations: dict[str, Any] = {"marks": found} if found else {}
        if aside:
            annotations["aside"] = in_units(text, aside)
        if len(text) < POOLED:
            return {"s": text, **annotations}
        if text not in self._places:
            self._places[text] = len(self.texts)
            self.texts.append(text)
            self._whole.append(units(text))
            self._users.append([])
            self.size += len(text)
        user = {"p": self._places[text], **annotations}
        self._users[user["p"]].append(user)
        return user

    def cut(self, length: int) -> bool:
        """Shorten all texts to at most `length` characters, and return whether any was longer."""
        longer = [place for place, text in enumerate(self.texts) if len(text) > length]
        for place in longer:
            self.texts[place] = self.texts[place][:length]
            size = units(self.texts[place])
            for user in self._users[place]:
                user["cut"] = self._whole[place]
                found = user.get("marks") or []
                inside = [mark for mark in found if mark[1] <= size]
                if len(inside) < len(found):
                    user["beyond"] = user.get("beyond", 0) + len(found) - len(inside)
                    user["marks"] = inside
        return bool(longer)
