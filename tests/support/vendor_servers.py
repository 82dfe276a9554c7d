"""A server that speaks the APIs of three vendors by a script, and takes only what their SDKs' types allow.

It listens on a real socket, keeps every request and every attached file, and lets each test say how it
answers: as usual, with an error of the vendor, or with a connection that goes wrong.
"""

from __future__ import annotations

import base64
import email.parser
import email.policy
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from tests.support.vendor_schemas import complaint, unknown_fields
from tests.support.vendor_wire import Breaks, Fails, Said, Step, error_body, pieces, whole

KEY = "key-of-a-vendor-0123456789-planted"
_DAY = 24 * 3600


@dataclass(frozen=True)
class Request:
    """A question as it arrived: which API, its body, its last text, and the bytes of what was attached.

    `parts` are all texts and attached bytes of its turns, in order.
    """

    api: str
    path: str
    body: dict[str, Any]
    text: str
    files: tuple[bytes, ...]
    names: tuple[str | None, ...]
    images: tuple[bytes, ...]
    inline: bool
    parts: tuple[str | bytes, ...]


@dataclass
class Vendors:
    """The three APIs at one address."""

    address: str
    script: Callable[[Request], Step] = lambda asked: Said()
    asked: list[Request] = field(default_factory=list)
    uploads: list[tuple[str, str, bytes]] = field(default_factory=list)
    """(id, name, bytes) of every upload, in order."""
    lost: set[str] = field(default_factory=set)
    """Ids of files that the vendor has thrown away."""
    forms: list[dict[str, str]] = field(default_factory=list)
    keeps: float = _DAY
    """Seconds that an uploaded file is kept."""
    gets_ready: bool = True
    """Whether Google's files become ACTIVE."""
    connections: Counter[str] = field(default_factory=Counter)
    over: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def base_url(self, kind: str) -> str:
        """What goes into the config of an adapter."""
        return f"{self.address}/openai/v1" if kind == "openai" else f"{self.address}/{kind}"

    def bytes_of(self, reference: str) -> tuple[str, bytes] | None:
        """Name and bytes of an uploaded file, `None` where it is not there."""
        if reference in self.lost:
            return None
        return next(((name, data) for stored, name, data in self.uploads if stored == reference), None)

    def keep(self, prefix: str, name: str, data: bytes) -> str:
        """Keep an uploaded file under an id."""
        with self.lock:
            reference = f"{prefix}{len(self.uploads) + 1}"
            self.uploads.append((reference, name, data))
        return reference


