"""Serves the page on this machine, to nobody but the person who was given its address.

Every request has to carry the token of the address and to name this server as its host, so that neither other
users of the machine nor web pages, also by rebinding a name, can read or change anything. What is asked for
are numbers of entries, documents and pages, never paths.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from fathoms.build.editing.session import Asked, Editing, RefusedError
from fathoms.config import dotted
from fathoms.errors import DataError, FathomsError
from fathoms.safety.inputs import parse_json

PAGE = Path(__file__).with_name("page")
FILES = {
    "": ("edit.html", "text/html; charset=utf-8"),
    "edit.css": ("edit.css", "text/css; charset=utf-8"),
    "edit.js": ("edit.js", "text/javascript; charset=utf-8"),
}
LARGEST = 1_000_000
"""The most bytes of a request."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_QUESTION = re.compile(r"question/(\d{1,7})", re.ASCII)
_PAGE_OF = re.compile(r"page/(\d{1,7})/(\d{1,7})", re.ASCII)


class _RefusedRequestError(Exception):
    """A request is answered with a status and a sentence."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class EditServer(ThreadingHTTPServer):
    """Serves one person's editing on 127.0.0.1; `address` is where the page is."""

    daemon_threads = True

    def __init__(self, editing: Editing, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.editing = editing
        self.token = secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that a browser has closed."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: EditServer
    timeout: ClassVar[float] = 30

    def do_GET(self) -> None:
        """Send the page, a part of it, or what it shows."""
        self._answer(self._got)

    def do_POST(self) -> None:
        """Save a decision, or write the set."""
        self._answer(self._posted)

    def _got(self, path: str) -> Any:
        editing = self.server.editing
        if path == "state":
            return editing.state()
        if found := _QUESTION.fullmatch(path):
            return editing.detail(int(found[1]))
        if found := _PAGE_OF.fullmatch(path):
            return editing.page(int(found[1]), int(found[2]))
        raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _posted(self, path: str) -> Any:
        editing, data = self.server.editing, self._data()
        if path == "write":
            return {"wrote": editing.write(), "state": editing.state()}
        if path == "decide":
            asked = Asked.model_validate(data)
            editing.decide(asked)
            return {"state": editing.state(), "detail": editing.detail(asked.number)}
        raise _RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _answer(self, act: Callable[[str], Any]) -> None:
        """Check who asks, and send what `act` returns, or why nothing is returned."""
        try:
            path = self._allowed()
            if self.command == "GET" and path in FILES:
                name, kind = FILES[path]
                self._send(HTTPStatus.OK, (PAGE / name).read_bytes(), kind)
                return
            self._send_json(HTTPStatus.OK, act(path))
        except _RefusedRequestError as error:
            self._send_json(error.status, {"error": str(error)})
        except RefusedError as error:
            complaints = [vars(one) for one in error.complaints]
            self._send_json(HTTPStatus.UNPROCESSABLE_ENTITY, {"complaints": complaints})
        except ValidationError as error:
            first = error.errors()[0]
            said = f"{dotted(first['loc'])}: {first['msg']}"
            self._send_json(HTTPStatus.BAD_REQUEST, {"error": said})
        except IndexError:
            self._send_json(HTTPStatus.NOT_FOUND, {"error": "there is no such question or document"})
        except FathomsError as error:
            self._send_json(HTTPStatus.CONFLICT, {"error": str(error)})
        except ConnectionError:  # the browser has gone elsewhere
            self.close_connection = True
        except OSError as error:
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error)})
        except Exception as error:  # or the page would say that the command has ended
            said = f"{type(error).__name__}: {error}: this is a bug in fathoms"
            self._send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": said})

    def _allowed(self) -> str:
        """Return what is asked for, without the token; raises _RefusedRequestError for strangers."""
        port = self.server.server_address[1]
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        _, _, rest = self.path.partition("/")
        token, _, path = rest.partition("/")
        if self.headers.get_all("Host") not in ([hosts[0]], [hosts[1]]):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "this server has another name")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "open the address that the command printed")
        origin = self.headers.get("Origin")
        own = origin in [f"http://{host}" for host in hosts]
        if not own and (self.command == "POST" or origin is not None):
            raise _RefusedRequestError(HTTPStatus.FORBIDDEN, "another page may not ask for this")
        return path

    def _data(self) -> Any:
        """Return the JSON of the request; raises _RefusedRequestError for one that is too large or none."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            raise _RefusedRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected JSON")
        if not re.fullmatch(r"[0-9]{1,12}", length):
            raise _RefusedRequestError(HTTPStatus.LENGTH_REQUIRED, "expected the length of the request")
        if int(length) > LARGEST:
            raise _RefusedRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        try:
            return parse_json(self.rfile.read(int(length)).decode(), "the request")
        except (UnicodeDecodeError, DataError) as error:
            raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _send_json(self, status: HTTPStatus, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self.send_response(status)
        for name, text in HEADERS.items():
            self.send_header(name, text)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def version_string(self) -> str:
        """Return the name of this program, not those of its parts."""
        return "fathoms"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on the terminal of every request."""
