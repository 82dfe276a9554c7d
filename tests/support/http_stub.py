"""A real HTTP server of the test's own: it answers paths with JSON or bytes, and keeps what it was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Stub:
    """Where it listens, and every request: method, path, headers, body."""

    address: str
    requests: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)

    def bodies(self, path: str) -> list[Any]:
        """The bodies that were sent to a path."""
        return [body for _, at, _, body in self.requests if at == path]


@contextmanager
def serving(
    answers: Mapping[str, Any], statuses: Mapping[str, int] | None = None, *, keep_alive: bool = False
) -> Iterator[Stub]:
    """A server with one answer per path, status 200 unless another is given, and 404 for any other path. It
    closes each connection after an answer unless `keep_alive` is set. An answer that is a function is called
    with the body of the request, and returns a status and an answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if keep_alive else "HTTP/1.0"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            stub.requests.append((self.command, self.path, dict(self.headers), body))
            known = self.path in answers
            answer = answers[self.path] if known else {"error": "no such path"}
            status = (statuses or {}).get(self.path, 200) if known else 404
            if callable(answer):
                status, answer = answer(body)
            said = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_PATCH = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stub = Stub(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield stub
        finally:
            server.shutdown()
