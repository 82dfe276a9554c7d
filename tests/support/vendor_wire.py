"""How each vendor's API puts an answer on the wire, whole and in pieces, and what it says of an error.

The shapes are those of the vendors' API references; the tests read them back with the vendors' own SDKs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MODELS = {
    "anthropic": "claude-served-1",
    "chat": "gpt-served-1",
    "responses": "gpt-served-1",
    "google": "gemini-served-1",
}
STOPS = {"anthropic": "end_turn", "chat": "stop", "responses": "completed", "google": "STOP"}


@dataclass(frozen=True)
class Said:
    """An answer. `more` is laid over the answer of the API, for whatever only one vendor has."""

    text: str = "42"
    thought: str = ""
    stop: str | None = None
    refusal: str | None = None
    usage: dict[str, Any] | None = None
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fails:
    """An answer with a status and a body of one's own."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Breaks:
    """A connection that goes wrong: `cut` ends early and cleanly, `reset` in the middle of a chunk, `garbage`
    is no JSON, `html` a page for people, `empty` JSON without anything, `hang` silence, `error` an event of a
    stream that tells an error."""

    how: str
    event: bytes = b""


Step = Said | Fails | Breaks


def error_body(api: str, status: int, message: str, code: str) -> Any:
    """An error as the vendor words it."""
    if api == "anthropic":
        return {"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"}
    if api == "google":
        return {"error": {"code": status, "message": message, "status": code}}
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def whole(api: str, said: Said) -> dict[str, Any]:
    """The answer in one piece."""
    return {**_WHOLE[api](said, said.stop or STOPS[api]), **said.more}


def pieces(api: str, said: Said) -> list[bytes]:
    """The answer as events of a stream."""
    return list(_PIECES[api](said, whole(api, said)))


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def halves(text: str) -> list[str]:
    """A text in two."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _anthropic(said: Said, stop: str) -> dict[str, Any]:
    thought = [{"type": "thinking", "thinking": said.thought, "signature": "s"}] if said.thought else []
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODELS["anthropic"],
        "content": [*thought, *([{"type": "text", "text": said.text}] if said.text else [])],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": said.usage or {"input_tokens": 11, "output_tokens": 3},
    }


def _anthropic_pieces(said: Said, answer: dict[str, Any]) -> Iterator[bytes]:
    usage = answer["usage"]
    start = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield event({"type": "message_start", "message": start}, "message_start")
    yield event({"type": "ping"}, "ping")
    for index, block in enumerate(answer["content"]):
        name = "thinking" if block["type"] == "thinking" else "text"
        empty = {**block, name: ""}
        yield event(
            {"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start"
        )
        for half in halves(block[name]):
            delta = {"type": f"{name}_delta", name: half}
            yield event(
                {"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta"
            )
        yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    if "stop_details" in answer:
        delta["stop_details"] = answer["stop_details"]
    counts = {"output_tokens": usage["output_tokens"]}
    if "output_tokens_details" in usage:
        counts["output_tokens_details"] = usage["output_tokens_details"]
    yield event({"type": "message_delta", "delta": delta, "usage": counts}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def _chat(said: Said, stop: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": said.text or None, "refusal": said.refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODELS["chat"],
        "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
        "usage": said.usage or {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


def _chat_pieces(said: Said, answer: dict[str, Any]) -> Iterator[bytes]:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": answer["model"]}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": half} for half in halves(said.text)]
    deltas += [{"refusal": half} for half in halves(said.refusal or "")]
    for delta in deltas:
        yield event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    stop = answer["choices"][0]["finish_reason"]
    yield event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]})
    yield event({**chunk, "choices": [], "usage": answer["usage"]})
    yield event("[DONE]")


def _responses(said: Said, stop: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.text:
        content.append({"type": "output_text", "text": said.text, "annotations": []})
    if said.refusal:
        content.append({"type": "refusal", "refusal": said.refusal})
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    summary = [{"type": "summary_text", "text": said.thought}]
    thought = [{"type": "reasoning", "id": "r", "summary": summary}] if said.thought else []
    usage = {
        "input_tokens": 11,
        "output_tokens": 3,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": MODELS["responses"],
        "status": stop,
        "error": None,
        "incomplete_details": None,
        "output": [*thought, message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": said.usage or usage,
    }


def _responses_pieces(said: Said, answer: dict[str, Any]) -> Iterator[bytes]:
    started = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield event({"type": "response.created", "response": started, "sequence_number": 0}, "response.created")
    common = {"item_id": "m", "output_index": 0, "content_index": 0, "sequence_number": 1}
    for half in halves(said.text):
        kind = "response.output_text.delta"
        yield event({"type": kind, "delta": half, "logprobs": [], **common}, kind)
    kind = f"response.{answer['status']}"
    yield event({"type": kind, "response": answer, "sequence_number": 2}, kind)


def _google(said: Said, stop: str) -> dict[str, Any]:
    parts = [{"text": said.thought, "thought": True}] if said.thought else []
    parts += [{"text": said.text}] if said.text else []
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": stop, "index": 0}],
        "usageMetadata": said.usage
        or {"promptTokenCount": 11, "candidatesTokenCount": 3, "totalTokenCount": 14},
        "modelVersion": MODELS["google"],
        "responseId": "r1",
    }


def _google_pieces(said: Said, answer: dict[str, Any]) -> Iterator[bytes]:
    candidates = answer.get("candidates") or []
    if candidates:
        for piece in candidates[0]["content"]["parts"]:
            for half in halves(piece["text"]):
                content = {"role": "model", "parts": [{**piece, "text": half}]}
                yield event(
                    {"candidates": [{"content": content, "index": 0}], "modelVersion": answer["modelVersion"]}
                )
        done = {"content": {"role": "model", "parts": []}, "finishReason": candidates[0]["finishReason"]}
        answer = {**answer, "candidates": [{**done, "index": 0}]}
    yield event(answer)


_WHOLE = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "google": _google}
_PIECES = {
    "anthropic": _anthropic_pieces,
    "chat": _chat_pieces,
    "responses": _responses_pieces,
    "google": _google_pieces,
}
