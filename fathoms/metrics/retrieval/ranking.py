"""Ranked items of the hits of a question: documents, pages and chunks, each counted once, at its best rank.

Items are pooled before any cut at k: with two chunks of page 3 and one of page 7, page 7 is the second page.
The order is that of `Hit.rank`; items of the same rank are in the order of document and page.
"""

from __future__ import annotations

from collections.abc import Iterable

from fathoms.metrics.retrieval.coverage import UNKNOWN_PAGE, pages_of
from fathoms.types import Chunk, Hit, Place


def ranked_documents(hits: Iterable[Hit]) -> list[str]:
    """Return the different documents of hits, best first."""
    return list(dict.fromkeys(document for _, document in sorted((h.rank, h.chunk.source) for h in hits)))


def ranked_pages(hits: Iterable[Hit]) -> list[Place]:
    """Return the different pages that hits cover, best first.

    A hit whose pages are not known takes one place, as `UNKNOWN_PAGE` of its document: it holds at least one
    page, and without its place the pages after it would seem to stand higher than they do.
    """
    places = sorted(
        (hit.rank, *place)
        for hit in hits
        for place in pages_of(hit.chunk) or ((hit.chunk.source, UNKNOWN_PAGE),)
    )
    seen: set[Place] = set()
    found: list[Place] = []
    for _, document, page in places:
        place = (document, page)
        if place not in seen:
            found.append(place)
            if page != UNKNOWN_PAGE:
                seen.add(place)
    return found


def ranked_chunks(hits: Iterable[Hit]) -> list[Chunk]:
    """Return the different chunks of hits by id, best first."""
    found: dict[str, Chunk] = {}
    for hit in sorted(hits, key=lambda hit: (hit.rank, hit.chunk.source, hit.chunk.pages, hit.chunk.id)):
        found.setdefault(hit.chunk.id, hit.chunk)
    return list(found.values())
