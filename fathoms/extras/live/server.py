"""Serves the list of runs and the page of any of them; see `safety.local_server` for who may ask. Requests
name a run by its id and a question by its number, never by a path."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Condition, Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from fathoms.errors import FathomsError, UsageError
from fathoms.extras.live.folder import Folder, shown
from fathoms.extras.live.list_page import list_page, trends_page
from fathoms.extras.live.viewed import Viewed
from fathoms.report.html.assembling import assemble
from fathoms.report.html.texts import clean
from fathoms.report.trends import gate_verdicts, trend
from fathoms.runs.order import run_name
from fathoms.runs.run import Run
from fathoms.safety.local_server import HTML, LocalHandler, LocalServer, RefusedRequestError

MOST_VIEWS = 4
"""The most pages of runs whose questions stay in memory."""
MOST_NIGHTS = 400
"""The most runs in a trend, the newest."""
MOST_RUNS = 50
"""The most runs on one page."""
MOST_ROWS = 200
"""The most questions whose texts one request gets."""
MOST_PAGES = 40
"""The most pages whose pictures one request gets."""
AT_ONCE = 0.4
"""The seconds that a page waits for the questions of its runs before it is drawn without them."""
_POLICY = {"Content-Security-Policy": "frame-ancestors 'none'"}
"""The policy of a page itself stands in the page, with the hash of its script."""
_LIST, _RUN = 2.0, 0.5
"""The seconds between two looks at what has changed."""
_BREATH = 15.0
"""The seconds without news after which the server finds out whether anybody still listens."""


class ViewServer(LocalServer):
    """Serves the runs of one folder; `logs` have what the gate said of them."""

    def __init__(self, folder: Path, port: int = 0, *, logs: Sequence[Path] = ()) -> None:
        self.folder = Folder(folder)
        self.logs = logs
        self._views: dict[tuple[str, ...], Viewed] = {}
        self._lock = Lock()
        self.closing = Condition()
        self.is_closing = False
        super().__init__(_Handler, port)  # last: where it cannot listen, it closes itself

    def viewed(self, names: tuple[str, ...]) -> Viewed:
        """Return the runs with these ids as they are now. Raises UsageError for an unknown id."""
        with self._lock:
            found = self._views.pop(names, None)
            if found is None or not found.is_current():
                if found is not None:
                    found.close()
                found = Viewed(self.folder.find(names))
            self._views[names] = found
            for old in list(self._views)[:-MOST_VIEWS]:
                self._views.pop(old).close()
            return found

    def server_close(self) -> None:
        """End everything that is read or sent in the background."""
        super().server_close()
        with self.closing:
            self.is_closing = True
            self.closing.notify_all()
        for one in self._views.values():
            one.close()


class _Handler(LocalHandler):
    """Answers the requests of the list, of the pages of runs and of the trends."""

    server: ViewServer

    def got(self, path: str) -> Any:
        """Return what a page shows, or send a page."""
        parts = urlsplit(f"/{path}")
        query = parse_qs(parts.query, max_num_fields=10)
        head, _, rest = parts.path[1:].partition("/")
        if head == "run" and "/" in rest:
            names, _, name = rest.partition("/")
            with _known():
                return self._of_runs(tuple(map(unquote, names.split(","))), name, query)
        if parts.path == "/":
            links = [["trends/", "Trends"]]
            return self._page(
                list_page(self._shown(), self.server.folder.path.name, connect=True, links=links)
            )
        if parts.path == "/trends/":
            return self._trends(query)
        if parts.path == "/runs":
            return self._shown()
        if parts.path == "/events":
            return self._events(_LIST, lambda: {"runs": self._shown()})
        raise RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _shown(self) -> list[dict[str, Any]]:
        """Return the rows of the list."""
        return [clean(shown(row)) for row in self.server.folder.rows()]

    def _trends(self, query: dict[str, list[str]]) -> None:
        """Send the page with the nights of one pipeline, by default of that with the newest run."""
        folder = self.server.folder
        by_name: dict[str, list[Run]] = {}
        for row in folder.rows():  # the newest first
            run = Run(folder.path / row["run"])
            by_name.setdefault(run_name(run.id), []).append(run)
        several = [name for name, runs in by_name.items() if len(runs) > 1]
        [name, *_] = query.get("name", several[:1] or ["the newest"])
        [metric, *_] = query.get("metric", [None])
        runs = by_name.get(name, [])[:MOST_NIGHTS]
        found, why = [], f"There are no runs of '{name}'." if name not in by_name else None
        try:
            if runs:
                found = [trend(name, runs[::-1], metric, gate_verdicts(self.server.logs))]
        except FathomsError as error:
            why = str(error)
        if not several:
            why = "There is no pipeline with two runs yet."
        self._page(trends_page(f"trend of {name}", found, several, why))

    def _of_runs(self, names: tuple[str, ...], name: str, query: dict[str, list[str]]) -> Any:
        """Answer a request about some runs."""
        if len(names) > MOST_RUNS:
            raise UsageError(f"{len(names)} runs: a page shows at most {MOST_RUNS}")
        viewed = self.server.viewed(names)
        if name in ("", "overview"):
            viewed.wait(AT_ONCE)
            state = viewed.standing()["version"]
            overview = {**viewed.overview(), "served": True, "home": "../../", "state": state}
            if name:
                return overview
            return self._page(assemble(overview, [], connect=True))
        if name == "index":
            return viewed.index()
        if name == "rows":
            return clean(viewed.rows(_numbers(query, "places", MOST_ROWS)))
        if name == "search":
            return viewed.search(_one(query, "q").lower().split(), _numbers(query, "runs", MOST_RUNS))
        if name == "detail":
            [run], [place] = _numbers(query, "run", 1), _numbers(query, "place", 1)
            return viewed.detail(run, place) or {}
        if name == "pages":
            return viewed.pages(_one(query, "keys").split(",")[:MOST_PAGES])
        if name == "events":
            return self._events(_RUN, lambda: self.server.viewed(names).standing())
        raise RefusedRequestError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _page(self, text: str) -> None:
        self.send(HTTPStatus.OK, text.encode("utf-8", "replace"), HTML, _POLICY)

    def _events(self, pause: float, look: Callable[[], Any]) -> None:
        """Send what `look` returns, at once and whenever it has changed, until nobody listens."""
        self.send(HTTPStatus.OK, None, "text/event-stream")
        self.close_connection = True
        shown, since = "", time.monotonic()
        while not self.server.is_closing:
            try:
                now = json.dumps(look())
            except FathomsError as error:
                now = json.dumps({"flaw": str(error), "live": False, "following": True})
            if now != shown or time.monotonic() - since > _BREATH:
                self.wfile.write(f"data: {now}\n\n".encode() if now != shown else b": \n\n")
                shown, since = now, time.monotonic()
            with self.server.closing:
                self.server.closing.wait(pause)


@contextmanager
def _known() -> Iterator[None]:
    """Answer that a run or question does not exist with the status for that."""
    try:
        yield
    except UsageError as error:
        raise RefusedRequestError(HTTPStatus.NOT_FOUND, str(error)) from None
    except IndexError:
        raise RefusedRequestError(
            HTTPStatus.NOT_FOUND, "there is no such run or question on this page"
        ) from None


def _one(query: dict[str, list[str]], name: str) -> str:
    """Return the only value of a key; raises RefusedRequestError."""
    found = query.get(name, [])
    if len(found) != 1:
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, f"expected one value of '{name}'")
    return found[0]


def _numbers(query: dict[str, list[str]], name: str, most: int) -> list[int]:
    """Return the numbers of a key, from 0; raises RefusedRequestError."""
    found = _one(query, name).split(",")
    if len(found) > most or not all(one.isascii() and one.isdigit() and len(one) < 10 for one in found):
        raise RefusedRequestError(HTTPStatus.BAD_REQUEST, f"expected at most {most} numbers in '{name}'")
    return list(map(int, found))
