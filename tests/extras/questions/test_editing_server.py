"""The page of edits over a real socket: who may ask, and for what."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from fathoms.extras.questions.editing import Editing
from fathoms.extras.questions.editing.server import LARGEST, PAGE, EditServer
from fathoms.extras.questions.editing.session import edits_of
from fathoms.safety.local_server import LocalServer
from tests.extras.questions.editing import HOSTILE, editing, material, row, write_set


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EditServer]:
    path = write_set(tmp_path_factory.mktemp("set") / "set.jsonl", [row("a", question=HOSTILE), row("b")])
    with EditServer(editing(path)) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def request(
    server: LocalServer, path: str, data: object = None, *, token: str | None = None, **headers: str | None
) -> tuple[int, dict[str, str], Any]:
    """Ask as the page does, unless something else is given; a header that is None is left out."""
    port = server.server_address[1]
    sent: dict[str, str | None] = {"Host": f"127.0.0.1:{port}"}
    if data is not None:
        sent |= {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    body = data.encode() if isinstance(data, str) else json.dumps(data).encode()
    if data is not None:
        sent.setdefault("Content-Length", str(len(body)))
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest(
        "GET" if data is None else "POST",
        f"/{server.token if token is None else token}/{path}",
        skip_host=True,
        skip_accept_encoding=True,
    )
    for name, value in sent.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(None if data is None or len(body) > LARGEST else body)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    kind = reply.headers.get_content_type()
    return reply.status, dict(reply.headers), json.loads(text) if kind == "application/json" else text


def test_the_page_comes_with_its_policy_and_all_data_as_json(server: LocalServer) -> None:
    status, headers, text = request(server, "")
    assert (status, text) == (200, (PAGE / "edit.html").read_text())
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "Access-Control-Allow-Origin" not in headers
    assert request(server, "edit.js")[0] == request(server, "edit.css")[0] == 200
    status, headers, state = request(server, "state")
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert state["entries"][0]["text"] == HOSTILE  # no HTML: the page makes text nodes of it
    assert request(server, "question/0")[2]["fields"]["question"] == HOSTILE


@pytest.mark.parametrize("token", ["", "x"])
def test_a_stranger_gets_nothing(server: LocalServer, token: str) -> None:
    for path in ("", "state", "edit.js"):
        status, _, said = request(server, path, token=token)
        assert (status, said) == (403, {"error": "open the address that the command printed"})


@pytest.mark.parametrize("host", [None, "", "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_another_name_of_this_machine_is_refused(server: LocalServer, host: str | None) -> None:
    """DNS rebinding: a name of somebody else that leads to 127.0.0.1."""
    assert request(server, "state", Host=host)[0] == 403


def test_localhost_is_a_name_of_this_machine(server: LocalServer) -> None:
    assert request(server, "state", Host=f"localhost:{server.server_address[1]}")[0] == 200


@pytest.mark.parametrize(
    ("status", "headers", "data"),
    [
        (403, {"Origin": None}, {"number": 1, "decision": "drop"}),
        (403, {"Origin": "http://evil.example"}, {"number": 1, "decision": "drop"}),
        (403, {"Origin": "null"}, {"number": 1, "decision": "drop"}),
        (415, {"Content_Type": "text/plain"}, {"number": 1, "decision": "drop"}),
        (411, {"Content_Length": None}, {"number": 1, "decision": "drop"}),
        (411, {"Content_Length": "-1"}, {"number": 1, "decision": "drop"}),
        (413, {"Content_Length": str(LARGEST + 1)}, {}),
        (400, {}, '{"number": 1, "number": 1}'),
        (400, {}, "[" * 5000),
        (400, {}, {"number": "1", "decision": "drop"}),
        (400, {}, {"number": 1, "decision": "delete"}),
        (400, {}, {"number": 1, "decision": "mend", "fields": {"id": "c"}}),
        (404, {}, {"number": 7, "decision": "drop"}),
        (409, {}, {"number": 1, "decision": "drop", "take": "nobody"}),
    ],
)
def test_what_is_not_the_pages_own_request_changes_nothing(
    server: LocalServer, status: int, headers: dict[str, str | None], data: object
) -> None:
    assert request(server, "decide", data, **headers)[0] == status
    assert not edits_of(server.editing.path).exists()


@pytest.mark.parametrize(
    "path",
    [
        "../edit.css",
        "edit.css/",
        "%2e%2e/x",
        "etc/passwd",
        "page/varn.pdf/1",
        "page/9/1",
        "question/-1",
    ],
)
def test_only_numbers_are_asked_for(server: LocalServer, path: str) -> None:
    assert request(server, path)[0] == 404


class Broken(Editing):
    """An editing with a bug."""

    def state(self) -> dict[str, Any]:
        raise RuntimeError("no state")


def test_a_bug_is_told_and_the_server_goes_on(tmp_path: Path) -> None:
    broken = Broken(material(write_set(tmp_path / "set.jsonl", [row("a")])), "ann")
    with EditServer(broken) as served:
        threading.Thread(target=served.serve_forever).start()
        said = {"error": "RuntimeError: no state: this is a bug in fathoms"}
        assert request(served, "state")[::2] == (500, said)
        assert request(served, "question/0")[0] == 200
        served.shutdown()


def test_a_decision_is_on_the_disk_when_it_is_answered(tmp_path: Path) -> None:
    path = write_set(tmp_path / "set.jsonl", [row("a")])
    with EditServer(editing(path)) as served:
        threading.Thread(target=served.serve_forever).start()
        status, _, reply = request(served, "decide", {"number": 0, "decision": "accept"})
        assert (status, reply["state"]["decided"], reply["detail"]["own"]) == (200, 1, "accept")
        assert json.loads(edits_of(path).read_text())["decision"] == "accept"
        fields = reply["detail"]["fields"] | {"answers": [["4.15"]]}
        status, _, reply = request(served, "decide", {"number": 0, "decision": "mend", "fields": fields})
        assert (status, reply["complaints"][0]["code"]) == (422, "phrase-absent")
        assert request(served, "write", {})[2]["wrote"]["questions"] == 1
        served.shutdown()
