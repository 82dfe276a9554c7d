"""Asking the server of `fathoms view`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from fathoms.extras.live.server import ViewServer


@contextmanager
def serving(folder: Path, logs: Sequence[Path] = ()) -> Iterator[ViewServer]:
    """The server over a folder, in a thread."""
    with ViewServer(folder, logs=logs) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def got(
    server: ViewServer, path: str, *, token: str | None = None, method: str = "GET", **headers: str | None
) -> tuple[int, dict[str, str], Any]:
    """Ask as the page does, unless something else is given; a header that is None is left out."""
    port = server.server_address[1]
    sent: dict[str, str | None] = {"Host": f"127.0.0.1:{port}", **headers}
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    start = f"/{server.token if token is None else token}/"
    connection.putrequest(method, start + path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    reply = connection.getresponse()
    kind = reply.headers.get_content_type()
    text = (reply.readline() if kind == "text/event-stream" else reply.read()).decode()
    connection.close()
    return reply.status, dict(reply.headers), json.loads(text) if kind == "application/json" else text