@contextmanager
def vendors() -> Iterator[Vendors]:
    """The server, on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        some_vendors = server.vendors = Vendors(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield some_vendors
        finally:
            some_vendors.over.set()
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    @property
    def vendors(self) -> Vendors:
        return self.server.vendors  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        reference = self.path.rsplit("/", 1)[-1]
        state = "ACTIVE" if self.vendors.gets_ready else "PROCESSING"
        self.send(200, _google_file(self.vendors, reference, state))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.vendors.connections[self.headers.get("Connection", "")] += 1
        vendor = self.path.split("/")[1]
        if "upload-session" not in self.path and not self.has_key():
            status = 400 if vendor == "google" else 401
            code = "INVALID_ARGUMENT" if vendor == "google" else "authentication_error"
            one_text = f"API key not valid: {KEY[:6]}********{KEY[-4:]} is not one of ours."
            self.send(status, error_body(vendor, status, one_text, code))
        elif "upload" in self.path:
            self.google_upload(raw)
        elif self.path.endswith("/files"):
            self.upload(vendor, raw)
        else:
            self.ask(json.loads(raw))

    def has_key(self) -> bool:
        """Whether the key is where the vendor looks for it."""
        given = [self.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key")]
        return KEY in [text.removeprefix("Bearer ") for text in given]

    def ask(self, body: dict[str, Any]) -> None:
        """A question: validate it, keep what it holds, answer by the script."""
        api = _api(self.path)
        reason = complaint(api, body)
        if reason is not None:
            self.send(400, error_body(api, 400, f"invalid body: {reason}", "invalid_request_error"))
            return
        body = camel(body) if api == "google" else body
        items = list(_attachments(api, body))
        found = [
            self.vendors.bytes_of(reference) if reference else (name, data) for reference, name, data in items
        ]
        if None in found:
            self.send(*_file_gone(api))
            return
        pdfs = [(name, data) for name, data in found if data.startswith(b"%PDF")]  # type: ignore[misc]
        request = Request(
            api=api,
            path=self.path,
            body=body,
            text=_text(api, body),
            files=tuple(data for _, data in pdfs),
            names=tuple(name for name, _ in pdfs),
            images=tuple(data for _, data in found if not data.startswith(b"%PDF")),  # type: ignore[misc]
            inline=not any(reference for reference, _, _ in items),
            parts=tuple(_in_order(api, body, [data for _, data in found])),  # type: ignore[misc]
        )
        with self.vendors.lock:
            self.vendors.asked.append(request)
        streams = bool(body.get("stream")) or "streamGenerateContent" in self.path
        self.play(self.vendors.script(request), api, streams)

    def play(self, step: Step, api: str, streams: bool) -> None:
        """Answer as the script says."""
        if isinstance(step, Fails):
            self.send(step.status, step.body, step.headers)
        elif isinstance(step, Breaks):
            self.break_off(step, api, streams)
        elif streams:
            self.stream(pieces(api, step))
        else:
            self.send(200, whole(api, step))

    def break_off(self, step: Breaks, api: str, streams: bool) -> None:
        """An answer that goes wrong."""
        events = pieces(api, Said("a long answer"))
        started = events[: len(events) // 2]
        if step.how == "hang":
            self.vendors.over.wait(30)
            self.close_connection = True
        elif step.how == "html":
            self.send(200, b"<html>Welcome to the proxy</html>", {"Content-Type": "text/html"})
        elif step.how == "empty":
            self.send(200, {})
        elif step.how == "garbage":
            self.stream([b"data: {not json\n\n"], end=True) if streams else self.send(200, b"{not json")
        elif step.how == "error":
            self.stream([*started, step.event])
        elif streams:
            self.stream(started, end=step.how == "cut")
        else:
            self.send(200, b'{"id":', {"Content-Length": "1000"})
            self.close_connection = True

    def stream(self, events: list[bytes], end: bool = True) -> None:
        """Events in chunks; without an end the connection breaks off in the middle."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in events:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            time.sleep(0.002)
        if end:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = self.close_connection or not end

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        """An answer in one piece."""
        said = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"Content-Type": "application/json", "Content-Length": str(len(said)), **(headers or {})}
        self.send_response(status)
        for name, value in own.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def upload(self, vendor: str, raw: bytes) -> None:
        """A file as a form, at Anthropic and OpenAI."""
        fields, name, data = _form(self.headers["Content-Type"], raw)
        reason = unknown_fields(vendor, {*fields, "file"} if name else set(fields))
        if reason is not None:
            self.send(400, error_body(vendor, 400, reason, "invalid_request_error"))
            return
        self.vendors.forms.append(fields)
        time.sleep(0.05)  # long enough for two questions to want the same file
        reference = self.vendors.keep("file_" if vendor == "anthropic" else "file-", name, data)
        until = time.time() + self.vendors.keeps
        common = {"id": reference, "filename": name}
        if vendor == "anthropic":
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
            own = {
                "type": "file",
                "mime_type": "application/pdf",
                "size_bytes": len(data),
                "expires_at": stamp,
            }
            self.send(200, {**common, **own, "created_at": "2026-01-01T00:00:00Z"})
        else:
            own = {"object": "file", "bytes": len(data), "created_at": 1, "purpose": "user_data"}
            self.send(200, {**common, **own, "status": "processed", "expires_at": int(until)})

    def google_upload(self, raw: bytes) -> None:
        """Google's resumable upload: the start gives an address, which takes the bytes."""
        if self.headers.get("X-Goog-Upload-Command") == "start":
            self.vendors.forms.append(camel(json.loads(raw)["file"]))
            session = f"{self.vendors.address}/google/upload-session/{len(self.vendors.forms) - 1}"
            self.send(200, {}, {"X-Goog-Upload-URL": session, "X-Goog-Upload-Status": "active"})
            return
        name = self.vendors.forms[int(self.path.rsplit("/", 1)[-1])]["displayName"]
        reference = self.vendors.keep("f", name, raw)
        body = {"file": _google_file(self.vendors, reference, "PROCESSING")}
        self.send(200, body, {"X-Goog-Upload-Status": "final"})


