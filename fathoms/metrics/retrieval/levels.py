"""Turns the hits of a record into rankings at a level: of documents, pages, layout boxes, chunks or quotes.

| level | an item of the ranking | it is gold if |
|---|---|---|
| `document` | a document | the evidence names it; without evidence, the question does |
| `page` | a page | the evidence names it |
| `layout` | a gold box that a chunk finds, or a chunk that finds none | it is a gold box |
| `chunk` | a chunk | it covers a gold page |
| `quote` | a candidate quote | it is a gold quote of the question |

How many chunks of the whole index cover a gold page is not known from a run, so at the level `chunk` there
are only metrics that need no such number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Literal

from fathoms.metrics.quotes.selection import are_quotes, quote_id
from fathoms.metrics.retrieval.coverage import UNKNOWN_PAGE, pages_of
from fathoms.metrics.retrieval.gold import Gold, Hop, gold_of
from fathoms.metrics.retrieval.layout import ranked_boxes
from fathoms.metrics.retrieval.ranking import ranked_chunks, ranked_documents, ranked_pages
from fathoms.metrics.retrieval.trec import Ranking
from fathoms.types import Hit, Place, Question, Record

Level = Literal["document", "page", "layout", "chunk", "quote"]

EVIDENCE = "pieces of evidence without a page"
HITS = "retrieved chunks without a page"
DOCUMENTS = "documents of the retrieved chunks"
"""What a record lacks if the document of any hit is not known: that hit may be a gold one."""
GOLD: dict[Level, str] = {
    "document": "gold documents",
    "page": "gold pages",
    "layout": "gold boxes",
    "chunk": "gold pages",
    "quote": "gold quotes",
}
"""What the question of a record must have for each level."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """The ranked items of one record at one level: with all gold of the question, by hop and by modality.

    A hop without gold is `None`. `counts` are counts of what names no page and so cannot be judged.
    """

    all: Ranking
    hops: tuple[Ranking | None, ...] = ()
    modalities: Mapping[str, Ranking] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


def lacks(record: Record, level: Level, retrieves: bool = True, retrieval_only: bool = False) -> str | None:
    """Return what a record lacks for retrieval metrics of a level, `None` if it has everything.

    A search without any result is known, so it is no lack; a run without a retriever (`retrieves`) has no
    result at all, and neither has a failed record without hits, whose pipeline may not report its contexts.
    Where the run was `retrieval_only`, a failure is one of the search, which found nothing.
    """
    if not _gold_at(level, record.question):
        return GOLD[level]
    hits = record.hits
    if hits is None or not retrieves or (not hits and record.error and not retrieval_only):
        return "retrieved chunks"
    if level == "quote":
        return None if are_quotes(record.question, hits) else "retrieved quotes"
    if any(hit.chunk.document is None for hit in hits):
        return DOCUMENTS
    if hits and level in ("page", "chunk") and not any(pages_of(hit.chunk) for hit in hits):
        return "pages of the retrieved chunks"
    if hits and level == "layout" and not any(hit.chunk.boxes for hit in hits):
        return "boxes of the retrieved chunks"
    return None


def rankings(record: Record, level: Level) -> Rankings:
    """Return the rankings of a record that lacks nothing at this level."""
    gold, hits = gold_of(record.question), record.hits or ()
    if level == "document":
        return _rankings(gold, ranked_documents(hits), gold.documents, lambda hop: hop.documents)
    if level == "page":
        pages = ranked_pages(hits)
        counts = _counts(gold, sum(page == UNKNOWN_PAGE for _, page in pages))
        found = _rankings(gold, pages, gold.pages, lambda hop: hop.pages, gold.modalities, counts)
        return replace(found, all=_graded(pages, gold)) if gold.grades else found
    if level == "layout":
        boxes = ranked_boxes(gold.boxes, ranked_chunks(hits))
        return _rankings(gold, boxes, frozenset(gold.boxes), lambda hop: frozenset(hop.boxes))
    if level == "quote":
        return _of_quotes(record.question, hits)
    return _of_chunks(gold, hits)


def _gold_at(level: Level, question: Question) -> Collection[object]:
    """Return the gold of a question at a level."""
    if level == "quote":
        return _gold_quotes(question)
    gold = gold_of(question)
    return gold.documents if level == "document" else gold.boxes if level == "layout" else gold.pages


def _gold_quotes(question: Question) -> dict[str, set[str]]:
    """Return the ids of the gold quotes of a question by modality."""
    found: dict[str, set[str]] = {}
    for quote in question.quotes:
        if quote.gold:
            found.setdefault(quote.modality, set()).add(quote.id)
    return found


def _of_quotes(question: Question, hits: Sequence[Hit]) -> Rankings:
    """Return the rankings of candidate quotes, which have no hops."""
    gold = _gold_quotes(question)
    ranked = [quote_id(question, hit) for hit in sorted(hits, key=lambda hit: hit.rank)]
    modalities = {modality: _ranking(ranked, ids) for modality, ids in gold.items()}
    return Rankings(_ranking(ranked, set().union(*gold.values())), modalities=modalities)


def _rankings(
    gold: Gold,
    items: Sequence[Hashable],
    wanted: AbstractSet[Hashable],
    of_hop: Callable[[Hop], AbstractSet[Hashable]],
    modalities: Mapping[str, AbstractSet[Hashable]] | None = None,
    counts: Mapping[str, float] | None = None,
) -> Rankings:
    hops = [of_hop(hop) for hop in gold.hops] if len(gold.hops) > 1 else []
    return Rankings(
        _ranking(items, wanted),
        tuple(_ranking(items, own) if own else None for own in hops),
        {name: _ranking(items, own) for name, own in (modalities or {}).items()},
        counts or {},
    )


def _ranking(items: Iterable[Hashable], wanted: AbstractSet[Hashable]) -> Ranking:
    return Ranking(tuple(item in wanted for item in items), len(wanted))


def _graded(pages: Iterable[Place], gold: Gold) -> Ranking:
    """Return the ranking of pages with their grades."""
    grades = {page: gold.grades.get(page, 1) for page in gold.pages}
    return Ranking(tuple(grades.get(page, 0) for page in pages), len(grades), tuple(grades.values()))


def _counts(gold: Gold, unknown: int) -> dict[str, float]:
    """Count the evidence and the retrieved chunks that name no page, without zeros."""
    return {name: count for name, count in ((EVIDENCE, gold.without_page), (HITS, unknown)) if count}


def _of_chunks(gold: Gold, hits: Iterable[Hit]) -> Rankings:
    """Return the rankings of chunks. Their number of gold items is not known; it is set to one more than were
    ranked, which no metric of chunks depends on."""
    covered = [frozenset(pages_of(chunk)) for chunk in ranked_chunks(hits)]

    def ranking(wanted: AbstractSet[Place]) -> Ranking:
        gold_at = tuple(not wanted.isdisjoint(pages) for pages in covered)
        return Ranking(gold_at, sum(gold_at) + 1)

    hops = gold.hops if len(gold.hops) > 1 else ()
    return Rankings(
        ranking(gold.pages),
        tuple(ranking(hop.pages) if hop.pages else None for hop in hops),
        counts=_counts(gold, sum(not pages for pages in covered)),
    )
