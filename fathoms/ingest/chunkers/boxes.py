"""Finds the layout elements that a chunk of a page's text is made of."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from fathoms.types import Page, PageBox

SLACK = 200
"""Characters that the page's text may hold between two elements, for example a caption or alternative text.
An element is searched for within so many characters, because a short one occurs by chance further on."""
LONG = 20
"""An element with at least so many letters and digits is searched for in the rest of the page as well."""

_Place = tuple[int, int, PageBox]


def page_boxes(page: Page) -> tuple[PageBox, ...]:
    """Return the boxes of all elements of a page; empty where its parser knows none."""
    return tuple(PageBox(page=page.number, bbox=item.bbox) for item in page.elements if item.bbox)


def text_boxes(page: Page, texts: Iterable[str]) -> Iterator[tuple[PageBox, ...]]:
    """Yield, for each piece of a page's text, the boxes of the elements that it overlaps.

    `texts` are in the order of the page and may repeat the end of the piece before. Only letters and digits
    are compared, because parsers and splitters change white space and mark-up.
    """
    whole = _letters(page.text) if any(item.bbox for item in page.elements) else ""
    places = list(_places(page, whole))
    at = 0
    for text in texts:
        piece = _letters(text)
        start = whole.find(piece, at) if piece else -1
        if start < 0:
            yield ()
            continue
        end, at = start + len(piece), start + 1
        yield tuple(box for first, last, box in places if first < end and start < last)


def _places(page: Page, whole: str) -> Iterator[_Place]:
    """Yield where the text of each element begins and ends in the letters of its page, and its box."""
    at = 0
    for item in page.elements:
        # of a figure, the page's text may have the caption alone, which is the first line
        for part in dict.fromkeys((item.text, item.text.partition("\n")[0])):
            text = _letters(part)
            start = whole.find(text, at, at + len(text) + SLACK) if text else -1
            if start < 0 and len(text) >= LONG:
                start = whole.find(text, at)
            if start >= 0:
                at = start + len(text)
                if item.bbox:
                    yield start, at, PageBox(page=page.number, bbox=item.bbox)
                break


def _letters(text: str) -> str:
    """Return the letters and digits of a text, with the entities of Markdown (`&amp;`) replaced."""
    return "".join(filter(str.isalnum, html.unescape(text)))
