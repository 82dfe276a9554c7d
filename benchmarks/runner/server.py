"""A chat server with OpenAI's API that gives every request the same answer after a fixed time.

    python benchmarks/runner/server.py --latency 0.05     prints its address and serves until it is stopped

It uses little CPU time. `POST .../chat/completions` answers with one JSON object or, if a stream is
requested, with one event per word and one for the usage. `GET .../models` lists the model. `GET /stats`
returns the number of requests, the bytes of their bodies, and the request window: the seconds from the first
request to the last response. `POST /reset` resets these counts; the body `{"latency": 0}` sets another
latency.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from dataclasses import dataclass
from typing import Any

MODEL = "fixed-latency"
ANSWER = os.environ.get("ANSWER", "The pump of line 7000000 lifts 41.5 litres a second.")


@dataclass
class Stats:
    """What was asked since the last reset; times are of `time.time()`, so that other processes share them."""

    requests: int = 0
    responses: int = 0
    body_bytes: int = 0
    first_request: float | None = None
    last_response: float | None = None

    def count_request(self, body: bytes) -> None:
        """A request came."""
        self.first_request = self.first_request or time.time()
        self.requests += 1
        self.body_bytes += len(body)

    def answered(self) -> None:
        """A response was handed to the system."""
        self.responses += 1
        self.last_response = time.time()

    def whole(self) -> dict[str, Any]:
        """The figures, with the window."""
        started, ended = self.first_request, self.last_response
        return {**vars(self), "window": ended - started if started and ended else None}


@dataclass
class State:
    """What all connections share."""

    latency: float
    stats: Stats


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it follow one another."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end]
            length = _content_length(head)
            if len(self._data) < end + 4 + length:
                return
            body, self._data = self._data[end + 4 : end + 4 + length], self._data[end + 4 + length :]
            self._serve(head.split(b" ", 2)[1], body)

    def _serve(self, path: bytes, body: bytes) -> None:
        """One request."""
        if path.endswith(b"/chat/completions"):
            self._state.stats.count_request(body)
            streamed = b'"stream":true' in body or b'"stream": true' in body
            number = b"%d" % (1_000_000 + self._state.stats.requests)  # so that all answers are different
            response = (STREAM if streamed else PLAIN).replace(b"7000000", number)
            asyncio.get_running_loop().call_later(self._state.latency, self._answer, response)
        elif path.endswith(b"/models"):
            self._send(MODELS)
        elif path == b"/stats":
            self._send(_as_json(self._state.stats.whole()))
        elif path == b"/reset":
            self._state.latency = json.loads(body or b"{}").get("latency", self._state.latency)
            self._state.stats = Stats()
            self._send(_as_json({"latency": self._state.latency}))
        else:
            self._send(
                _response(b"404 Not Found", b"application/json", b'{"error": {"message": "no such path"}}')
            )

    def _answer(self, response: bytes) -> None:
        """The answer, once its time has come."""
        self._send(response)
        self._state.stats.answered()

    def _send(self, response: bytes) -> None:
        """To a client that is still there."""
        if self._transport is not None:
            self._transport.write(response)


def _content_length(head: bytes) -> int:
    """Bytes of the body; clients that send chunks are none of this benchmark."""
    lowered = head.lower()
    assert b"\r\ntransfer-encoding:" not in lowered, "a body of known length is wanted"
    _, found, rest = lowered.partition(b"\r\ncontent-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def _response(status: bytes, kind: bytes, body: bytes) -> bytes:
    """A whole response."""
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (status, kind, len(body)) + body


def _as_json(value: Any) -> bytes:
    """A whole response of JSON."""
    return _response(b"200 OK", b"application/json", json.dumps(value).encode())


def _stream() -> bytes:
    """A whole response of server-sent events, in chunks of HTTP as servers send it."""
    common = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    words = ANSWER.split(" ")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word if word is words[0] else f" {word}"} for word in words]
    events = [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events += [{**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    events += [{**common, "choices": [], "usage": USAGE}]
    lines = [b"data: %b\n\n" % json.dumps(event).encode() for event in events] + [b"data: [DONE]\n\n"]
    body = b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines) + b"0\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + body


USAGE = {"prompt_tokens": 500, "completion_tokens": 12, "total_tokens": 512}
PLAIN = _as_json(
    {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        ],
        "usage": USAGE,
    }
)
STREAM = _stream()
MODELS = _as_json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})


async def serve(latency: float) -> None:
    """Serve on a free port, whose address is printed first."""
    state = State(latency, Stats())
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(state), "127.0.0.1", 0, backlog=1024
    )
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before an answer (0.05)")
    asyncio.run(serve(parser.parse_args().latency))
