"""Ids of documents and pages for file formats that have one id for what is retrieved (TREC, BEIR).

    varn.pdf#page=3          page 3 of varn.pdf, the fragment of RFC 8118
    varn.pdf#page=3,4        a passage on the pages 3 and 4
    a%20log.pdf              the document `a log.pdf`, no page of it

White space, control characters, `%` and `#` are written as percent-encoded UTF-8, so that an id is one word
and can be read back; all other characters stay. An id that was not written in this way is a document's name
as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote

_UNSAFE = re.compile(r"[\s%#\x00-\x20\x7f-\x9f\u200b\ufeff\ud800-\udfff]")
_PLACED = re.compile(r"(?P<document>.*)#page=(?P<pages>[1-9][0-9]{0,8}(?:,[1-9][0-9]{0,8})*)", re.DOTALL)


def word(text: str) -> str:
    """Return a text as one word, without white space, from which `text_of` makes the text again."""
    return _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), text)


def text_of(written: str) -> str:
    """Return the text that `word` made into this word; any other word is returned as it is."""
    text = unquote(written, errors="surrogatepass") if "%" in written else written
    return text if word(text) == written else written


def page_id(document: str, pages: Sequence[int] = ()) -> str:
    """Return the id of some pages of a document, or of the document where no pages are given."""
    return f"{word(document)}#page={','.join(map(str, pages))}" if pages else word(document)


def place_of(written: str) -> tuple[str, tuple[int, ...]]:
    """Return the document and the pages that an id names; no pages where it names none."""
    found = _PLACED.fullmatch(written)
    if found is None:
        return text_of(written), ()
    return text_of(found["document"]), tuple(map(int, found["pages"].split(",")))
