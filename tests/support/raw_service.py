"""A service on a real socket that sends back whatever bytes a test wants, and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Act = Callable[[socket.socket, Any], None]
"""Gets the connection and the JSON that was sent."""


@dataclass
class Service:
    """Where it listens, and every request: the head and the JSON."""

    address: str
    requests: list[tuple[str, Any]] = field(default_factory=list)


@contextmanager
def service(act: Act, port: int = 0) -> Iterator[Service]:
    """A service that does `act` with every connection, and closes it; on a free port if none is given."""
    listener = socket.create_server(("127.0.0.1", port))
    one_service = Service(f"http://127.0.0.1:{listener.getsockname()[1]}")

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head, body = _request(connection)
            if not head:
                return  # somebody looked whether anybody is there
            sent = json.loads(body) if body else None
            one_service.requests.append((head, sent))
            act(connection, sent)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield one_service
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _request(connection: socket.socket) -> tuple[str, bytes]:
    """The head and the body of a request."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(65536)):
            return "", b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    text = head.decode()
    length = next(
        (int(line[15:]) for line in text.split("\r\n") if line.lower().startswith("content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return text, body


def answer(body: bytes | str | dict[str, Any], status: str = "200 OK", *headers: str) -> bytes:
    """A whole HTTP answer."""
    data = (
        json.dumps(body).encode()
        if isinstance(body, dict)
        else body.encode()
        if isinstance(body, str)
        else body
    )
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def chunked(*parts: str, content: str = "text/event-stream", end: bool = True) -> bytes:
    """A stream in chunks, with its end or without."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    body = b"".join(b"%x\r\n%s\r\n" % (len(part.encode()), part.encode()) for part in parts)
    return head + body + (b"0\r\n\r\n" if end else b"")


def sends(data: bytes) -> Act:
    """Send these bytes, whatever was asked."""
    return lambda connection, _: connection.sendall(data)


def hangs(connection: socket.socket, _: Any) -> None:
    """Say nothing until the other side has gone."""
    connection.recv(1)


def resets(connection: socket.socket, _: Any) -> None:
    """Drop the connection without an answer, as a process that dies does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
