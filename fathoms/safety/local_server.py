"""Serves a page on this machine, to nobody but the person who was given its address.

Every request has to carry the token of the address and to name this server as its host, so that neither other
users of the machine nor web pages, also by rebinding a name, can read or change anything.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from fathoms.errors import FathomsError

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
HTML = "text/html; charset=utf-8"


class RefusedRequestError(Exception):
    """A request is answered with a status and a sentence."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class LocalServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1; `address` is where the page is, with its token."""

    daemon_threads = True

    def __init__(self, handler: type[LocalHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.token = secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that a browser has closed."""


class LocalHandler(BaseHTTPRequestHandler):
    """Answers one request. A page has a class of its own with `got` and, if it takes anything in, `posted`:
    both return for a path what is sent as JSON, or `None` after sending an answer themselves."""

    server: Any
    timeout: ClassVar[float | None] = 30
    policy: ClassVar[str] = "default-src 'none'; frame-ancestors 'none'"
    """The Content Security Policy of the page."""

    def got(self, path: str) -> Any:
        """Answer a GET; raises RefusedRequestError."""
        raise RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def posted(self, path: str) -> Any:
        """Answer a POST; raises RefusedRequestError."""
        raise RefusedRequestError(HTTPStatus.METHOD_NOT_ALLOWED, "this page is only for reading")

    def do_GET(self) -> None:
        """Send what is asked for."""
        self._answer(self.got)

    def do_POST(self) -> None:
        """Answer a POST request, as `posted` says."""
        self._answer(self.posted)

    def _answer(self, act: Callable[[str], Any]) -> None:
        """Check who asks, and send what `act` returns for the path, or why nothing is returned."""
        try:
            found = act(self._allowed())
            if found is not None:
                self.send_json(HTTPStatus.OK, found)
        except RefusedRequestError as error:
            self.send_json(error.status, {"error": str(error)})
        except FathomsError as error:
            self.send_json(HTTPStatus.CONFLICT, {"error": str(error)})
        except ConnectionError:  # the browser has gone elsewhere
            self.close_connection = True
        except OSError as error:
            self.send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error)})
        except Exception as error:  # or the page would say that the command has ended
            said = f"{type(error).__name__}: {error}: this is a bug in fathoms"
            self.send_json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": said})

    def _allowed(self) -> str:
        """Return what is asked for, without the token; raises RefusedRequestError for strangers."""
        port = self.server.server_address[1]
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        _, _, rest = self.path.partition("/")
        token, _, path = rest.partition("/")
        if self.headers.get_all("Host") not in ([hosts[0]], [hosts[1]]):
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, "this server has another name")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, "open the address that the command printed")
        origin = self.headers.get("Origin")
        own = origin in [f"http://{host}" for host in hosts]
        if not own and (self.command == "POST" or origin is not None):
            raise RefusedRequestError(HTTPStatus.FORBIDDEN, "another page may not ask for this")
        return path

    def send_json(self, status: HTTPStatus, value: Any) -> None:
        """Send a value as JSON."""
        self.send(status, json.dumps(value).encode(), "application/json")

    def send(
        self, status: HTTPStatus, data: bytes | None, kind: str, more: Mapping[str, str] | None = None
    ) -> None:
        """Send an answer with the headers of every answer, and `more`. Without data, its length is not known
        yet: the caller writes it to `wfile`, and the connection ends with it."""
        self.send_response(status)
        for name, text in {"Content-Security-Policy": self.policy, **HEADERS, **(more or {})}.items():
            self.send_header(name, text)
        self.send_header("Content-Type", kind)
        if data is not None:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data is not None:
            self.wfile.write(data)

    def version_string(self) -> str:
        """Return the name of this program, not those of its parts."""
        return "fathoms"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on the terminal of every request."""
