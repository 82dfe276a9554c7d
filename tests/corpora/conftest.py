"""A file server on a real socket that understands ranges and fails on demand."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Fault:
    """A failure: a `status` with `headers`, or a connection that breaks after `cut` bytes of the body."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


@dataclass
class Served:
    """What one address gives. The first `faults` are used up, one a request, before the file is served."""

    body: bytes
    etag: str | None = '"v1"'
    modified: str | None = None
    faults: list[Fault] = field(default_factory=list)


@dataclass
class Request:
    """One request as the server saw it, and the bytes of the body that it sent."""

    path: str
    range: str | None
    status: int
    sent: int


class FileServer(ThreadingHTTPServer):
    """Serves `files`, keeps a `log`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Served] = {}
        self.log: list[Request] = []

    def add(
        self, path: str, body: bytes, *, faults: list[dict[str, Any]] | None = None, **validators: Any
    ) -> str:
        """Serve a body at an address, after the faults (keys of `Fault`), and return the URL."""
        self.files[path] = Served(body, faults=[Fault(**fault) for fault in faults or []], **validators)
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def sent(self, path: str) -> list[int]:
        """The bytes sent for an address, a number for each request."""
        return [request.sent for request in self.log if request.path == path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to report."""


class Handler(BaseHTTPRequestHandler):
    """GET with Range and If-Range, as RFC 9110 has them."""

    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        served = self.server.files.get(self.path)
        if served is None:
            self._answer(404, b"no such file", {})
            return
        fault = served.faults.pop(0) if served.faults else Fault()
        if fault.status != 200:
            self._answer(fault.status, b"try later", fault.headers)
            return
        validators = {"ETag": served.etag, "Last-Modified": served.modified}
        headers = {name: value for name, value in validators.items() if value} | fault.headers
        start = self._start(served)
        if start is None:
            self._answer(200, served.body, headers, fault.cut)
        elif start >= len(served.body):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(served.body)}"})
        else:
            size = len(served.body)
            headers = {"Content-Range": f"bytes {start}-{size - 1}/{size}"} | headers
            self._answer(206, served.body[start:], headers, fault.cut)

    def _start(self, served: Served) -> int | None:
        """Where a range begins that may be served, `None` for the whole file."""
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not wanted or self.headers.get("If-Range") not in (served.etag, served.modified):
            return None
        return int(wanted[1])

    def _answer(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        sent = body if cut is None else body[:cut]
        self.server.log.append(Request(self.path, self.headers.get("Range"), status, len(sent)))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = cut is not None

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `log` instead."""


@pytest.fixture
def server() -> Iterator[FileServer]:
    """A server that runs as long as the test."""
    server = FileServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
