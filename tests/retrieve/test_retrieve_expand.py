"""Query expansion: the texts that a model makes of a question, their rankings fused, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ModelError
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller, ModelCalls
from fathoms.retrieve import BM25, AnyRetriever, Expand, Index
from fathoms.retrieve.expand import prompts, search_texts
from fathoms.runs.events import heard
from fathoms.types import Call, Hit, Question, Round

TEXTS = ["the mast is tall", "the tower's height", "red paint", "blue paint, red paint and the mast"]


def expanded(
    index: Index, question: Question, *, fails: str = "no", **options: object
) -> tuple[tuple[Hit, ...], list[Round], list[Call]]:
    """The hits, the rounds and the calls of one question, whose model replies with `reply`."""
    model = ScriptedModel(
        default=str(options.pop("reply", "")), fail_on={"?": fails} if fails != "no" else {}
    )
    retriever = Expand(retriever=BM25(), generate=model, **options)  # type: ignore[arg-type]
    calls = ModelCalls(Caller())
    (candidates,) = retriever.search(index, [question])
    found = asyncio.run(retriever.refine(index, question, candidates, calls))
    return found, calls.rounds, calls.done


def test_the_rankings_of_all_texts_are_fused(make, ask) -> None:
    """By hand: "mast?" finds c0, c3 (longer); "tower height" finds c1; "red" finds c2, c3 (longer).
    c3 has 1/62 + 1/62 = .03226, and c0, c1, c2 have 1/61 = .01639 each, in the order of the index."""
    found, rounds, calls = expanded(make(TEXTS), *ask("mast?"), reply='["tower height", "red"]', top_k=4)
    assert [(hit.chunk.id, round(hit.score, 5)) for hit in found] == [
        ("c3", 0.03226),
        ("c0", 0.01639),
        ("c1", 0.01639),
        ("c2", 0.01639),
    ]
    assert [(one.query, [hit.chunk.id for hit in one.hits], one.calls) for one in rounds] == [
        ("mast?", ["c0", "c3"], 1),
        ("tower height", ["c1"], 0),
        ("red", ["c2", "c3"], 0),
    ]
    assert [(call.purpose, call.unread) for call in calls] == [("expand", False)]
    found, rounds, _ = expanded(make(TEXTS), *ask("mast?"), reply='["tower height", "red"]', original=False)
    assert [hit.chunk.id for hit in found] == ["c1", "c2", "c3"]
    assert [one.query for one in rounds] == ["tower height", "red"]


@pytest.mark.parametrize("original", [True, False])
def test_an_unreadable_reply_leaves_the_question_and_is_counted(make, ask, original: bool) -> None:
    facts: list[dict[str, object]] = []
    handler = logging.Handler()
    handler.emit = lambda record: facts.append(record.__dict__["facts"])  # type: ignore[method-assign]
    with heard(handler):
        found, rounds, calls = expanded(make(TEXTS), *ask("mast?"), reply="Sure!", original=original)
    assert [hit.chunk.id for hit in found] == ["c0", "c3"]
    assert [one.query for one in rounds] == ["mast?"]
    assert [call.unread for call in calls] == [True]
    assert facts == [{"event": "expansion-unread", "reply": "Sure!"}]


def test_a_failing_model_is_an_error(make, ask) -> None:
    with pytest.raises(ModelError, match="the question could not be expanded: the server is down"):
        expanded(make(TEXTS), *ask("mast?"), fails="the server is down")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        ('{"queries": ["a b", "c"]}', ("a b", "c")),
        ('```json\n{"queries": [" a\\n b ", "", "a b", "c", "d"]}\n```', ("a b", "c")),
        ('As asked [1]: ["a"]', ("a",)),
        ('["a", 3]', ()),
        ("[]", ()),
        ('["a"', ()),
        ("1. a\n2. b", ()),
        ("[1] " * 999 + '["a"]', ("a",)),
        ("[1] " * 1000 + '["a"]', ()),
        ("[" * 100_000, ()),
    ],
)
def test_reading_search_texts(reply: str, texts: tuple[str, ...]) -> None:
    assert search_texts(reply, 2) == texts


def test_the_prompt_and_the_form(make, ask) -> None:
    """Braces in a question stay as they are, and a model can be held to the number of texts."""
    retriever = Expand(generate=ScriptedModel(), mode="split", queries=2)
    (prompt,) = retriever.refining_prompts(*ask("what is {queries}?"), ())
    text = prompt.messages[0].text
    assert "Question: what is {queries}?" in text
    assert "at most 2." in text
    assert '{"queries": ["...", "..."]}' in text
    assert prompt.form is not None
    assert prompt.form.json_schema is not None
    assert prompt.form.json_schema["properties"]["queries"]["maxItems"] == 2


def test_configs_and_identity() -> None:
    config = {"kind": "expand", "retriever": {"kind": "bm25"}, "generate": {"kind": "scripted"}}
    result = TypeAdapter(AnyRetriever).validate_python(config)
    assert isinstance(result, Expand)
    assert (result.retriever.top_k, result.top_k, result.needs) == (20, 3, "chunks")
    assert TypeAdapter(AnyRetriever).validate_python(result.model_dump(mode="json")) == result
    assert set(prompts()) == {"rewrite", "split"}
    same = result.model_copy(update={"prompt": prompts()["rewrite"].text})
    assert result.identity() != same.identity(), "the version of the prompt is part of the identity"
    other = result.model_copy(update={"generate": ScriptedModel(model="b")})
    assert result.identity() != other.identity()
    with pytest.raises(ValidationError, match=r"must contain \{question\}"):
        Expand(generate=ScriptedModel(), prompt="Rewrite it.")


@pytest.mark.slow
def test_a_real_model_rewrites_a_question(make, ask, smollm) -> None:
    """The embedded model is held to the form, so even one of 135M parameters gives texts that can be read."""
    model = smollm.model_copy(update={"max_tokens": 120})
    retriever = Expand(retriever=BM25(), generate=model, queries=2)
    retriever.check()
    calls = ModelCalls(Caller())
    index, (question,) = make(TEXTS), ask("What is the height of the tower?")
    (candidates,) = retriever.search(index, [question])
    found = asyncio.run(retriever.refine(index, question, candidates, calls))
    assert found[0].chunk.id == "c1"
    assert [(call.purpose, call.unread) for call in calls.done] == [("expand", False)]
    assert calls.done[0].usage.completion_tokens
    assert 2 <= len(calls.rounds) <= 3, json.dumps([one.query for one in calls.rounds])
    assert calls.rounds[0].query == question.text
