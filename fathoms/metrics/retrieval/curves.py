"""Recall of the gold pages over the number of pages, and over the tokens of retrieved text, for a whole run.

Both curves are of the pages (or of the documents, if no question has gold pages) and are read off the ranked
hits of every question: the rank among different pages at which each gold page is found first, and how much
retrieved text stands up to there. Repeats are averaged within their question and questions within their
category; the curve is the unweighted mean of the categories, as the other metrics are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any, Literal, NamedTuple

from fathoms.metrics.asked import Asked
from fathoms.metrics.pooling import QuestionScores, pooled
from fathoms.metrics.retrieval.coverage import pages_of
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.metrics.retrieval.ranking import ranked_documents, ranked_pages
from fathoms.types import Hit, Record

Level = Literal["page", "document"]
RANKS = (*range(1, 11), 15, 20, 30, 50, 75, 100)
"""The k at which recall is computed, as far as the rankings of a run go."""
TOKENS = tuple(2**power for power in range(6, 18))
"""The amounts of tokens, from 64 to 131,072, up to the first that holds all that was retrieved."""
CHARACTERS = 4.0
"""Characters that a token is assumed to have where no prompt of the run shows how many it has."""


class _Found(NamedTuple):
    """What one record found: its question's number, its level, the number of gold items, and for each of them
    that was found its rank and the characters of the hits up to it. `length` is the number of different items
    of the ranking, and `characters` all of its text, `None` if a hit has no text that is known."""

    question: int
    level: Level
    gold: int
    ranks: tuple[int, ...]
    reached: tuple[int, ...]
    length: int
    characters: int | None


class Curves:
    """Collects the rankings of a run, record by record. `asked` can be shared with the metrics of the run."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._found: list[_Found] = []
        self._tokens = self._characters = 0

    def add(self, record: Record) -> None:
        """Add a record. One whose question has no gold, or whose hits are not known, is left out; a search
        that failed found nothing."""
        prompt = record.prompt
        if prompt is not None and prompt.tokens and not any(m.files or m.images for m in prompt.messages):
            self._tokens += prompt.tokens
            self._characters += sum(len(message.text) for message in prompt.messages)
        gold = gold_of(record.question)
        level: Level = "page" if gold.pages else "document"
        wanted: frozenset[Any] = gold.pages or gold.documents
        if not wanted or record.hits is None or not record.question.answerable:
            return
        ranked: Sequence[Any] = ranked_pages(record.hits) if gold.pages else ranked_documents(record.hits)
        first = {item: rank for rank, item in reversed(list(enumerate(ranked, start=1))) if item in wanted}
        reached, characters = _reached(record.hits, wanted, level)
        self._found.append(
            _Found(
                self._asked.number(record.question),
                level,
                len(wanted),
                tuple(sorted(first.values())),
                tuple(sorted(reached)),
                len(ranked),
                characters,
            )
        )

    def state(self) -> dict[str, Any]:
        """Return everything that was collected as JSON values, for `extend`."""
        return {"found": self._found, "tokens": self._tokens, "characters": self._characters}

    def extend(self, state: Mapping[str, Any], numbers: Sequence[int]) -> None:
        """Add what another process has collected; `numbers` are those of its questions here."""
        for question, level, gold, ranks, reached, length, characters in state["found"]:
            row = _Found(numbers[question], level, gold, tuple(ranks), tuple(reached), length, characters)
            self._found.append(row)
        self._tokens += state["tokens"]
        self._characters += state["characters"]

    def figures(self, depth: int = 0) -> dict[str, Any] | None:
        """Return the curves as the summary stores them, `None` if no question has gold and hits.

        - `level` says what was counted; documents only if no question has gold pages.
        - `by_rank` holds recall among the first `k` items, up to `depth` where the search went so deep for
          every question, or else up to the length of at least half of the rankings. A ranking that ends
          earlier counts as it is.
        - `by_tokens` holds recall in the first hits that together have at most so many `tokens`.
          `characters_per_token` is that of the run's own prompts, or an estimate (`estimated`). `None` where
          the text of hits is not known.

        Each point has the `value` with its 95 % interval and the number `n` of questions.
        """
        level: Level = "page" if any(row.level == "page" for row in self._found) else "document"
        rows = [row for row in self._found if row.level == level]
        if not rows:
            return None
        longest = depth or median_low([row.length for row in rows])
        ranks = [k for k in RANKS if k <= longest]
        own = self._tokens > 0
        per_token = self._characters / self._tokens if own else CHARACTERS
        known = [row for row in rows if row.characters is not None]
        most = max((row.characters or 0 for row in known), default=0) / per_token
        budgets = [tokens for tokens in TOKENS if tokens < 2 * most]
        by_rank = [{"k": k, **self._point(rows, [_within(row.ranks, k) for row in rows])} for k in ranks]
        by_tokens = [
            {
                "tokens": budget,
                **self._point(known, [_within(row.reached, budget * per_token) for row in known]),
            }
            for budget in budgets
        ]
        return {
            "level": level,
            "by_rank": by_rank,
            "by_tokens": by_tokens or None,
            "characters_per_token": per_token,
            "estimated": not own,
        }

    def _point(self, rows: Sequence[_Found], found: Sequence[int]) -> dict[str, Any]:
        """Return the mean share of the gold items that was found, given how many each row has found, with its
        interval."""
        questions: dict[int, QuestionScores] = {}
        for row, count in zip(rows, found, strict=True):
            if row.question not in questions:
                asked = self._asked[row.question]
                questions[row.question] = QuestionScores(asked.category, asked.gold_documents)
            questions[row.question].values.append(count / row.gold)
        figure = pooled(list(questions.values()), "categories", "share")["overall"]
        return {name: figure[name] for name in ("value", "low", "high", "n")}


def _within(places: Sequence[int], limit: float) -> int:
    """Count the places up to a limit."""
    return sum(place <= limit for place in places)


def _reached(hits: Sequence[Hit], wanted: frozenset[Any], level: Level) -> tuple[list[int], int | None]:
    """Return the characters of the hits up to each gold item that is found, and those of all hits; `None` for
    the latter, and nothing found, if a hit has no text that is known."""
    if not all(hit.chunk.text and hit.chunk.whole for hit in hits):
        return [], None
    found: dict[Any, int] = {}
    characters = 0
    for hit in sorted(hits, key=lambda hit: hit.rank):
        characters += len(hit.chunk.text)
        for item in pages_of(hit.chunk) if level == "page" else (hit.chunk.document,):
            if item in wanted:
                found.setdefault(item, characters)
    return list(found.values()), characters
