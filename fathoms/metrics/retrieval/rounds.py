"""Metrics of retrieval in several rounds: what has been found, and at which price, after each of them.

A round is one search of a pipeline that searches several times, as it reports them, or one search text of
query expansion. After round r counts what the rounds 1 to r found together. A question with fewer rounds than
others keeps its value, so that the figures of all rounds are of the same questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain, islice, repeat
from typing import ClassVar, Literal

from pydantic import Field

from fathoms.metrics.metric import Direction, Facts, Metric, Need
from fathoms.metrics.retrieval.levels import DOCUMENTS
from fathoms.types import Place, Record, Score


class _ByRound(Metric):
    """Base class of the two metrics."""

    group: ClassVar[str | None] = "retrieval"
    needs: ClassVar[tuple[Need, ...]] = ()
    source: ClassVar[str] = "fathoms"

    rounds: int = Field(default=3, ge=1, le=100)
    """How many rounds are shown by themselves, as `round 1` to the last. The value is that after all
    rounds."""

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks."""
        return super().lacks(record) or (None if record.rounds else "rounds of retrieval")

    def apart(self, score: Score) -> dict[str, float]:
        """Return the values by round, which are pooled apart."""
        return {name: value for name, value in score.parts.items() if value is not None}

    def _score_of(self, after: list[float]) -> Score:
        """Return the score, given the value after each round."""
        shown = islice(chain(after, repeat(after[-1])), self.rounds)
        parts: dict[str, float | None] = {f"round {at}": value for at, value in enumerate(shown, start=1)}
        return Score(metric=self.name, value=after[-1], n=len(after), parts=parts)


class RecallByRound(_ByRound):
    """`recall-by-round`: the share of the gold pages that the hits of all rounds together cover, whatever
    their ranks; the parts are the shares after each round."""

    kind: Literal["recall-by-round"] = "recall-by-round"

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks."""
        if (lacking := super().lacks(record)) or not record.question.gold_pages:
            return lacking or "gold pages"
        known = all(hit.chunk.document for one in record.rounds for hit in one.hits)
        return None if known else DOCUMENTS

    def score(self, facts: Facts) -> Score:
        """Return the recall after all rounds, and after each."""
        gold = facts.record.question.gold_pages
        return self._score_of([len(found & gold) / len(gold) for found in _found(facts.record)])


class CallsByRound(_ByRound):
    """`calls-by-round`: the number of calls to models that retrieval took in all rounds together; the parts
    are the numbers up to each round. Unknown if the pipeline does not report them for every round."""

    direction: ClassVar[Direction] = "lower"
    unit: ClassVar[str] = "calls"

    kind: Literal["calls-by-round"] = "calls-by-round"

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks."""
        known = all(one.calls is not None for one in record.rounds)
        return super().lacks(record) or (None if known else "the number of calls of every round")

    def score(self, facts: Facts) -> Score:
        """Return the number of calls of all rounds, and up to each."""
        return self._score_of(
            [float(sum_) for sum_ in accumulate(one.calls or 0 for one in facts.record.rounds)]
        )


def _found(record: Record) -> Iterator[set[Place]]:
    """Yield the pages that were found after each round."""
    found: set[Place] = set()
    for one in record.rounds:
        found = found.union(*(hit.chunk.places for hit in one.hits))
        yield found
