"""How the scripted server puts an answer on the wire: OpenAI's chat and Ollama's, whole or in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL = "scripted"
OPENAI, OLLAMA = "/v1/chat/completions", "/api/chat"
_TAIL = 200
_STAMP = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Request:
    """A question as it came: the path, the head as it was sent, and the JSON."""

    path: str
    head: str
    body: dict[str, Any]

    @property
    def streams(self) -> bool:
        """Whether the answer is wanted in pieces; Ollama's default is yes."""
        return bool(self.body.get("stream", self.path == OLLAMA))

    @property
    def question(self) -> str:
        """The end of the last message, where a question stands in most prompts: at most 200 characters."""
        return _text(self.body["messages"][-1])[-_TAIL:]

    @property
    def tokens(self) -> int:
        """About as many as a model would count: one for three characters."""
        return sum(len(_text(message)) for message in self.body["messages"]) // 3 + 1


@dataclass(frozen=True)
class Saying:
    """What stands in an answer. Any JSON can stand for any part, for that is what servers get wrong;
    `choices` false leaves out everything said."""

    content: Any
    tokens: Any = 7
    choices: bool = True


@dataclass(frozen=True)
class Response:
    """An answer over HTTP; with `chunked` each part of the body is a chunk."""

    parts: tuple[bytes, ...]
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False

    def head(self) -> bytes:
        """The status line and the headers."""
        size = sum(map(len, self.parts))
        length = {"Transfer-Encoding": "chunked"} if self.chunked else {"Content-Length": str(size)}
        fields = {"Content-Type": self.content_type, **length, **self.headers}
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    def body(self) -> bytes:
        """The body as it goes over the wire."""
        if not self.chunked:
            return b"".join(self.parts)
        chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in self.parts if part]
        return b"".join(chunks) + b"0\r\n\r\n"


def _text(message: dict[str, Any]) -> str:
    """What stands in a message, without its images."""
    content = message["content"]
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    return str(content)


def say(request: Request, saying: Saying) -> Response:
    """An answer of the API that was asked."""
    if request.path == OLLAMA:
        lines = [encoded(line) + b"\n" for line in _ollama(request, saying)]
        kind = "application/x-ndjson" if request.streams else "application/json"
        return Response(tuple(lines), kind, chunked=request.streams)
    if not request.streams:
        return Response((encoded(_completion(request, saying)),))
    return stream([encoded(chunk) for chunk in _chunks(request, saying)] + [b"[DONE]"])


def stream(events: list[bytes]) -> Response:
    """Server-sent events."""
    return Response(tuple(b"data: %s\n\n" % event for event in events), "text/event-stream", chunked=True)


def encoded(value: Any) -> bytes:
    """JSON. A lone surrogate stands for a byte that is not UTF-8 (PEP 383)."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")


def listing(path: str) -> dict[str, Any] | None:
    """What the server says of its models, `None` at a path that it does not have."""
    tag = {"name": MODEL, "model": MODEL, "modified_at": _STAMP, "size": 1, "digest": "0" * 64}
    known: dict[str, dict[str, Any]] = {
        "/v1/models": {"object": "list", "data": [{"id": MODEL, "object": "model"}]},
        "/api/tags": {"models": [tag]},
        "/api/show": {"capabilities": ["completion"], "model_info": {}, "details": {}},
        "/api/version": {"version": "0.5.4"},
    }
    return known.get(path)


def _usage(request: Request, saying: Saying) -> Any:
    """Tokens as OpenAI counts them, or what stands for them."""
    read, count = request.tokens, saying.tokens
    if not isinstance(count, int):
        return count
    return {"prompt_tokens": read, "completion_tokens": count, "total_tokens": read + count}


def _completion(request: Request, saying: Saying) -> dict[str, Any]:
    """OpenAI's answer in one piece."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": saying.content},
        "finish_reason": "stop",
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice] if saying.choices else [],
        "usage": _usage(request, saying),
    }


def _chunks(request: Request, saying: Saying) -> Iterator[dict[str, Any]]:
    """OpenAI's answer in pieces."""
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    deltas = [{"role": "assistant", "content": ""}, *({"content": half} for half in _halves(saying.content))]
    for delta in deltas if saying.choices else []:
        yield {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    ending = [{"index": 0, "delta": {}, "finish_reason": "stop"}] if saying.choices else []
    yield {**common, "choices": ending}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**common, "choices": [], "usage": _usage(request, saying)}


def _ollama(request: Request, saying: Saying) -> Iterator[dict[str, Any]]:
    """Ollama's answer, in pieces or in one."""
    common = {"model": MODEL, "created_at": _STAMP}
    counts = {"prompt_eval_count": request.tokens, "eval_count": saying.tokens, "total_duration": 1}
    *before, last = [*_halves(saying.content), ""] if request.streams else [saying.content]
    for content in before if saying.choices else []:
        yield {**common, "message": {"role": "assistant", "content": content}, "done": False}
    message = {"message": {"role": "assistant", "content": last}} if saying.choices else {}
    yield {**common, **message, "done": True, "done_reason": "stop", **counts}


def _halves(content: Any) -> list[Any]:
    """A text in two pieces; anything else is one."""
    if not isinstance(content, str):
        return [content]
    middle = len(content) // 2
    return [content[:middle], content[middle:]]
