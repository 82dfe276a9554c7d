"""A real S3 server on loopback (moto), and a proxy before it that is slow, refuses, or cuts messages."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "planted-id-012345",
    "AWS_SECRET_ACCESS_KEY": "planted-secret-0123456789",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
Fault = Literal["none", "slow", "500", "403", "cut"]


@dataclass
class Faults:
    """What the proxy does with a request, by its method, and the requests that it got: `GET /bucket/key`."""

    address: str = ""
    of: Callable[[str], Fault] = lambda method: "none"
    delay: float = 5.0
    requests: list[str] = field(default_factory=list)


@contextmanager
def s3_server() -> Iterator[str]:
    """Run a server with an empty bucket named `bucket`; yields its address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        connection = http.client.HTTPConnection(host, port, timeout=10)
        for method, path in (("POST", "/moto-api/reset"), ("PUT", "/bucket")):
            connection.request(method, path, headers=SIGNED)
            connection.getresponse().read()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20261126/us-east-1/s3/aws4_request"}
"""The head by which moto takes a request for one to S3."""


@contextmanager
def faulty(upstream: str) -> Iterator[Faults]:
    """Run a proxy before a server."""
    faults = Faults()
    host, _, port = upstream.removeprefix("http://").partition(":")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

        def handle_any(self) -> None:
            """Pass a request on, or do what the test wants."""
            faults.requests.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fault = faults.of(self.command)
            if fault in ("500", "403"):
                code = "InternalError" if fault == "500" else "AccessDenied"
                self.reply(int(fault), {}, f"<Error><Code>{code}</Code></Error>".encode())
                return
            if fault == "slow":
                time.sleep(faults.delay)
            connection = http.client.HTTPConnection(host, int(port), timeout=30)
            if fault == "cut" and self.command == "PUT":  # as if the writer had been killed
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders(body[: len(body) // 2])
                connection.close()
                self.close_connection = True
                return
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
            heads = {
                k: v for k, v in answer.getheaders() if k.lower() not in ("connection", "content-length")
            }
            self.reply(answer.status, heads, data, cut=fault == "cut" and self.command == "GET")
            connection.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

        def reply(self, status: int, heads: dict[str, str], data: bytes, cut: bool = False) -> None:
            """Send a response, or the first half of it."""
            self.send_response_only(status)
            for name, value in heads.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            self.close_connection = self.close_connection or cut

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    faults.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield faults
    finally:
        server.shutdown()
        server.server_close()
