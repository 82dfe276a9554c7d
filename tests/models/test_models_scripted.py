"""The scripted model does what it was told."""

from __future__ import annotations

import asyncio
import hashlib
import time

import pytest

from fathoms.errors import ModelError
from fathoms.models import ScriptedModel
from fathoms.types import Message, Prompt, Usage
from tests.support.mixed_message import Mixed

MODEL = ScriptedModel(
    replies={"depth": "40 metres", "the depth of the sea": "never: the first key won"},
    fail_on={"storm": "the line is down"},
    max_tokens=4,
)


def prompt(text: str, context: str = "") -> Prompt:
    messages = (Message(role="system", text="storm depth"), Message(role="user", text=text))
    return Prompt(messages=messages, context=context)


def test_the_first_key_in_the_last_message_wins() -> None:
    reply = asyncio.run(MODEL.reply(prompt("What is the depth of the sea?")))
    assert reply.text == "40 metres"
    assert reply.stop_reason == "stop"
    assert reply.usage == Usage(prompt_tokens=9, completion_tokens=2)


def test_every_text_of_a_message_is_searched(mixed: Mixed) -> None:
    model = ScriptedModel(replies={"red:\nThis is blue": "both"})
    assert asyncio.run(model.reply(mixed.prompt)).text == "both"


def test_a_picture_that_is_shown_is_seen(mixed: Mixed) -> None:
    """By the bytes of its file, before any text; a picture that is not shown is not seen."""
    texts = {"red:\nThis is blue": "read"}
    (shown, *_) = mixed.prompt.messages[-1].images
    seen = {hashlib.sha256(shown.read_bytes()).hexdigest(): "seen"}
    assert asyncio.run(ScriptedModel(pictures=seen, replies=texts).reply(mixed.prompt)).text == "seen"
    other = ScriptedModel(pictures={"0" * 64: "seen"}, replies=texts)
    assert asyncio.run(other.reply(mixed.prompt)).text == "read"


def test_the_default_the_echo_and_the_limit() -> None:
    assert asyncio.run(MODEL.reply(prompt("Who?"))).text == "I don't know."
    echo = MODEL.model_copy(update={"echo": True})
    reply = asyncio.run(echo.reply(prompt("Who?", context="one two three four five")))
    assert reply.text == "one two three four"
    assert reply.stop_reason == "length"


def test_it_fails_on_purpose() -> None:
    with pytest.raises(ModelError, match="the line is down"):
        asyncio.run(MODEL.reply(prompt("What is the depth in a storm?")))


def test_it_waits_and_others_go_on() -> None:
    slow = MODEL.model_copy(update={"latency": 0.5})

    async def many() -> None:
        await asyncio.gather(*(slow.reply(prompt("Who?")) for _ in range(100)))

    started = time.perf_counter()
    asyncio.run(many())
    assert 0.5 <= time.perf_counter() - started < 40  # one after the other they take 50


def test_latency_is_in_no_fingerprint() -> None:
    assert MODEL.model_copy(update={"latency": 9.0, "max_concurrency": 1}).identity() == MODEL.identity()
    assert MODEL.model_copy(update={"default": "?"}).identity() != MODEL.identity()