def camel(value: Any) -> Any:
    """Google's JSON in one spelling: the SDK mixes two, and the API takes both."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("_([a-z])", lambda found: found[1].upper(), key): camel(item) for key, item in value.items()
    }


def _google_file(some_vendors: Vendors, reference: str, state: str) -> dict[str, Any]:
    """A file of Google's Files API."""
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + some_vendors.keeps))
    uri = f"{some_vendors.address}/google/v1/files/{reference}"
    return {"name": f"files/{reference}", "uri": uri, "state": state, "expirationTime": until}


def _api(path: str) -> str:
    """Which API a path belongs to."""
    if path.startswith("/openai"):
        return "chat" if path.endswith("/chat/completions") else "responses"
    return path.split("/")[1]


def _file_gone(api: str) -> tuple[int, Any]:
    """What the vendor says of a file id that it does not know."""
    some_fields = {
        "anthropic": (404, "File not found: file_1", "not_found_error"),
        "chat": (404, "No file found with id 'file-1'.", "file_not_found"),
        "responses": (404, "No file found with id 'file-1'.", "file_not_found"),
        "google": (
            403,
            "You do not have permission to access the File f1 or it may not exist.",
            "PERMISSION_DENIED",
        ),
    }
    status, message, code = some_fields[api]
    return status, error_body(api, status, message, code)


def _form(content_type: str, raw: bytes) -> tuple[dict[str, str], str, bytes]:
    """Fields of a form, and name and bytes of its file."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + raw)
    fields, name, data = {}, "", b""
    for item in parsed.iter_parts():
        title = str(item.get_param("name", header="content-disposition"))
        content = item.get_payload(decode=True)
        assert isinstance(content, bytes)
        if item.get_filename():
            name, data = str(item.get_filename()), content
        else:
            fields[title] = content.decode()
    return fields, name, data


def _attachments(api: str, body: dict[str, Any]) -> Iterator[tuple[str | None, str | None, bytes]]:
    """(id, name, bytes) of what is attached: an id, or the bytes."""
    for item in _parts(api, body):
        if api == "anthropic" and item["type"] in ("document", "image"):
            source = item["source"]
            yield source.get("file_id"), item.get("title"), base64.b64decode(source.get("data", ""))
        elif api == "chat" and item["type"] == "file":
            yield _openai_file(item["file"])
        elif api == "responses" and item["type"] == "input_file":
            yield _openai_file(item)
        elif api == "chat" and item["type"] == "image_url":
            yield None, None, _from_url(item["image_url"]["url"])
        elif api == "responses" and item["type"] == "input_image":
            yield None, None, _from_url(item["image_url"])
        elif api == "google" and "inlineData" in item:
            yield None, None, base64.urlsafe_b64decode(item["inlineData"]["data"])
        elif api == "google" and "fileData" in item:
            yield item["fileData"]["fileUri"].rsplit("/", 1)[-1], None, b""


def _openai_file(item: dict[str, Any]) -> tuple[str | None, str | None, bytes]:
    return item.get("file_id"), item.get("filename"), _from_url(item.get("file_data", ","))


def _from_url(url: str) -> bytes:
    return base64.b64decode(url.partition(",")[2], validate=True)


def _parts(api: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of every turn."""
    if api == "google":
        return [item for turn in body["contents"] for item in turn["parts"]]
    turns = body["input"] if api == "responses" else body["messages"]
    return [item for turn in turns if isinstance(turn["content"], list) for item in turn["content"]]


def _text(api: str, body: dict[str, Any]) -> str:
    """The text of the last turn."""
    if api == "google":
        content = body["contents"][-1]["parts"]
    else:
        content = (body["input"] if api == "responses" else body["messages"])[-1]["content"]
    if isinstance(content, str):
        return content
    return str(next(item["text"] for item in reversed(content) if "text" in item))


def _in_order(api: str, body: dict[str, Any], attached: list[bytes]) -> Iterator[str | bytes]:
    """The texts of the parts, and in place of every other part what was attached there."""
    left = iter(attached)
    for item in _parts(api, body):
        yield item["text"] if "text" in item else next(left)
