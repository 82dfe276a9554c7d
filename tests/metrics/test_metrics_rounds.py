"""Recall and calls after each round of retrieval, against values worked out by hand."""

from __future__ import annotations

from fathoms.metrics.metric import Facts
from fathoms.metrics.registry import named
from fathoms.metrics.retrieval.rounds import CallsByRound, RecallByRound
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Evidence, Hit, Question, Record, Reply, Round, Score

GOLD = tuple(Evidence(document=document, page=page) for document, page in [("a", 1), ("a", 2), ("b", 1)])


def searched(*pages: tuple[str, int], calls: int | None = None) -> Round:
    hits = tuple(
        Hit(chunk=Chunk(id=str(rank), document=document, pages=(page,)), score=1, rank=rank)
        for rank, (document, page) in enumerate(pages, start=1)
    )
    return Round(query="?", hits=hits, calls=calls)


def scored(metric: RecallByRound | CallsByRound, *rounds: Round, gold: tuple[Evidence, ...] = GOLD) -> Score:
    question = Question(id="q", text="?", category="c", evidence=gold)
    record = Record(question=question, rounds=rounds, answer=Reply(text="x"))
    return metric.of(Facts(record, RecordScore()))


def test_recall_of_the_union_after_each_round() -> None:
    """Of three gold pages the first round finds one, the second the same and another, the third none."""
    rounds = (searched(("a", 1), ("c", 1)), searched(("a", 1), ("b", 1)), searched(("b", 2)))
    found = scored(RecallByRound(rounds=5), *rounds)
    assert (found.value, found.n) == (2 / 3, 3)
    assert list(found.parts.items()) == [
        ("round 1", 1 / 3),
        ("round 2", 2 / 3),
        ("round 3", 2 / 3),
        ("round 4", 2 / 3),  # a question with fewer rounds keeps its value
        ("round 5", 2 / 3),
    ]
    assert RecallByRound().apart(found) == found.parts
    assert list(scored(RecallByRound(rounds=1), *rounds).parts.items()) == [("round 1", 1 / 3)]


def test_calls_up_to_each_round() -> None:
    found = scored(CallsByRound(), searched(calls=1), searched(calls=0), searched(calls=3))
    assert (found.value, found.parts) == (4, {"round 1": 1, "round 2": 1, "round 3": 4})
    unknown = scored(CallsByRound(), searched(calls=1), searched())
    assert (unknown.value, unknown.why) == (None, {"lacks": "the number of calls of every round"})


def test_what_a_record_lacks() -> None:
    assert scored(RecallByRound()).why == {"lacks": "rounds of retrieval"}
    assert scored(RecallByRound(), searched(("a", 1)), gold=()).why == {"lacks": "gold pages"}
    assert [metric.name for metric in named(["rounds"])] == ["recall-by-round", "calls-by-round"]
