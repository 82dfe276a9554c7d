"""Words that a model copied from a page, as they stand there."""

from __future__ import annotations

import re

_MARKS = " \t\r\n\"'“”„«»…"
_LONGEST = 2000


def on_page(quote: str, page: str) -> str | None:
    """Return the words of a page that a model quoted, as the page has them; `None` if they are not there.
    Spaces, line breaks, upper and lower case, the bars between the cells of a table, and quotation marks and
    dots around the words make no difference; everything else does."""
    found = passage(quote, page, 0)
    return found[1] if found else None


def passage(quote: str, page: str, room: int) -> tuple[str, str, str] | None:
    """Return the words of a page that `on_page` finds, between at most `room` characters before and after."""
    words = _spaced(quote.strip(_MARKS).removesuffix("...").removeprefix("..."))[:_LONGEST]
    text = _spaced(page)
    found = re.search(re.escape(words), text, re.IGNORECASE) if words else None
    if found is None:
        return None
    return text[max(0, found.start() - room) : found.start()], found[0], text[found.end() :][:room]


def _spaced(text: str) -> str:
    """Return a text on one line, without the bars of tables."""
    return " ".join(text.replace("|", " ").split())
