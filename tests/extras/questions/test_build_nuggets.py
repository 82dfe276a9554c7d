"""Nuggets that a language model drafts from gold answers: what is read, left out and paid once."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from fathoms.errors import UsageError
from fathoms.extras.questions.nuggets import draft_nuggets
from fathoms.judges.llm import LLMJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import Embedded, ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.runs.cache import Cache
from fathoms.types import Nugget, Question

NUGGETS = (Nugget(question="Why?", answers=("rain",)),)
QUESTIONS = [
    Question(id="tall", text="What is the tower like?", category="A", reference="It is 41.5 m tall."),
    Question(id="kept", text="Why?", category="A", reference="Rain.", nuggets=NUGGETS),
    Question(id="phrases", text="Which colour?", category="A", answers=(("green",),)),
    Question(id="none", text="Who?", category="A", answerable=False),
    Question(id="bare", text="When?", category="A"),
    Question(id="unread", text="Where?", category="A", reference="In Varn."),
]
ROWS = [
    {"question": "How tall is it?", "answer": "41.5 m", "importance": "vital"},
    {"question": "How tall is it?", "answer": "41 m", "importance": "okay"},
    {"question": " ", "answer": "x", "importance": "okay"},
]
REPLIES = {
    "It is 41.5 m tall.": json.dumps({"nuggets": ROWS}),
    "green": '{"nuggets": [{"question": "Which colour?", "answer": "green", "importance": "okay"}]}',
}


def test_questions_without_nuggets_get_drafts_that_are_marked(tmp_path: Path) -> None:
    model = ScriptedModel(replies=REPLIES, default="I cannot.")
    slow = model.model_copy(
        update={"latency": 60.0}
    )  # the same model, which would be noticed if it were asked
    with closing(Cache(tmp_path / "cache")) as cache:
        replies = ReplyCache(cache)
        found = draft_nuggets(QUESTIONS, LLMJudge(model=model), replies)
        started = time.monotonic()
        again = draft_nuggets(QUESTIONS, LLMJudge(model=slow), replies)
        assert time.monotonic() - started < 60
    nuggets = {question.id: question.nuggets for question in found.questions}
    assert nuggets["tall"] == (
        Nugget(question="How tall is it?", answers=("41.5 m",), importance="vital", origin="drafted"),
    )
    assert nuggets["kept"] == NUGGETS
    assert [len(nuggets[name]) for name in ("phrases", "none", "unread")] == [1, 0, 0]
    assert found.without.keys() == {"bare", "unread"}  # an unanswerable question needs none
    assert "gold answer" in found.without["bare"]
    assert again == found


def test_a_judge_without_a_language_model_drafts_nothing() -> None:
    with pytest.raises(UsageError, match="has no language model"):
        draft_nuggets(QUESTIONS, ScriptedJudge())


@pytest.mark.long
@pytest.mark.slow
def test_a_grammar_holds_the_embedded_model_to_the_form(smollm: Embedded) -> None:
    judge = LLMJudge(model=smollm.model_copy(update={"max_tokens": 120}))
    found = draft_nuggets(QUESTIONS[:1], judge)
    (question,) = found.questions
    assert question.nuggets or "token limit" in found.without["tall"]
    assert {nugget.origin for nugget in question.nuggets} <= {"drafted"}
