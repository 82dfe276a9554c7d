"""What servers send, on a real socket: streams whole and broken, and what is no answer."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from typing import Any

import pytest

from fathoms.errors import ModelError, NoAnswerError, PromptTooLongError, RateLimitError
from fathoms.models import OllamaLLM, OpenAICompatibleLLM, wire
from fathoms.models.caller import Caller
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion
from fathoms.types import Message, Prompt, Reply
from tests.support.raw_service import Act, hangs, service

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PROMPT = Prompt(messages=(Message(role="user", text="6 x 7?"),))


def chunk(data: bytes) -> bytes:
    """A piece of a body of no known length."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value: Any) -> bytes:
    """A server-sent event in a piece of its own."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return chunk(b"data: " + text + b"\n\n")


def delta(stop: str | None = None, **part: str) -> bytes:
    """A piece of an answer, as OpenAI's API reference shows it."""
    return event({"model": "m-1", "choices": [{"index": 0, "delta": part, "finish_reason": stop}]})


USAGE = event(
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }
)
END = event(b"[DONE]") + chunk(b"")


def reply_of(act: Act, **options: Any) -> Reply:
    """The reply of a server that does so."""
    with service(act) as server:
        model = OpenAICompatibleLLM(model="m", base_url=f"{server.address}/v1", **options)
        return asyncio.run(model.reply(PROMPT))


def sending(*pieces: bytes) -> Act:
    """Sends the pieces, and closes the connection."""
    return lambda connection, _: [connection.sendall(piece) for piece in pieces] and None


def refusing(status: int, body: bytes, *headers: str) -> Act:
    """Answers with a status."""
    lines = [f"HTTP/1.1 {status} Other", *headers, f"Content-Length: {len(body)}", "", ""]
    return sending("\r\n".join(lines).encode() + body)


def test_a_stream_is_put_together() -> None:
    def act(connection: socket.socket, sent: Any) -> None:
        assert sent["stream_options"] == {"include_usage": True}
        connection.sendall(HEAD + chunk(b": a comment\n\n") + delta(role="assistant", content=""))
        connection.sendall(delta(reasoning_content="six times ") + delta(reasoning_content="seven"))
        connection.sendall(delta(content="4") + delta(content="2", stop="stop") + USAGE + END)

    reply = reply_of(act)
    assert (reply.text, reply.reasoning) == ("42", "six times seven")
    assert (reply.stop_reason, reply.model, reply.refusal) == ("stop", "m-1", None)
    assert reply.usage.model_dump(exclude_none=True) == {
        "prompt_tokens": 20,
        "completion_tokens": 3,
        "cached_tokens": 16,
        "reasoning_tokens": 2,
    }
    assert reply.first_token is not None
    assert reply.latency is not None
    assert 0 < reply.first_token < reply.latency


def test_a_thought_is_the_first_token() -> None:
    completion = Completion(Sender("it", None, "", None))
    parts = (
        {"role": "assistant", "content": ""},
        {"reasoning_content": "six times seven"},
        {"content": "42"},
    )
    for seconds, part in enumerate(parts):
        completion.hear({"choices": [{"delta": part, "finish_reason": "stop"}]}, seconds)
    reply = completion.reply()
    assert (reply.first_token, reply.latency) == (1, 2)


def test_events_are_found_wherever_the_pieces_break() -> None:
    answer = {"choices": [{"delta": {"content": "größe\n42"}, "finish_reason": "stop"}]}
    text = b"data: " + json.dumps(answer, ensure_ascii=False).encode() + b"\r\n\r\ndata:[DONE]\n\n"
    reply = reply_of(sending(HEAD, *(chunk(text[n : n + 1]) for n in range(len(text))), chunk(b"")))
    assert reply.text == "größe\n42"


