"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), which makes one ranking of several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fathoms.retrieve.retriever import Index, hits
from fathoms.types import Hit

Page = tuple[int, int]
"""A page: the position of its document, and its number."""


def fused(
    index: Index, rankings: Sequence[Sequence[Hit]], weights: Sequence[float], *, k: int, top_k: int
) -> tuple[Hit, ...]:
    """Return the `top_k` chunks with the highest sums of `weight / (k + rank)` over the rankings that contain
    them. Chunks with equal sums keep their order in the index."""
    scores: dict[int, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights, strict=True):
        for hit in ranking:
            scores[index.position(hit.chunk)] += weight / (k + hit.rank)
    best = sorted((-score, at) for at, score in scores.items())[:top_k]
    return hits([(index.chunks[at], -score) for score, at in best])


def fused_pages(
    rankings: Sequence[Iterable[Page]], weights: Sequence[float], *, k: int, top_k: int
) -> list[tuple[Page, float]]:
    """Return the `top_k` pages with the highest sums of `weight / (k + rank)`, and these sums.

    A page stands in a ranking at its best place, counted over the different pages before it, so that several
    chunks of one page take one place. Pages with equal sums are in the order of document and page.
    """
    scores: dict[Page, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, page in enumerate(dict.fromkeys(ranking), start=1):
            scores[page] += weight / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:top_k]
