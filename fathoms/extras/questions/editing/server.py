"""Serves the pages of edits, of questions and of a table of facts; see `safety.local_server` for who may ask.
Requests name entries, documents and pages by numbers, never by paths."""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from fathoms.config import dotted
from fathoms.errors import DataError
from fathoms.extras.questions.editing.facts import FactChange, FactsEditing
from fathoms.extras.questions.editing.session import DecisionRequest, Editing, RefusedError
from fathoms.safety.inputs import parse_json
from fathoms.safety.local_server import HTML, LocalHandler, LocalServer, RefusedRequestError

PAGE = Path(__file__).with_name("page")
_SCRIPT = "text/javascript; charset=utf-8"
FILES = {
    "edit.css": ("edit.css", "text/css; charset=utf-8"),
    "edit.js": ("edit.js", _SCRIPT),
    "facts.js": ("facts.js", _SCRIPT),
    "elements.js": ("elements.js", _SCRIPT),
}
LARGEST = 1_000_000
"""The most bytes of a request."""
_ENTRY = re.compile(r"(?:question|fact)/(\d{1,7})", re.ASCII)
_PAGE_OF = re.compile(r"page/(\d{1,7})/(\d{1,7})", re.ASCII)


class EditServer(LocalServer):
    """Serves the page on which one person looks through a set of questions and changes it."""

    def __init__(self, editing: Editing, port: int = 0) -> None:
        super().__init__(_QuestionsHandler, port)
        self.editing = editing


class FactsServer(LocalServer):
    """Serves the page on which one person mends the cells of a table of facts."""

    def __init__(self, editing: FactsEditing, port: int = 0) -> None:
        super().__init__(_FactsHandler, port)
        self.editing = editing


class _Handler(LocalHandler):
    """Answers the requests of such a page: for its files, for entries and pages, and to save a change."""

    page: ClassVar[str]
    """The file of the page."""
    policy: ClassVar[str] = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )

    def got(self, path: str) -> Any:
        """Return a part of the page, or what it shows."""
        if path in FILES or not path:
            name, kind = FILES.get(path, (self.page, HTML))
            return self.send(HTTPStatus.OK, (PAGE / name).read_bytes(), kind)
        editing = self.server.editing
        if path == "state":
            return editing.state()
        try:
            if found := _ENTRY.fullmatch(path):
                return editing.detail(int(found[1]))
            if found := _PAGE_OF.fullmatch(path):
                return editing.page(int(found[1]), int(found[2]))
        except IndexError:
            raise _nothing(_NO_ENTRY) from None
        raise _nothing("there is nothing here")

    def posted(self, path: str) -> Any:
        """Save a change that the page sends."""
        data = self._data()
        try:
            return self.saved(path, data)
        except ValidationError as error:
            first = error.errors()[0]
            said = f"{dotted(first['loc'])}: {first['msg']}"
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, said) from None
        except IndexError:
            raise _nothing(_NO_ENTRY) from None

    def saved(self, path: str, data: Any) -> Any:
        """Return the answer to a change. Raises RefusedRequestError, ValidationError and IndexError."""
        raise NotImplementedError

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


class _QuestionsHandler(_Handler):
    """Answers the requests of the page of questions."""

    server: EditServer
    page = "edit.html"

    def saved(self, path: str, data: Any) -> Any:
        """Save a decision, or write the set."""
        editing = self.server.editing
        if path == "write":
            return {"wrote": editing.write(), "state": editing.state()}
        if path != "decide":
            raise _nothing("there is nothing here")
        request = DecisionRequest.model_validate(data)
        try:
            editing.decide(request)
            return {"state": editing.state(), "detail": editing.detail(request.number)}
        except RefusedError as error:
            complaints = [vars(one) for one in error.complaints]
            now = {"state": editing.state(), "detail": editing.detail(request.number)}
            return self.send_json(HTTPStatus.UNPROCESSABLE_ENTITY, {"complaints": complaints, **now})


class _FactsHandler(_Handler):
    """Answers the requests of the page of a table of facts."""

    server: FactsServer
    page = "facts.html"

    def got(self, path: str) -> Any:
        """Return what the other pages have, or the questions that the table has changed."""
        return self.server.editing.questions() if path == "questions" else super().got(path)

    def saved(self, path: str, data: Any) -> Any:
        """Save a change of one row, or undo the last one."""
        editing = self.server.editing
        if path == "undo":
            number = editing.undo()
        elif path == "change":
            number = editing.change(FactChange.model_validate(data))
        else:
            raise _nothing("there is nothing here")
        return {"number": number, "state": editing.state()}


_NO_ENTRY = "there is no such entry or document"


def _nothing(why: str) -> RefusedRequestError:
    """Return the answer that something does not exist."""
    return RefusedRequestError(HTTPStatus.NOT_FOUND, why)
