"""What a run retrieved, as one ranking of documents or pages for each question, and what is relevant.

Hits are pooled as the retrieval metrics of fathoms pool them (`metrics/retrieval/ranking.py`): a page that
several chunks cover stands once, at its best rank and with the score of that hit, and a chunk on two pages is
two entries. So another tool computes the figures of fathoms from the files, if no scores are equal, because
most tools sort by score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fathoms.corpora.page_ids import page_id, word
from fathoms.errors import DataError, UsageError, amount
from fathoms.metrics.retrieval.coverage import UNKNOWN_PAGE, pages_of
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.metrics.retrieval.ranking import ranked_documents, ranked_pages
from fathoms.runs.run import Run
from fathoms.types import Hit, Question, Record

Level = Literal["page", "document"]


@dataclass(frozen=True)
class Ranking:
    """The ranking of one question: the retrieved ids with their scores, best first, and the relevant ids with
    their grades, 1 where the data set has none."""

    question: Question
    retrieved: tuple[tuple[str, float], ...]
    relevant: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Rankings:
    """The rankings of one repeat of a run. `records` are those that they come from, and `warnings` are
    sentences for the user."""

    name: str
    level: Level
    rankings: tuple[Ranking, ...]
    records: tuple[Record, ...]
    warnings: tuple[str, ...]


def rankings_of(run: Run, level: Level = "page", repeat: int = 0, *, by_rank: bool = False) -> Rankings:
    """Return the rankings of a run; with `by_rank`, the score of each entry is 1 / rank.

    Raises UsageError if the run has no such repeat, and DataError if nothing is known of what it retrieved.
    """
    every = run.records.all()
    records = tuple(record for record in every if record.repeat == repeat)
    if not records:
        raise UsageError(f"{run.id} has no repeat {repeat}: repeats count from 0")
    if all(record.hits is None for record in records):
        raise DataError(f"{run.id}: nothing is known of what it retrieved, so there is nothing to export")
    rankings = tuple(_ranking(record, level, by_rank) for record in records)
    name = str(run.manifest.name or run.id)
    return Rankings(name, level, rankings, records, tuple(_warnings(every, records, rankings, level)))


def _ranking(record: Record, level: Level, by_rank: bool) -> Ranking:
    """Return the ranking of one record."""
    gold = gold_of(record.question)
    if level == "page":
        entries = _pages(record.hits or ())
        relevant = [
            (page_id(name, (page,)), gold.grades.get((name, page), 1)) for name, page in sorted(gold.pages)
        ]
    else:
        entries = _documents(record.hits or ())
        relevant = [(word(document), 1) for document in sorted(gold.documents)]
    if by_rank:
        entries = [(name, 1 / rank) for rank, (name, _) in enumerate(entries, start=1)]
    return Ranking(record.question, tuple(entries), tuple(relevant))


def _documents(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Return the different documents with the score of their best hit, best first."""
    best = {hit.chunk.source: hit.score for hit in sorted(hits, key=lambda hit: -hit.rank)}
    return [(word(document), best[document]) for document in ranked_documents(hits)]


def _pages(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Return the different pages with the score of their best hit, best first. Hits whose pages are not known
    are `DOCUMENT`, `DOCUMENT#hit=2` and so on, because an id may stand only once in a ranking."""
    scores: dict[tuple[str, int], list[float]] = {}
    for hit in sorted(hits, key=lambda hit: hit.rank):
        for place in pages_of(hit.chunk) or ((hit.chunk.source, UNKNOWN_PAGE),):
            scores.setdefault(place, []).append(hit.score)
    entries = []
    nameless: dict[str, int] = {}
    for document, page in ranked_pages(hits):
        if page != UNKNOWN_PAGE:
            entries.append((page_id(document, (page,)), scores[document, page][0]))
            continue
        nameless[document] = number = nameless.get(document, 0) + 1
        suffix = f"#hit={number}" if number > 1 else ""
        entries.append((word(document) + suffix, scores[document, page][number - 1]))
    return entries


def _warnings(
    every: Iterable[Record], records: Sequence[Record], rankings: Sequence[Ranking], level: Level
) -> Iterable[str]:
    """Yield what the files cannot hold."""
    others = sorted({record.repeat for record in every} - {records[0].repeat})
    if others:
        yield f"only repeat {records[0].repeat} is written: --repeat chooses one of the others"
    if unknown := sum(record.hits is None for record in records):
        yield f"of {amount(unknown, 'question')} it is not known what was retrieved: they have no hits"
    if unordered := sum(not _falls(ranking.retrieved) for ranking in rankings):
        yield (
            f"{amount(unordered, 'question')} {'has' if unordered == 1 else 'have'} scores that are equal"
            " in single precision, or do not fall"
            " with the"
            " rank: tools that sort by score, such as trec_eval, see another order; --rank-scores avoids that"
        )
    if level == "page" and (left := sum(gold_of(record.question).without_page for record in records)):
        yield f"{left} pieces of gold evidence name no page and are not in the relevance judgments"


def _falls(entries: Sequence[tuple[str, float]]) -> bool:
    """Whether each score is lower than the one before it, in the single precision of trec_eval."""
    import numpy as np

    scores = np.array([score for _, score in entries], dtype=np.float32)
    return bool((scores[1:] < scores[:-1]).all())
