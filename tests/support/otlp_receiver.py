"""A receiver of OTLP over HTTP on 127.0.0.1, which reads spans with the protobuf of OpenTelemetry itself."""

from __future__ import annotations

import base64
import json
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
    requests: list[Any] = field(default_factory=list)

    def lines(self) -> str:
        """The requests as the file exporter of a collector writes them: a line each, with hexadecimal ids."""
        from google.protobuf.json_format import MessageToDict

        found = [MessageToDict(request) for request in self.requests]
        for request in found:
            for resource in request["resourceSpans"]:
                for span in (one for scope in resource["scopeSpans"] for one in scope["spans"]):
                    for key in {"traceId", "spanId", "parentSpanId"} & span.keys():
                        span[key] = base64.b64decode(span[key]).hex()
        return "".join(json.dumps(request) + "\n" for request in found)


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
            received.requests.append(request)
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
