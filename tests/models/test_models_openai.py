"""OpenAI: what only its two APIs have, and a real server that speaks both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ModelError, PromptTooLongError, RateLimitError
from fathoms.models import OpenAILLM
from fathoms.types import Usage
from tests.support.llama_server import KEY as LLAMA_KEY
from tests.support.llama_server import MODEL
from tests.support.packages import skip_without
from tests.support.vendor_clients import VARIABLE, adapter, answered, prompt
from tests.support.vendor_servers import KEY, Vendors, vendors
from tests.support.vendor_wire import Fails, Said, error_body

pytestmark = pytest.mark.slow  # an SDK and its server

skip_without("openai")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    monkeypatch.setenv(VARIABLE, KEY)
    with vendors() as running:
        yield running


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def pdf(root: Path) -> Path:
    return root / "data" / "sample" / "pelnorite-ceramic.pdf"


def test_the_body_of_a_chat(server: Vendors, pdf: Path, picture: Path) -> None:
    model = adapter("chat", server, max_tokens=50, seed=7, options={"reasoning_effort": "low"})
    answered(model, prompt("And?", files=[pdf], images=[picture], system="Be brief."))
    (body,) = [seen.body for seen in server.asked]
    assert (body["model"], body["max_completion_tokens"], body["seed"]) == ("gpt-x", 50, 7)
    assert body["reasoning_effort"] == "low"
    assert not {"max_tokens", "temperature", "top_p"} & body.keys()
    system, user = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    file, image, text = user["content"]
    assert file["file"]["filename"] == "pelnorite-ceramic.pdf"
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,JVBERi0")
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert text == {"type": "text", "text": "And?"}


def test_the_body_of_a_response(server: Vendors, pdf: Path) -> None:
    options = {"reasoning": {"effort": "low", "summary": "auto"}}
    model = adapter("responses", server, max_tokens=50, temperature=0.2, options=options)
    answered(model, prompt("And?", files=[pdf], system="Be brief."))
    answered(model.model_copy(update={"options": {"store": True}}), prompt())
    body, stored = [seen.body for seen in server.asked]
    assert (body["max_output_tokens"], body["temperature"], body["store"]) == (50, 0.2, False)
    assert stored["store"] is True
    assert body["reasoning"] == options["reasoning"]
    system, user = body["input"]
    assert system == {"role": "system", "content": "Be brief."}
    assert [item["type"] for item in user["content"]] == ["input_file", "input_text"]
    assert user["content"][0]["filename"] == "pelnorite-ceramic.pdf"


def test_an_uploaded_file_is_named_by_its_id(server: Vendors, pdf: Path) -> None:
    for api in ("chat", "responses"):
        answered(adapter(api, server, attach="upload"), prompt(files=[pdf]))
    chat, response = [seen.body for seen in server.asked]
    assert chat["messages"][0]["content"][0] == {"type": "file", "file": {"file_id": "file-1"}}
    assert response["input"][0]["content"][0] == {"type": "input_file", "file_id": "file-1"}


def test_there_is_no_seed_for_responses() -> None:
    with pytest.raises(ValueError, match="takes no 'seed'"):
        OpenAILLM(model="m", api="responses", seed=1)


def test_usage(server: Vendors, stream: bool) -> None:
    # the numbers of OpenAI's API reference
    counts = {
        "prompt_tokens": 2006,
        "completion_tokens": 300,
        "total_tokens": 2306,
        "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 86},
        "completion_tokens_details": {"reasoning_tokens": 128},
    }
    server.script = lambda request: Said(usage=counts)
    expected = Usage(
        prompt_tokens=2006,
        completion_tokens=300,
        cached_tokens=1920,
        cache_write_tokens=86,
        reasoning_tokens=128,
    )
    assert answered(adapter("chat", server, stream=stream), prompt()).usage == expected
    named = {key.replace("prompt", "input").replace("completion", "output"): n for key, n in counts.items()}
    server.script = lambda request: Said(usage=named)
    assert answered(adapter("responses", server, stream=stream), prompt()).usage == expected


def test_a_model_that_refuses(server: Vendors, stream: bool) -> None:
    server.script = lambda request: Said("", refusal="I can't help with that.")
    for api in ("chat", "responses"):
        reply = answered(adapter(api, server, stream=stream), prompt())
        assert (reply.text, reply.refusal) == ("I can't help with that.", "refusal")
        assert reply.usage.prompt_tokens == 11


def test_a_content_filter(server: Vendors, stream: bool) -> None:
    server.script = lambda request: Said("Half an", stop="content_filter")
    reply = answered(adapter("chat", server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("Half an", "content_filter", "content_filter")
    cut = {"incomplete_details": {"reason": "content_filter"}}
    server.script = lambda request: Said("Half an", stop="incomplete", more=cut)
    reply = answered(adapter("responses", server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("Half an", "content_filter", "content_filter")


def failed(code: str, message: str) -> Said:
    """A response that its server gave up."""
    return Said("", stop="failed", more={"error": {"code": code, "message": message}, "usage": None})


def test_a_response_that_failed(server: Vendors, stream: bool) -> None:
    model = adapter("responses", server, stream=stream)
    server.script = lambda request: failed("server_error", "The server had an error.")
    with pytest.raises(ModelError, match="answers 500: The server had an error"):
        answered(model, prompt())
    server.script = lambda request: failed("rate_limit_exceeded", "Slow down.")
    with pytest.raises(RateLimitError, match="Slow down"):
        answered(model, prompt())
    server.script = lambda request: failed("bio_policy", "Not this.")
    reply = answered(model, prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("", "failed", "bio_policy")


def test_a_response_that_is_cut_and_its_reasoning(server: Vendors, stream: bool) -> None:
    cut = {"incomplete_details": {"reason": "max_output_tokens"}}
    server.script = lambda request: Said("Half", thought="Hm.", stop="incomplete", more=cut)
    reply = answered(adapter("responses", server, stream=stream), prompt())
    assert (reply.text, reply.reasoning) == ("Half", "Hm.")
    assert (reply.stop_reason, reply.refusal) == ("max_output_tokens", None)


def test_limits_that_waiting_does_not_lift(server: Vendors) -> None:
    model = adapter("chat", server)
    one_request: dict[str, Any] = {}
    server.script = lambda request: Fails(
        429, error_body("chat", 429, one_request["message"], one_request["code"])
    )
    one_request.update(message="You exceeded your current quota", code="insufficient_quota")
    with pytest.raises(ModelError, match="current quota") as caught:
        answered(model, prompt())
    assert type(caught.value) is ModelError
    one_request.update(
        message="Request too large for gpt-x: Limit 30000, Requested 40000", code="rate_limit_exceeded"
    )
    with pytest.raises(PromptTooLongError, match="Requested 40000"):
        answered(model, prompt())


@pytest.mark.slow
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_real_server(api: str, chat_address: str, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    monkeypatch.setenv(VARIABLE, LLAMA_KEY)
    options: dict[str, Any] = {"max_tokens": 6, "temperature": 0, "stream": stream, "api": api}
    model = OpenAILLM(model=MODEL, base_url=chat_address, api_key_env=VARIABLE, **options)
    reply = answered(model, prompt("What is the capital of France?", system="Be brief."))
    assert reply.text == "The capital of France is Paris"
    # this server calls a response complete that it has cut
    assert (reply.stop_reason, reply.model) == ({"chat": "length", "responses": "completed"}[api], MODEL)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (24, 6)
    assert (reply.first_token is not None) is stream
    with pytest.raises(PromptTooLongError, match="exceeds the available context size"):
        answered(model, prompt("word " * 2000))
    monkeypatch.setenv(VARIABLE, "sk-another-key-of-nobody")
    with pytest.raises(ModelError, match=f"refuses the key: .*{VARIABLE}"):
        answered(model, prompt("Hi"))
