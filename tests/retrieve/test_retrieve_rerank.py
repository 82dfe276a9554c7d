"""Reranking by a language model: the grades, their order, and what goes wrong."""

from __future__ import annotations

import asyncio
import logging

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ConfigError, ModelError
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller, ModelCalls
from fathoms.retrieve import BM25, AnyRetriever, Dense, Hybrid, Index, Rerank
from fathoms.retrieve.llm_reranker import NO_GRADE, LLMReranker, grade_of
from fathoms.runs.events import heard
from fathoms.types import Call, Hit, Question

# by BM25 for "seed" the shorter comes first: c2, c1, c0
TEXTS = ["seed for the first field day", "seed for the second day", "seed third", "no such word"]


def by(**options) -> LLMReranker:
    return LLMReranker(generate=ScriptedModel(**options))


def refined(
    retriever: Rerank, index: Index, question: Question, calls: list[Call] | None = None
) -> tuple[Hit, ...]:
    """The hits of one question: its candidates, sorted by the model."""
    (candidates,) = retriever.search(index, [question])
    model_calls = ModelCalls(Caller(), done=[] if calls is None else calls)
    return asyncio.run(retriever.refine(index, question, candidates, model_calls))


def order(make, ask, reranker: LLMReranker, **options) -> list[tuple[str, float]]:
    found = refined(Rerank(first=BM25(), by=reranker, **options), make(TEXTS), *ask("seed?"))
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    return [(hit.chunk.id, hit.score) for hit in found]


def test_the_grades_decide(make, ask) -> None:
    (first,) = BM25().search(make(TEXTS), ask("seed?"))
    assert [hit.chunk.id for hit in first] == ["c2", "c1", "c0"]
    graded = by(replies={"first": "9", "second": "10", "third": "2/10"})
    assert order(make, ask, graded) == [("c1", 10.0), ("c0", 9.0), ("c2", 2.0)]
    assert order(make, ask, graded, top_k=1) == [("c1", 10.0)]


def test_equal_grades_keep_the_order_of_the_first(make, ask) -> None:
    assert order(make, ask, by(default="5")) == [("c2", 5.0), ("c1", 5.0), ("c0", 5.0)]


class Events(logging.Handler):
    """The facts of the events that it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.facts.append(record.__dict__["facts"])


def test_no_grade_comes_last_and_is_counted(make, ask) -> None:
    with heard(events := Events()):
        found = order(make, ask, by(replies={"third": "Very much so!", "first": "0"}, default="7"))
    assert found == [("c1", 7.0), ("c0", 0.0), ("c2", NO_GRADE)]
    (facts,) = events.facts
    assert facts == {"event": "reranking-incomplete", "passages": 3, "without_grade": 1, "shortened": 0}


def test_a_model_that_never_grades_is_an_error(make, ask) -> None:
    with pytest.raises(ModelError, match=r"no grade from 0 to 10 in 3 replies of the reranker.*'Sure!'"):
        order(make, ask, by(default="Sure!"))


def test_a_failing_model_is_an_error(make, ask) -> None:
    with pytest.raises(ModelError, match="the reranker failed: the server is down"):
        order(make, ask, by(default="5", fail_on={"second": "the server is down"}))


def test_after_a_failure_no_more_calls_are_started(make, ask) -> None:
    calls: list[Call] = []
    model = ScriptedModel(default="5", fail_on={"second": "the server is down"}, max_concurrency=1)
    with pytest.raises(ModelError):
        refined(Rerank(first=BM25(), by=LLMReranker(generate=model)), make(TEXTS), *ask("seed?"), calls)
    # c2, then c1, which fails; c0 is not asked about
    assert [(call.purpose, call.attempts, call.error and call.error.kind) for call in calls] == [
        ("rerank", 1, None),
        ("rerank", 1, "ModelError"),
    ]


def test_many_questions_at_once(make, ask) -> None:
    """Each question's own candidates, with its own text in the prompt."""
    model = ScriptedModel(replies={"Question: seed third": "1", "passage": "2"}, latency=0.01)
    retriever, questions = (
        Rerank(first=BM25(), by=LLMReranker(generate=model)),
        ask("seed third", "zebra", "second"),
    )

    async def refine_all() -> list[tuple[Hit, ...]]:
        index = make(TEXTS)
        caller, rows = Caller(), retriever.search(index, questions)
        parts = (
            retriever.refine(index, item, row, ModelCalls(caller))
            for item, row in zip(questions, rows, strict=True)
        )
        return await asyncio.gather(*parts)

    rows = asyncio.run(refine_all())
    assert [[hit.chunk.id for hit in row] for row in rows] == [["c2", "c1", "c0"], [], ["c1"]]
    assert [{hit.score for hit in row} for row in rows] == [{1.0}, set(), {2.0}]


