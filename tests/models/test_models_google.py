"""Gemini: what only Google's API has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError, ModelError, PromptTooLongError, RateLimitError
from fathoms.types import Message, Prompt, Usage
from tests.support.packages import skip_without
from tests.support.vendor_clients import VARIABLE, adapter, answered, prompt
from tests.support.vendor_servers import KEY, Vendors, vendors
from tests.support.vendor_wire import Fails, Said, error_body

pytestmark = pytest.mark.slow  # an SDK and its server

skip_without("google.genai")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    monkeypatch.setenv(VARIABLE, KEY)
    with vendors() as running:
        yield running


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_the_body(server: Vendors, root: Path, picture: Path) -> None:
    pdf = root / "data" / "sample" / "pelnorite-ceramic.pdf"
    thinking = {"thinking_config": {"include_thoughts": True, "thinking_budget": 512}}
    model = adapter("google", server, max_tokens=50, seed=7, temperature=0.1, top_p=0.9, options=thinking)
    answered(model, prompt("And?", files=[pdf], images=[picture], system="Be brief."))
    (seen,) = server.asked
    assert seen.path.endswith("/models/gemini-x:generateContent")
    assert seen.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    settings = seen.body["generationConfig"]
    assert (settings["maxOutputTokens"], settings["seed"]) == (50, 7)
    assert (settings["temperature"], settings["topP"]) == (0.1, 0.9)
    assert settings["thinkingConfig"]["includeThoughts"] is True
    (turn,) = seen.body["contents"]
    kinds = [part.get("inlineData", {}).get("mimeType") for part in turn["parts"]]
    assert kinds == ["application/pdf", "image/png", None]


def test_turns(server: Vendors) -> None:
    turns = (
        Message(role="user", text="Hi"),
        Message(role="assistant", text="Hello"),
        Message(role="user", text="And?"),
    )
    answered(adapter("google", server), Prompt(messages=turns))
    assert [turn["role"] for turn in server.asked[0].body["contents"]] == ["user", "model", "user"]


def test_options_are_checked_against_the_sdk(server: Vendors) -> None:
    with pytest.raises(ConfigError, match=r"generate.options.thinking_config.budget: Extra inputs"):
        adapter("google", server, options={"thinking_config": {"budget": 1}}).check()


def test_thoughts_count_as_completion(server: Vendors, stream: bool) -> None:
    # as the guide to thinking has them: thoughts and output are two numbers, both are billed
    counts = {
        "promptTokenCount": 2310,
        "candidatesTokenCount": 86,
        "thoughtsTokenCount": 901,
        "cachedContentTokenCount": 2048,
        "totalTokenCount": 3297,
    }
    server.script = lambda request: Said("It is 42.", thought="Let me see.", usage=counts)
    reply = answered(adapter("google", server, stream=stream), prompt())
    assert (reply.text, reply.reasoning) == ("It is 42.", "Let me see.")
    assert reply.usage == Usage(
        prompt_tokens=2310, completion_tokens=987, cached_tokens=2048, reasoning_tokens=901
    )
    assert counts["totalTokenCount"] == (reply.usage.prompt_tokens or 0) + (
        reply.usage.completion_tokens or 0
    )


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"])
def test_a_filter(server: Vendors, stream: bool, reason: str) -> None:
    server.script = lambda request: Said("Half an", stop=reason)
    reply = answered(adapter("google", server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("Half an", reason, reason)
    assert reply.usage.prompt_tokens == 11


def test_a_blocked_prompt(server: Vendors, stream: bool) -> None:
    blocked: dict[str, Any] = {"candidates": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    server.script = lambda request: Said("", more=blocked)
    reply = answered(adapter("google", server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason) == ("", None)
    assert reply.refusal == "prompt blocked: PROHIBITED_CONTENT"
    assert reply.usage.prompt_tokens == 11


def test_reasons_that_are_no_refusal(server: Vendors, stream: bool) -> None:
    server.script = lambda request: Said("Half an", stop="MAX_TOKENS")
    reply = answered(adapter("google", server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("Half an", "MAX_TOKENS", None)


def test_how_long_to_wait_stands_in_the_body(server: Vendors) -> None:
    body = error_body("google", 429, "You exceeded your current quota", "RESOURCE_EXHAUSTED")
    body["error"]["details"] = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"},
    ]
    server.script = lambda request: Fails(429, body)
    with pytest.raises(RateLimitError) as caught:
        answered(adapter("google", server), prompt())
    assert (caught.value.status, caught.value.retry_after) == (429, 34.4)


def test_a_payload_above_the_limit(server: Vendors) -> None:
    text = "Request payload size exceeds the limit: 20971520 bytes."
    server.script = lambda request: Fails(400, error_body("google", 400, text, "INVALID_ARGUMENT"))
    with pytest.raises(PromptTooLongError, match="20971520 bytes"):
        answered(adapter("google", server), prompt())


def test_a_file_that_never_gets_ready(server: Vendors, root: Path) -> None:
    server.gets_ready = False
    pdf = root / "data" / "sample" / "pelnorite-ceramic.pdf"
    model = adapter("google", server, attach="upload", request_timeout=2)
    with pytest.raises(ModelError, match=r"did not finish processing 'pelnorite-ceramic.pdf' .*PROCESSING"):
        answered(model, prompt(files=[pdf]))