AZURE = {
    "message": "The response was filtered: the prompt triggered Azure OpenAI's content management policy.",
    "type": None,
    "param": "prompt",
    "code": "content_filter",
    "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}
LITELLM = {
    "message": "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - filtered",
    "type": None,
    "param": None,
    "code": "400",
}


@pytest.mark.parametrize(("error", "name"), [(AZURE, "content_filter"), (LITELLM, "content filter")])
def test_the_filter_of_a_gateway_is_a_refusal(error: dict[str, Any], name: str) -> None:
    """Azure OpenAI's error as its documentation shows it, and that of LiteLLM's proxy."""
    with service(refusing(400, json.dumps({"error": error}).encode())) as server:
        model = OpenAICompatibleLLM(model="m", base_url=f"{server.address}/v1")
        reply, call = asyncio.run(Caller().reply(model, PROMPT, purpose="answer"))
    assert (reply.text, reply.refusal, call.error, call.attempts) == ("", name, None, 1)


def test_a_refusal_and_a_filter() -> None:
    refused = reply_of(sending(HEAD, delta(refusal="I will not."), delta(stop="stop"), END))
    assert (refused.text, refused.refusal) == ("I will not.", "refusal")
    filtered = reply_of(sending(HEAD, delta(content="So"), delta(stop="content_filter"), END))
    assert (filtered.text, filtered.refusal) == ("So", "content_filter")


@pytest.mark.slow
def test_ten_megabytes_in_one_line_are_kept() -> None:
    text = "x" * 10_000_000
    reply = reply_of(sending(HEAD, delta(content=text, stop="stop"), END))
    assert reply.text == text


def reset(connection: socket.socket, _: Any) -> None:
    """Half an answer, and a reset."""
    connection.sendall(HEAD + delta(content="4"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (reset, "no connection, or it broke off"),
        (sending(HEAD + delta(content="4")), "no connection, or it broke off"),
        (sending(HEAD + delta(content="4") + chunk(b"")), "the stream ended before the answer was complete"),
        (sending(HEAD + END), "the stream ended before the answer was complete"),
        (sending(HEAD + chunk(b"")), "the stream ended before the answer was complete"),
        (sending(b""), "no connection, or it broke off"),
        (hangs, "sent nothing for 0.5 seconds"),
    ],
)
def test_no_whole_answer_is_none(act: Act, words: str) -> None:
    with pytest.raises(NoAnswerError, match=words):
        reply_of(act, request_timeout=0.5 if act is hangs else 20)


def plain(body: bytes) -> bytes:
    """An answer that comes at once."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Welcome</html>", "not JSON but '<html>Welcome</html>'"),
        (b'{"choices": [{"mess', "not JSON but"),
        (b'{"choices": [{"message": {"content": "\xff"}}]}', "not JSON but"),
        (b"", "the answer is empty"),
        (b"[1]", "JSON, and not an object"),
        (b"{}", "not a chat completion"),
        (b'{"choices": [7]}', "not a chat completion"),
        (b'{"choices": [{"message": {"content": 42}}]}', "not a chat completion .*expected a text, got 42"),
        (b'{"error": {"message": "out of memory", "type": "server_error"}}', "out of memory"),
        (b'{"error": "model is loading"}', "model is loading"),
    ],
)
def test_malformed_replies_are_model_errors(body: bytes, words: str) -> None:
    with pytest.raises(ModelError, match=words) as raised:
        reply_of(sending(plain(body)))
    assert not isinstance(raised.value, NoAnswerError)


def test_counts_that_are_no_numbers_are_not_known() -> None:
    fields = {
        "choices": [{"message": {"content": "42"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": "20"},
    }
    assert reply_of(sending(plain(json.dumps(fields).encode()))).usage.prompt_tokens is None


def test_an_error_in_the_middle_of_a_stream() -> None:
    with pytest.raises(ModelError, match="in the middle of the stream: out of memory"):
        reply_of(sending(HEAD, delta(content="4"), event({"error": {"message": "out of memory"}}), END))


def test_statuses() -> None:
    with pytest.raises(RateLimitError) as limited:
        reply_of(refusing(429, b'{"error": {"message": "slower"}}', "Retry-After: 7"))
    assert (limited.value.status, limited.value.retry_after) == (429, 7)
    with pytest.raises(ModelError, match="answers 503: <h1>Busy</h1>") as busy:
        reply_of(refusing(503, b"<h1>Busy</h1>"))
    assert busy.value.status == 503
    with pytest.raises(PromptTooLongError, match="maximum context length is 4096"):
        reply_of(
            refusing(400, b'{"object": "error", "message": "This model\'s maximum context length is 4096"}')
        )
    with pytest.raises(ModelError, match="answers 307") as moved:
        reply_of(refusing(307, b"", "Location: http://127.0.0.1:9/"))
    assert moved.value.status == 307
    with pytest.raises(ModelError, match=r"answers 422: .*stream_options"):
        reply_of(refusing(422, b'{"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]}'))


def test_a_key_that_the_server_repeats_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TEST_KEY", "sk-planted-0123456789")
    for status in (400, 500):
        with pytest.raises(ModelError, match=r"no such key: \*\*\*") as raised:
            reply_of(
                refusing(status, b'{"error": "no such key: sk-planted-0123456789"}'),
                api_key_env="FATHOMS_TEST_KEY",
            )
        assert "planted" not in str(raised.value)


def test_a_key_that_comes_in_two_pieces_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TEST_KEY", "sk-planted-0123456789")

    def act(connection: socket.socket, _: Any) -> None:
        body = b"<h1>no such key: sk-planted-0123456789</h1>"
        head = f"HTTP/1.1 500 Broken\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body[:28])
        time.sleep(0.2)
        connection.sendall(body[28:])

    with pytest.raises(ModelError, match=r"no such key: \*\*\*") as raised:
        reply_of(act, api_key_env="FATHOMS_TEST_KEY")
    assert "planted" not in str(raised.value)


def test_connections_are_used_again_and_closed_with_their_loop() -> None:
    opened: list[socket.socket] = []
    others = set(wire._sessions)  # of a loop that runs in a thread for as long as the process

    def act(connection: socket.socket, _: Any) -> None:
        opened.append(connection)
        body = plain(b'{"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}')
        connection.sendall(body)
        for _ in range(2):  # two more on the same connection
            if connection.recv(65536):
                connection.sendall(body)
        connection.settimeout(10)
        assert connection.recv(1) == b""  # closed by the client, at the end of its loop

    async def thrice(model: OpenAICompatibleLLM) -> list[str]:
        return [(await model.reply(PROMPT)).text for _ in range(3)]

    with service(act) as server:
        model = OpenAICompatibleLLM(model="m", base_url=f"{server.address}/v1")
        assert asyncio.run(thrice(model)) == ["42"] * 3
        assert asyncio.run(thrice(model)) == ["42"] * 3
    assert len(opened) == 2
    assert set(wire._sessions) <= others  # nothing is kept of a loop that is no more


def test_pieces_of_ollama() -> None:
    def act(connection: socket.socket, sent: Any) -> None:
        assert sent["stream"] is True
        connection.sendall(HEAD.replace(b"text/event-stream", b"application/x-ndjson"))
        for message in ({"content": "4"}, {"content": "2"}):
            connection.sendall(chunk(json.dumps({"message": message, "done": False}).encode() + b"\n"))
        last = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop"}
        connection.sendall(chunk(json.dumps({**last, "prompt_eval_count": 20, "eval_count": 3}).encode()))
        connection.sendall(chunk(b""))

    with service(act) as server:
        reply = asyncio.run(OllamaLLM(model="m", base_url=server.address).reply(PROMPT))
    assert (reply.text, reply.stop_reason, reply.usage.completion_tokens) == ("42", "stop", 3)
    assert reply.first_token is not None
    half = HEAD.replace(b"text/event-stream", b"application/x-ndjson")
    half += chunk(b'{"message": {"content": "4"}, "done": false}\n') + chunk(b"")
    with (
        service(sending(half)) as server,
        pytest.raises(NoAnswerError, match="the stream ended before the answer was complete"),
    ):
        asyncio.run(OllamaLLM(model="m", base_url=server.address).reply(PROMPT))


def test_a_stream_whose_end_is_said_needs_no_finish_reason() -> None:
    reply = reply_of(sending(HEAD, delta(content="4"), delta(content="2"), END))
    assert (reply.text, reply.stop_reason) == ("42", None)