@pytest.mark.parametrize("texts", [TEXTS, []])
def test_no_candidate_no_call(make, ask, texts: list[str]) -> None:
    retriever = Rerank(first=BM25(), by=by(fail_on={"": "never asked"}))
    assert refined(retriever, make(texts), *ask("zebra")) == ()


def test_braces_are_text(make, ask) -> None:
    index = make(["seed {question} {passage}"])
    graded = by(replies={"Passage:\nseed {question} {passage}": "8"}, default="1")
    found = refined(Rerank(first=BM25(), by=graded), index, *ask("seed {passage}"))
    assert found[0].score == 8


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("7", 7),
        (" 10\n", 10),
        ("0", 0),
        ("7/10", 7),
        ("7 out of 10", 7),
        ("**8**", 8),
        ("Grade: 6.", 6),
        ("Grade (0-10): 6", 6),
        ("On a scale from 0 to 10, this is a 9.", 9),
        ("A score of 10", 10),
        ("8.5", 8.5),
        ("4\nThe passage names 3 valves.", 4),
        ("It is a 7, so 7", 7),
        ("Table 3 says so: 9", None),
        ("100", None),
        ("-5", None),
        ("11", None),
        ("95%", None),
        ("2021", None),
        ("seven", None),
        ("", None),
    ],
)
def test_reading_a_grade(reply: str, grade: float | None) -> None:
    assert grade_of(reply) == grade


def test_a_reply_that_fills_the_window_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the reranker's generate: .* leaves no room in a context of 64"):
        Rerank(first=BM25(), by=by(context_window=64, max_tokens=64)).check()
    Rerank(first=BM25(), by=by(context_window=64, max_tokens=63)).check()


def test_a_passage_that_does_not_fit_is_shortened(make, ask) -> None:
    """By hand: "seed?" and the passage leave 4 of the 5 words of the prompt for the passage."""
    index = make(["seed one two three four", "seed"])
    model = ScriptedModel(
        context_window=8, max_tokens=3, replies={"three": "9", "two": "7"}, default="1", fail_on={"four": "!"}
    )
    reranker = LLMReranker(generate=model, prompt="{question} {passage}")
    with heard(events := Events()):
        found = refined(Rerank(first=BM25(), by=reranker), index, *ask("seed?"))
    assert [(hit.chunk.id, hit.score) for hit in found] == [("c0", 9.0), ("c1", 1.0)]
    assert found[0].chunk == index.chunks[0]
    (facts,) = events.facts
    assert facts == {"event": "reranking-incomplete", "passages": 2, "without_grade": 0, "shortened": 1}


def test_a_question_that_leaves_no_room_is_an_error(make, ask) -> None:
    model = by(context_window=8, max_tokens=3, default="5")
    with pytest.raises(ModelError, match=r"without a passage takes \d+ tokens and the model leaves 5"):
        order(make, ask, model)


def test_identity_holds_the_model_and_the_retriever() -> None:
    known = Rerank(first=BM25(), by=by(model="a"))
    assert known.identity() == Rerank(first=BM25(top_k=20), by=by(model="a", latency=1)).identity()
    assert known.identity() != Rerank(first=BM25(), by=by(model="b")).identity()
    assert known.identity() != Rerank(first=BM25(top_k=10), by=by(model="a")).identity()
    other = LLMReranker(generate=ScriptedModel(model="a"), prompt="{question} {passage}?")
    assert known.identity() != Rerank(first=BM25(), by=other).identity()


def test_configs() -> None:
    adapter = TypeAdapter(AnyRetriever)
    config = {
        "kind": "rerank",
        "first": {"kind": "hybrid", "of": [{"kind": "dense"}, {"kind": "bm25"}]},
        "by": {"kind": "llm", "generate": {"kind": "scripted"}},
    }
    rerank = adapter.validate_python(config)
    assert isinstance(rerank, Rerank)
    assert isinstance(rerank.first, Hybrid)
    assert (rerank.first.top_k, rerank.top_k, rerank.needs) == (20, 3, "vectors")
    assert adapter.validate_python(rerank.model_dump(mode="json")) == rerank
    assert Rerank(by=by()).first == Dense(top_k=20)
    assert Rerank(first=BM25(), by=by()).needs == "chunks"
    with pytest.raises(ValidationError, match=r"must contain \{passage\}"):
        LLMReranker(generate=ScriptedModel(), prompt="{question}")
