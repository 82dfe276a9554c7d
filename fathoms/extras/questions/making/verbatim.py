"""Words that a model copied from a page, as they stand there."""

from __future__ import annotations

import re

_MARKS = " \t\r\n\"'“”„«»…"
_LONGEST = 2000


def on_page(quote: str, page: str) -> str | None:
    """Return the words of a page that a model quoted, as the page has them; `None` if they are not there.
    Spaces, line breaks, upper and lower case, the bars between the cells of a table, and quotation marks and
    dots around the words make no difference; everything else does."""
    words = _spaced(quote.strip(_MARKS).removesuffix("...").removeprefix("..."))[:_LONGEST]
    if not words:
        return None
    found = re.search(re.escape(words), _spaced(page), re.IGNORECASE)
    return found[0] if found else None


def _spaced(text: str) -> str:
    """Return a text on one line, without the bars of tables."""
    return " ".join(text.replace("|", " ").split())
