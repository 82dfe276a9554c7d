"""Claude: what only Anthropic's API has, and a real server that speaks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fathoms.errors import ModelError, PromptTooLongError, RateLimitError
from fathoms.models import AnthropicLLM
from fathoms.types import Message, Prompt, Usage
from tests.support.llama_server import KEY as LLAMA_KEY
from tests.support.llama_server import MODEL
from tests.support.packages import skip_without
from tests.support.vendor_clients import VARIABLE, adapter, answered, prompt
from tests.support.vendor_servers import KEY, Vendors, vendors
from tests.support.vendor_wire import Fails, Said, error_body

pytestmark = pytest.mark.slow  # an SDK and its server

skip_without("anthropic")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    monkeypatch.setenv(VARIABLE, KEY)
    with vendors() as running:
        yield running


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_a_document_block_has_bytes_and_title(server: Vendors, root: Path, picture: Path) -> None:
    pdf = root / "data" / "sample" / "pelnorite-ceramic.pdf"
    model = adapter("anthropic", server, max_tokens=500, temperature=0.0)
    answered(model, prompt("And?", files=[pdf], images=[picture], system="Be brief."))
    (body,) = [seen.body for seen in server.asked]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-x", 500, 0.0)
    assert body["system"] == "Be brief."
    (turn,) = body["messages"]
    document, image, text = turn["content"]
    assert (document["type"], document["title"]) == ("document", "pelnorite-ceramic.pdf")
    assert document["source"]["media_type"] == "application/pdf"
    assert (image["type"], image["source"]["media_type"]) == ("image", "image/png")
    assert text == {"type": "text", "text": "And?"}


def test_turns_and_options(server: Vendors) -> None:
    turns = (
        Message(role="system", text="One."),
        Message(role="user", text="Hi"),
        Message(role="assistant", text="Hello"),
        Message(role="user", text="And?"),
    )
    thinking = {"type": "enabled", "budget_tokens": 1024}
    model = adapter("anthropic", server, options={"thinking": thinking, "metadata": {"user_id": "me"}})
    answered(model, Prompt(messages=turns))
    (body,) = [seen.body for seen in server.asked]
    assert body["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "And?"},
    ]
    assert (body["system"], body["thinking"], body["metadata"]) == ("One.", thinking, {"user_id": "me"})


def test_thinking_and_cached_tokens_are_counted(server: Vendors, stream: bool) -> None:
    # the worked example of Anthropic's guide to prompt caching: input is what was neither read nor written
    counts = {
        "input_tokens": 50,
        "cache_read_input_tokens": 100_000,
        "cache_creation_input_tokens": 248,
        "output_tokens": 503,
        "output_tokens_details": {"thinking_tokens": 400},
    }
    server.script = lambda request: Said("It is 42.", thought="Let me see.", usage=counts)
    reply = answered(adapter("anthropic", server, stream=stream), prompt())
    assert (reply.text, reply.reasoning) == ("It is 42.", "Let me see.")
    assert reply.usage == Usage(
        prompt_tokens=100_298,
        completion_tokens=503,
        cached_tokens=100_000,
        cache_write_tokens=248,
        reasoning_tokens=400,
    )


def test_a_refusal(server: Vendors, stream: bool) -> None:
    details = {"stop_details": {"type": "refusal", "category": "bio", "explanation": "No."}}
    model = adapter("anthropic", server, stream=stream)
    server.script = lambda request: Said("I can", stop="refusal", more=details)
    reply = answered(model, prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("I can", "refusal", "refusal: bio")
    server.script = lambda request: Said("", stop="refusal")
    reply = answered(model, prompt())
    assert (reply.text, reply.refusal, reply.usage.prompt_tokens) == ("", "refusal", 11)


def test_overloaded(server: Vendors) -> None:
    body = error_body("anthropic", 529, "Overloaded", "overloaded_error")
    server.script = lambda request: Fails(529, body, {"retry-after": "3"})
    with pytest.raises(RateLimitError, match="529: Overloaded") as caught:
        answered(adapter("anthropic", server), prompt())
    assert (caught.value.status, caught.value.retry_after) == (529, 3.0)


def test_too_many_pages(server: Vendors) -> None:
    text = "messages.0.content.0.pdf.source: A maximum of 100 PDF pages may be provided."
    server.script = lambda request: Fails(400, error_body("anthropic", 400, text, "invalid_request_error"))
    with pytest.raises(PromptTooLongError, match="100 PDF pages"):
        answered(adapter("anthropic", server), prompt())


def test_a_model_that_the_sdk_calls_old_gives_no_warning(server: Vendors, stream: bool) -> None:
    model = adapter("anthropic", server, stream=stream).model_copy(
        update={"model": "claude-sonnet-4-20250514"}
    )
    assert answered(model, prompt()).text == "42"


@pytest.mark.slow
@pytest.mark.parametrize("streams", [False, True])
def test_a_real_server(chat_address: str, monkeypatch: pytest.MonkeyPatch, streams: bool) -> None:
    monkeypatch.setenv(VARIABLE, LLAMA_KEY)
    model = AnthropicLLM(
        model=MODEL,
        base_url=chat_address.removesuffix("/v1"),
        api_key_env=VARIABLE,
        max_tokens=6,
        temperature=0,
        stream=streams,
    )
    reply = answered(model, prompt("What is the capital of France?", system="Be brief."))
    assert reply.text == "The capital of France is Paris"
    assert (reply.stop_reason, reply.model, reply.refusal) == ("max_tokens", MODEL, None)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (24, 6)
    assert (reply.first_token is not None) is streams
    longer = model.model_copy(update={"max_tokens": 60})
    assert answered(longer, prompt("Say hi.")).stop_reason in ("end_turn", "max_tokens")
    with pytest.raises(PromptTooLongError, match="exceeds the available context size"):
        answered(model, prompt("word " * 2000))
    monkeypatch.setenv(VARIABLE, "sk-another-key-of-nobody")
    with pytest.raises(ModelError, match=f"refuses the key: .*{VARIABLE}"):
        answered(model, prompt("Hi"))
