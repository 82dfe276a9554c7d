"""A receiver of OTLP over HTTP on 127.0.0.1, which reads spans with the protobuf of OpenTelemetry itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Received:
    """The address, the status that it answers with, and every span that came."""

    address: str
    status: int = 200
    spans: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def named(self, name: str) -> Any:
        """The only span of a name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span or an event; a list becomes a list."""
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@contextmanager
def otlp_receiver() -> Iterator[Received]:
    """Listen for spans."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = ExportTraceServiceRequest.FromString(body)
            received.paths.append(self.path)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    received.spans += scope.spans
            self.send_response(received.status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Received(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield received
        finally:
            server.shutdown()
