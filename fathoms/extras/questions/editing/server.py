"""Serves the page of edits; see `safety.local_server` for who may ask. Requests name entries, documents and
pages by numbers, never by paths."""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from fathoms.config import dotted
from fathoms.errors import DataError
from fathoms.extras.questions.editing.session import DecisionRequest, Editing, RefusedError
from fathoms.safety.inputs import parse_json
from fathoms.safety.local_server import HTML, LocalHandler, LocalServer, RefusedRequestError

PAGE = Path(__file__).with_name("page")
FILES = {
    "": ("edit.html", HTML),
    "edit.css": ("edit.css", "text/css; charset=utf-8"),
    "edit.js": ("edit.js", "text/javascript; charset=utf-8"),
}
LARGEST = 1_000_000
"""The most bytes of a request."""
_QUESTION = re.compile(r"question/(\d{1,7})", re.ASCII)
_PAGE_OF = re.compile(r"page/(\d{1,7})/(\d{1,7})", re.ASCII)


class EditServer(LocalServer):
    """Serves the page on which one person looks through a set of questions and changes it."""

    def __init__(self, editing: Editing, port: int = 0) -> None:
        super().__init__(_Handler, port)
        self.editing = editing


class _Handler(LocalHandler):
    """Answers the requests of that page: for its files, for questions and pages, and to save decisions."""

    server: EditServer
    policy: ClassVar[str] = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )

    def got(self, path: str) -> Any:
        """Return a part of the page, or what it shows."""
        if path in FILES:
            name, kind = FILES[path]
            return self.send(HTTPStatus.OK, (PAGE / name).read_bytes(), kind)
        editing = self.server.editing
        if path == "state":
            return editing.state()
        try:
            if found := _QUESTION.fullmatch(path):
                return editing.detail(int(found[1]))
            if found := _PAGE_OF.fullmatch(path):
                return editing.page(int(found[1]), int(found[2]))
        except IndexError:
            raise _nothing("there is no such question or document") from None
        raise _nothing("there is nothing here")

    def posted(self, path: str) -> Any:
        """Save a decision, or write the set."""
        editing, data = self.server.editing, self._data()
        if path == "write":
            return {"wrote": editing.write(), "state": editing.state()}
        if path != "decide":
            raise _nothing("there is nothing here")
        try:
            request = DecisionRequest.model_validate(data)
            editing.decide(request)
            return {"state": editing.state(), "detail": editing.detail(request.number)}
        except RefusedError as error:
            complaints = [vars(one) for one in error.complaints]
            now = {"state": editing.state(), "detail": editing.detail(request.number)}
            return self.send_json(HTTPStatus.UNPROCESSABLE_ENTITY, {"complaints": complaints, **now})
        except ValidationError as error:
            first = error.errors()[0]
            said = f"{dotted(first['loc'])}: {first['msg']}"
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, said) from None
        except IndexError:
            raise _nothing("there is no such question or document") from None

    def _data(self) -> Any:
        """Return the JSON of the request; raises RefusedRequestError for one that is too large or none."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            raise RefusedRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected JSON")
        if not re.fullmatch(r"[0-9]{1,12}", length):
            raise RefusedRequestError(HTTPStatus.LENGTH_REQUIRED, "expected the length of the request")
        if int(length) > LARGEST:
            raise RefusedRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        try:
            return parse_json(self.rfile.read(int(length)).decode(), "the request")
        except (UnicodeDecodeError, DataError) as error:
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from None


def _nothing(why: str) -> RefusedRequestError:
    """Return the answer that something does not exist."""
    return RefusedRequestError(HTTPStatus.NOT_FOUND, why)
