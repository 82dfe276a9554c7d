"""The scripted server itself: its rules, what it counts, and its two APIs on the wire."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import UsageError
from tests.support.fault_server.faults import ANSWERS, CONNECTION, FAULTS, Rule, rule
from tests.support.fault_server.server import ScriptedServer
from tests.support.fault_server.wire import Response

ROOT = Path(__file__).parents[2]
SERVER = "tests.support.fault_server.server"
CHAT = "/v1/chat/completions"


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


@contextmanager
def client(*faults: str, **options: Any) -> Iterator[tuple[ScriptedServer, httpx.Client]]:
    """A server, and a client that keeps its connections."""
    with (
        ScriptedServer(faults, **options).running() as server,
        httpx.Client(base_url=server.address, timeout=20) as one_client,
    ):
        yield server, one_client


def said(answer: httpx.Response) -> Any:
    return answer.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reset", Rule("reset")),
        ("429=0.5@1-10", Rule("429", 0.5, first=1, last=10)),
        ("status@7", Rule("status", 500, first=7, last=7)),
        ("hang@%100", Rule("hang", every=100)),
        ("status=503@blue tower*2", Rule("status", 503, word="blue tower", times=2)),
        ("drip*1", Rule("drip", 0.05, times=1)),
    ],
)
def test_rules(text: str, expected: Rule) -> None:
    assert rule(text) == expected


@pytest.mark.parametrize("text", ["", "burn", "reset@", "reset*", "status=x", "429 ", "reset*-1", "=3"])
def test_malformed_rules_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no rule: want FAULT"):
        rule(text)


@given(first=st.integers(1, 50), length=st.integers(0, 50), number=st.integers(1, 120))
def test_a_range_holds_both_its_ends(first: int, length: int, number: int) -> None:
    result = rule(f"reset@{first}-{first + length}")
    assert result.fits(number, "any question", 0) == (number in range(first, first + length + 1))


def test_every_fault_is_documented_in_the_help() -> None:
    assert not CONNECTION.keys() & ANSWERS.keys()
    done = subprocess.run(
        [sys.executable, "-m", SERVER, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(f"  {fault} " in done.stdout for fault in FAULTS)


def test_both_apis_whole_and_in_pieces() -> None:
    with client(default="It is 41.5 m.") as (server, http):
        whole = http.post(CHAT, json=body("a?")).json()
        assert whole["choices"][0]["message"]["content"] == "It is 41.5 m."
        assert whole["usage"]["total_tokens"] == 1 + 7
        usage = {"stream_options": {"include_usage": True}}
        lines = http.post(CHAT, json=body("a?", stream=True, **usage)).text.split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
        deltas = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"]]
        assert "".join(deltas) == "It is 41.5 m."
        assert [bool(chunk.get("usage")) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
        plain = http.post(CHAT, json=body("a?", stream=True)).text
        assert "usage" not in plain  # nobody asked for it
        pieces = [json.loads(line) for line in http.post("/api/chat", json=body("a?")).text.splitlines()]
        assert "".join(piece["message"]["content"] for piece in pieces) == "It is 41.5 m."
        assert [piece["done"] for piece in pieces] == [False, False, True]
        one = http.post("/api/chat", json=body("a?", stream=False)).json()
        assert (one["message"]["content"], one["done"], one["eval_count"]) == ("It is 41.5 m.", True, 7)
        assert server.requests == 5


def test_answers_by_a_word_and_counts() -> None:
    with client(answers={"tall": "41.5", "cost": "17"}) as (server, http):
        assert [said(http.post(CHAT, json=body(text))) for text in ("How tall?", "What cost?", "Who?")] == [
            "41.5",
            "17",
            "I do not know.",
        ]
        http.get("/v1/models")
        assert http.get("/nothing").status_code == 404
        assert http.get("/stats").json() == {
            "requests": 3,
            "questions": {"How tall?": 1, "What cost?": 1, "Who?": 1},
        }
        assert (server.requests, server.count("tall"), server.count("w")) == (3, 1, 1)


def test_only_the_end_of_a_prompt_is_looked_at() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "What is it?"}]
    with client("status@tower") as (server, http):
        assert http.post(CHAT, json=body("The tower. " + "x" * 200 + " How wide?")).status_code == 200
        assert http.post(CHAT, json=body("How tall is the tower?")).status_code == 500
        assert http.post(CHAT, json={"messages": [{"role": "user", "content": parts}]}).status_code == 200
        assert server.asked["What is it?"] == 1


def test_times_are_counted_for_each_question() -> None:
    with client("status=503*2") as (_, http):
        found = [http.post(CHAT, json=body(text)).status_code for text in "abababa"]
    assert found == [503, 503, 503, 503, 200, 200, 200]


def test_latency_delays_the_answer() -> None:
    with client(latency=0.2) as (_, http):
        started = time.monotonic()
        http.post(CHAT, json=body("a?"))
        assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("reset", httpx.ReadError),
        ("cut", httpx.RemoteProtocolError),
        ("drop", httpx.RemoteProtocolError),
        ("hang", httpx.ReadTimeout),
        ("stall", httpx.ReadTimeout),
    ],
)
def test_connection_faults_break_one_call_and_the_next_works(
    fault: str, error: type[Exception], stream: bool
) -> None:
    silence = httpx.Timeout(20, read=0.5 if error is httpx.ReadTimeout else 20)
    with client(f"{fault}@1") as (_, http):
        with pytest.raises(error):
            http.post(CHAT, json=body("a?", stream=stream), timeout=silence)
        assert http.post(CHAT, json=body("a?", stream=stream)).status_code == 200


def test_a_restart_keeps_the_port() -> None:
    with client("restart=2@2") as (server, http):
        address = server.address
        http.post(CHAT, json=body("a?"))
        with pytest.raises(httpx.TransportError):
            http.post(CHAT, json=body("b?"))
        with pytest.raises(httpx.ConnectError):
            http.post(CHAT, json=body("c?"))
        for _ in range(600):  # until it is back
            with suppress(httpx.ConnectError):
                assert http.post(CHAT, json=body("d?")).status_code == 200
                break
            time.sleep(0.05)
        assert server.address == address
        assert server.requests == 3  # nobody was there for one of the four


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("large=100", "x" * 3 + (" and so on" * 10)[:97]),
        ("blank", ""),
        ("null", None),
        ("number", 42),
    ],
)
def test_content_faults_replace_the_answer(fault: str, expected: Any) -> None:
    with client(fault, default="xxx") as (_, http):
        assert said(http.post(CHAT, json=body("a?"))) == expected


def test_bytes_and_headers_that_are_wrong() -> None:
    faults = ("utf8@1", "429=2@2", "429-ms=30@3", "429@4", "html@5", "empty@6", "echo=500@7", "truncated@8")
    with client(*faults) as (_, http):
        found = [
            http.post(CHAT, json=body("a?"), headers={"Authorization": "Bearer k"})
            for _ in range(len(faults))
        ]
    utf8, wait, milliseconds, silent, html, empty, echo, truncated = found
    with pytest.raises(UnicodeDecodeError):
        utf8.content.decode()
    assert (wait.headers["retry-after"], milliseconds.headers["retry-after-ms"]) == ("2", "30")
    assert (silent.status_code, "retry-after" in silent.headers) == (429, False)
    assert html.headers["content-type"] == "text/html"
    assert empty.content == b""
    assert (echo.status_code, "authorization: bearer k" in echo.text.lower()) == (500, True)
    with pytest.raises(json.JSONDecodeError):
        truncated.json()


def test_chunks_are_framed() -> None:
    assert Response((b"abc", b"", b"de"), chunked=True).body() == b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


def test_calls_that_are_no_chat_requests_are_dropped() -> None:
    with client() as (server, http):
        for method, content in (("GET", b""), ("POST", b"{no json"), ("POST", b"{}")):
            with pytest.raises(httpx.RemoteProtocolError):
                http.request(method, CHAT, content=content)
        assert http.post(CHAT, json=body("a?")).status_code == 200
        assert server.requests == 1


@pytest.mark.slow
def test_the_command() -> None:
    command = [sys.executable, "-m", SERVER, "--answer", "Yes.", "--fault", "status=503*1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        answers = [httpx.post(address + CHAT, json=body("a?")) for _ in range(2)]
        process.terminate()
    assert [answer.status_code for answer in answers] == [503, 200]
    assert said(answers[1]) == "Yes."
    wrong = subprocess.run(
        [*command, "--fault", "burn"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(f"{SERVER}: 'burn' is no rule")
