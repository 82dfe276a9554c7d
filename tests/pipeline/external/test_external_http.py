"""Services on real sockets: what is sent, what becomes of what comes back, and what can go wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError, ServerError
from fathoms.models.caller import Caller
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.pipeline.external import Http
from fathoms.runs.cache import Cache
from fathoms.types import Citation, Question, Record, Usage
from tests.support.ports import free_port
from tests.support.raw_service import Act, Service, answer, chunked, hangs, resets, sends, service

QUESTION = Question(
    id="t-1", text="How tall {id}?", category="Text", files=("a.pdf", "b.pdf"), answers=(("the gold",),)
)


def ask(one_service: Service, tmp_path: Path, question: Question = QUESTION, **options: Any) -> Record:
    pipeline = Http(url=f"{one_service.address}/ask", **options)
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
    once = Caller(ProviderCalls(ExecutionSettings(max_attempts=1)))
    return asyncio.run(connected.answer(question, (), timeout=20, caller=once))


def record_of(act: Act, tmp_path: Path, **options: Any) -> Record:
    with service(act) as server:
        return ask(server, tmp_path, **options)


def test_the_simplest_service(tmp_path: Path) -> None:
    with service(sends(answer({"answer": "41.5 m", "model": "m-1"}))) as server:
        record = ask(server, tmp_path)
    ((head, sent),) = server.requests
    assert head.startswith("POST /ask HTTP/1.1\r\n")
    assert sent == {"question": "How tall {id}?"}
    assert record.answer is not None
    assert (record.answer.text, record.answer.model, record.answer.first_token) == ("41.5 m", "m-1", None)
    assert 0 < (record.answer.latency or 0) <= record.timings["generate"]
    assert (record.hits, record.citations, record.prompt, record.error) == (None, None, None, None)
    assert record.answer.usage == Usage()
    assert list(record.fingerprints) == ["pipeline"]


FILTERED = {"message": "The prompt triggered the content management policy.", "code": "content_filter"}


@pytest.mark.parametrize(
    "act",
    [
        sends(answer({"error": FILTERED}, "400 Bad Request")),
        sends(answer({"error": FILTERED})),
        sends(answer({"detail": "litellm.ContentPolicyViolationError: no", **FILTERED}, "400 Bad Request")),
    ],
)
def test_a_filter_behind_the_service_is_a_refusal(act: Act, tmp_path: Path) -> None:
    record = record_of(act, tmp_path)
    assert record.error is None
    assert record.answer is not None
    assert (record.answer.text, record.answer.refusal) == ("", "content_filter")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"success": False, "answer": "", "message": "no index"}, "no index"),
        ({"status": "failed", "detail": "no index", "answer": "Sorry."}, "no index"),
    ],
)
def test_a_reply_that_says_it_failed_is_a_failure(reply: dict[str, Any], said: str, tmp_path: Path) -> None:
    record = record_of(sends(answer(reply)), tmp_path)
    assert record.error is not None
    assert record.error.message.endswith(f"it says that it failed: {said}")


def test_what_is_put_into_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "{question}")
    request = {
        "q": "Q: {question}",
        "files": "{files}",
        "text": "of {files}",
        "at": ["{id}", {"of": "{category}"}],
        "who": "${TENANT} {unknown}",
        "n": 3,
    }
    with service(sends(answer({"answer": ""}))) as server:
        ask(server, tmp_path, request=request)
    assert server.requests[0][1] == {
        "q": "Q: How tall {id}?",
        "files": ["a.pdf", "b.pdf"],
        "text": "of a.pdf, b.pdf",
        "at": ["t-1", {"of": "Text"}],
        "who": "{question} {unknown}",
        "n": 3,
    }
    assert "gold" not in str(server.requests)


def test_get_sends_a_query(tmp_path: Path) -> None:
    with service(sends(answer({"answer": "x"}))) as server:
        ask(server, tmp_path, method="GET", request={"q": "{question}", "files": "{files}"})
    assert server.requests[0][0].startswith("GET /ask?q=How+tall+%7Bid%7D%3F&files=a.pdf&files=b.pdf HTTP")


FIELDS = {
    "data": {
        "reply": "41.5 m",
        "sources": [
            {"content": "one", "meta": {"file": "a.pdf", "page": 0}, "score": 0.5},
            {"content": "two", "meta": {"file": "b.pdf", "page": "4"}},
            "bare",
        ],
        "cites": ["a.pdf", {"document": "b.pdf", "page": 2, "quote": "tall"}],
        "tokens": {"in": 7, "out": 2},
    }
}
MAPPING = {
    "answer": "$.data.reply",
    "contexts": {
        "each": "$.data.sources[*]",
        "text": "$.content",
        "document": "$.meta.file",
        "page": "$.meta.page",
    },
    "citations": "$.data.cites",
    "usage": {"prompt_tokens": "$.data.tokens.in", "completion_tokens": "$.data.tokens.out"},
}


def test_a_mapping(tmp_path: Path) -> None:
    record = record_of(sends(answer(FIELDS)), tmp_path, response=MAPPING, first_page=0)
    assert record.error is None
    assert record.hits is not None
    assert [(hit.chunk.text, hit.chunk.document, hit.chunk.pages, hit.score) for hit in record.hits] == [
        ("one", "a.pdf", (1,), 0.5),
        ("two", "b.pdf", (5,), 0.5),
        ("bare", None, (), 1 / 3),
    ]
    assert record.citations == (
        Citation(document="a.pdf", ranks=(1,)),
        Citation(document="b.pdf", page=3, quote="tall"),
    )
    assert record.answer is not None
    assert record.answer.usage == Usage(prompt_tokens=7, completion_tokens=2)


ROUNDS = {
    "out": "41.5 m",
    "steps": [
        {"q": "tower", "found": [{"t": "It is tall.", "where": {"doc": "x/a.pdf", "p": 2}}], "n": 1},
        {"q": "tower height", "found": []},
        {"q": "metres", "n": 2, "found": [
            {"t": "It is tall.", "where": {"doc": "x/a.pdf", "p": 2}},
            {"t": "41.5 m.", "where": {"doc": "b.pdf", "p": 0}},
        ]},
    ],
}  # fmt: skip


def test_rounds_of_retrieval(tmp_path: Path) -> None:
    """Three rounds, of which the last finds a passage again; the contexts are those of all rounds."""
    contexts = {"each": "$.found", "text": "$.t", "document": "$.where.doc", "page": "$.where.p"}
    response = {
        "answer": "$.out",
        "rounds": {"each": "$.steps", "query": "$.q", "calls": "$.n", "contexts": contexts},
    }
    record = record_of(sends(answer(ROUNDS)), tmp_path, response=response, first_page=0)
    assert record.error is None
    found = [
        (one.query, one.calls, [(hit.chunk.document, hit.chunk.pages) for hit in one.hits])
        for one in record.rounds
    ]
    assert found == [
        ("tower", 1, [("x/a.pdf", (3,))]),
        ("tower height", None, []),
        ("metres", 2, [("x/a.pdf", (3,)), ("b.pdf", (1,))]),
    ]
    assert record.hits is not None
    assert [(hit.rank, hit.chunk.text) for hit in record.hits] == [(1, "It is tall."), (2, "41.5 m.")]


@pytest.mark.parametrize(
    ("rounds", "complaint"),
    [
        ([{"query": "x"}], "rounds.0.contexts: Field required"),
        ([{"contexts": [], "calls": -1}], "rounds.0.calls: Input should be greater than or equal to 0"),
        ("many", "rounds: Input should be a valid tuple"),
    ],
)
def test_rounds_that_cannot_be_read_fail_the_question(tmp_path: Path, rounds: Any, complaint: str) -> None:
    record = record_of(sends(answer({"answer": "x", "rounds": rounds})), tmp_path)
    assert record.error is not None
    assert complaint in record.error.message


def test_contexts_count_before_rounds(tmp_path: Path) -> None:
    reply = {"answer": "x", "contexts": ["one"], "rounds": [{"contexts": ["one", "two"]}]}
    record = record_of(sends(answer(reply)), tmp_path)
    assert record.hits is not None
    assert [hit.chunk.text for hit in record.hits] == ["one"]
    assert [[hit.chunk.text for hit in one.hits] for one in record.rounds] == [["one", "two"]]


@pytest.mark.parametrize("path", ["$.sources", "$.sources[*]", "$.sources[?@.used]"])
@pytest.mark.parametrize(
    ("sources", "hits"),
    [
        ({"sources": []}, ()),
        ({"sources": None}, None),
        ({}, None),
    ],
)
def test_an_empty_list_is_known_and_nothing_is_not(
    tmp_path: Path, path: str, sources: dict[str, Any], hits: Any
) -> None:
    body = {"answer": "x", **sources}
    record = record_of(sends(answer(body)), tmp_path, response={"contexts": path, "citations": path})
    assert (record.error, record.hits, record.citations) == (None, hits, hits)


def test_answers_at_several_places_are_joined(tmp_path: Path) -> None:
    body = {"output": [{"content": [{"text": "41"}, {"text": ".5"}]}, {"content": [{"text": " m"}]}]}
    record = record_of(sends(answer(body)), tmp_path, response={"answer": "$.output[*].content[*].text"})
    assert record.answer is not None
    assert record.answer.text == "41.5 m"


@pytest.mark.parametrize("last", [[{"type": "text", "text": "30 m"}], []])
def test_content_parts_of_reasoning_are_no_answer(tmp_path: Path, last: list[dict[str, str]]) -> None:
    thought = {"type": "reasoning", "text": "It says 41.5, no, 30."}
    record = record_of(sends(answer({"answer": [thought, *last]})), tmp_path)
    assert record.answer is not None
    assert (record.answer.text, record.answer.reasoning) == ("30 m" if last else "", "It says 41.5, no, 30.")


def test_a_refusal_is_an_answer_that_says_so(tmp_path: Path) -> None:
    record = record_of(sends(answer({"answer": None, "refusal": "I may not."})), tmp_path)
    assert record.answer is not None
    assert (record.answer.text, record.answer.refusal) == ("", "I may not.")


WRONG: dict[str, tuple[Act, str, str, int | None, float | None]] = {
    "500": (sends(answer("it\n broke", "500 Oops")), "ModelError", "status 500: it broke", 500, None),
    "404-html": (sends(answer("<html>x</html>", "404 No")), "ModelError", "status 404: <html>", 404, None),
    "429": (
        sends(answer("slowly", "429 Slow", "Retry-After: 7")),
        "RateLimitError",
        "status 429: slowly",
        429,
        7.0,
    ),
    "429-for-ever": (
        sends(answer("", "429 Slow", f"Retry-After: {'9' * 400}")),
        "RateLimitError",
        "status 429: no message",
        429,
        None,
    ),
    "redirect": (sends(answer("", "302 There", "Location: /x")), "ModelError", "status 302", 302, None),
    "html": (sends(answer("<!doctype html><p>Hello")), "ModelError", "not JSON but '<!doctype", None, None),
    "empty": (sends(answer("")), "ModelError", "its answer is empty", None, None),
    "nan": (sends(answer('{"answer": "x", "cost": NaN}')), "ModelError", "not JSON", None, None),
    "infinite": (
        sends(answer('{"answer": "x", "contexts": [{"text": "a", "score": 1e999}]}')),
        "ModelError",
        "contexts.0.score: Input should be a finite number",
        None,
        None,
    ),
    "deep": (sends(answer("[" * 100_000)), "ModelError", "not JSON", None, None),
    "a-number": (sends(answer("7")), "ModelError", "expected a JSON object, but this is '7'", None, None),
    "a-list": (sends(answer("[1, 2]")), "ModelError", "no answer at $.answer: a list of 2", None, None),
    "other-keys": (
        sends(answer({"result": "x", "id": 1})),
        "ModelError",
        "no answer at $.answer: the available keys are 'result', 'id'",
        None,
        None,
    ),
    "a-number-as-answer": (sends(answer({"answer": 4})), "ModelError", "answer: Input should be", None, None),
    "page-0": (
        sends(answer({"answer": "x", "contexts": [{"text": "a", "page": 0}]})),
        "ModelError",
        "contexts.0.page: Input should be greater than or equal to 1",
        None,
        None,
    ),
    "contexts-of-text": (
        sends(answer({"answer": "x", "contexts": "a"})),
        "ModelError",
        "contexts: Input should be a valid tuple",
        None,
        None,
    ),
    "no-text": (
        sends(answer({"answer": "x", "contexts": [{"document": "a.pdf"}]})),
        "ModelError",
        "contexts.0.text: Field required",
        None,
        None,
    ),
    "error": (
        sends(answer({"answer": "x", "error": {"message": "out of memory"}})),
        "ModelError",
        "it reports an error: out of memory",
        None,
        None,
    ),
    "not-utf-8": (sends(answer(b'{"answer": "\xff"}')), "ModelError", "not valid UTF-8", None, None),
    "too-large": (sends(answer(b" " * (17 * 2**20))), "ModelError", "larger than 16 MB", None, None),
    "resets": (resets, "NoAnswerError", "the connection broke", None, None),
    "dies-in-the-middle": (
        sends(answer({"answer": "41.5 m"})[:-4]),
        "NoAnswerError",
        "the connection broke",
        None,
        None,
    ),
    "not-http": (sends(b"SSH-2.0-x\r\n"), "NoAnswerError", "the connection broke", None, None),
    "not-gzip": (
        sends(answer("plain", "200 OK", "Content-Encoding: gzip")),
        "ModelError",
        "cannot be decompressed",
        None,
        None,
    ),
    "hangs": (hangs, "NoAnswerError", "it was silent for 2 s", None, None),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_the_failure_of_the_question(tmp_path: Path, name: str) -> None:
    act, kind, message, status, after = WRONG[name]
    record = record_of(act, tmp_path, timeout=2 if name == "hangs" else 10)
    assert record.error is not None
    assert message in record.error.message
    assert "/ask: " in record.error.message
    assert (record.error.kind, record.error.status, record.error.retry_after) == (kind, status, after)
    assert (record.answer, record.hits) == (None, None)


def test_a_service_that_is_down_is_named(tmp_path: Path) -> None:
    record = ask(result := Service(f"http://127.0.0.1:{free_port()}"), tmp_path)
    assert record.error is not None
    assert "no service is there" in record.error.message
    with pytest.raises(ServerError, match=r"no service at 127\.0\.0\.1:"):
        Http(url=result.address).check()
    with pytest.raises(ServerError, match="refused"):
        Http(url=result.address, health=f"{result.address}/health").check()


def test_the_check_looks_at_health(tmp_path: Path) -> None:
    with service(sends(answer("", "503 Busy"))) as server:
        Http(url=server.address).check()
        with pytest.raises(ServerError, match="status 503"):
            Http(url=server.address, health=f"{server.address}/health").check()
    with service(sends(answer("", "401 Who"))) as server:
        Http(url=server.address, health=server.address).check()


def data(*events: str) -> list[str]:
    return [f"data: {event}\n\n" for event in events]


SSE = data('{"answer": "41", "sources": ["s"]}', '{"answer": ".5 m"}', '{"usage": {"prompt_tokens": 3}}')
NDJSON = [
    '{"answer": "41", "sources"',
    ': ["s"]}\n{"answer": ".5\u2028m"}\n',
    '{"usage": {"prompt_tokens": 3}}',
]


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (chunked(*SSE, *data("[DONE]")), "41.5 m"),
        (chunked(*SSE), "41.5 m"),
        (chunked(": ping\r\n\r\n", *SSE[:-1], SSE[-1].rstrip()), "41.5 m"),
        (chunked("".join(SSE)[:9], "".join(SSE)[9:]), "41.5 m"),
        (chunked(*SSE, *data("[DONE]"), end=False), "41.5 m"),
        (chunked(*NDJSON, content="application/x-ndjson"), "41.5\u2028m"),
    ],
)
def test_streams(tmp_path: Path, stream: bytes, text: str) -> None:
    record = record_of(sends(stream), tmp_path, stream=True, response={"contexts": "$.sources"})
    assert record.error is None
    assert record.answer is not None
    assert (record.answer.text, record.answer.usage.prompt_tokens) == (text, 3)
    assert 0 < (record.answer.first_token or 0) <= (record.answer.latency or 0)
    assert [hit.chunk.text for hit in record.hits or ()] == ["s"]


OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (chunked(*SSE, end=False), "the connection broke"),
        (OPEN + "".join(SSE).encode(), "it may have broken off"),
        (chunked(*SSE, 'data: {"answer": "m'), "not JSON but"),
        (chunked(SSE[0], "event: error\ndata: no memory\n\n"), "it reports an error: no memory"),
        (chunked(SSE[0], *data('{"error": {"message": "no memory"}}')), "it reports an error: no memory"),
        (chunked(), "no answer at $.answer"),
        (chunked(*data("[DONE]")), "no answer at $.answer"),
        (answer("Hello", "200 OK", "Content-Type: text/plain"), "not JSON but 'Hello'"),
        (answer(b"data: \xff\n\n", "200 OK", "Content-Type: text/event-stream"), "not valid UTF-8"),
        (
            answer(b"data: " + b"x" * (17 * 2**20), "200 OK", "Content-Type: text/event-stream"),
            "larger than 16 MB",
        ),
    ],
    ids=range(10),
)
def test_a_stream_that_breaks_is_never_an_answer(tmp_path: Path, stream: bytes, message: str) -> None:
    record = record_of(sends(stream), tmp_path, stream=True)
    assert record.error is not None
    assert message in record.error.message
    assert record.answer is None
    assert record.error.kind == ("NoAnswerError" if "broke" in message else "ModelError")


def test_a_chat_stream_needs_its_reason_to_stop(tmp_path: Path) -> None:
    pieces = data('{"choices": [{"delta": {"content": "41"}, "finish_reason": null}]}')
    stop = data('{"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    options: dict[str, Any] = {"preset": "openai-chat", "model": "m", "stream": True}
    broken = record_of(sends(chunked(*pieces)), tmp_path, **options)
    assert broken.error is not None
    assert "it broke off" in broken.error.message
    whole = record_of(sends(chunked(*pieces, *stop)), tmp_path, **options)
    assert whole.answer is not None
    assert (whole.answer.text, whole.answer.stop_reason) == ("41", "stop")


def test_the_preset_takes_what_is_laid_over_it(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "sources": ["s"]}
    with service(sends(answer(body))) as server:
        record = ask(
            server,
            tmp_path,
            preset="openai-chat",
            model="m-1",
            request={"temperature": 0},
            response={"contexts": "$.sources"},
        )
    assert server.requests[0][1] == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "How tall {id}?"}],
        "stream": False,
        "temperature": 0,
    }
    assert [hit.chunk.text for hit in record.hits or ()] == ["s"]


KEY = "sk-planted-0123456789"


def test_a_key_is_sent_and_never_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    headers = {"Authorization": "Bearer ${SERVICE_KEY}"}
    for act in (
        sends(answer(f"no such key {KEY}", "401 Who")),
        sends(answer({"answer": f"your key is {KEY}", "contexts": [KEY]})),
        sends(answer({"error": KEY})),
    ):
        with service(act) as server:
            record = ask(server, tmp_path, headers=headers)
        assert f"Authorization: Bearer {KEY}" in server.requests[0][0]
        assert KEY not in record.model_dump_json()
        assert "***" in record.model_dump_json()


def test_only_secrets_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT", "the berlin tower")
    monkeypatch.setenv("NUMBER", "12345678")
    monkeypatch.setenv("SHORT", "tower")
    monkeypatch.setenv("TOKEN", KEY)
    request = {"q": "{question}", "tenant": "${TENANT}", "password": "${NUMBER}", "key": "${SHORT}"}
    fields = {"answer": f"the berlin tower, {KEY}", "usage": {"prompt_tokens": 12345678}}
    record = record_of(sends(answer(fields)), tmp_path, request={**request, "auth": {"token": "${TOKEN}"}})
    assert record.error is None
    assert record.answer is not None
    assert record.answer.text == "the berlin tower, ***"
    assert record.answer.usage.prompt_tokens == 12345678


@pytest.mark.parametrize(
    "act",
    [
        sends(answer(r'{"you sent": "abc\/def+\u0067hijk"}', "401 Who")),
        sends(answer(r'not JSON: "abc\/def+ghijk"')),
        sends(answer("no route /x?key=abc%2Fdef%2bghijk", "404 No")),
        sends(answer("x" * 290 + "abc/def+ghijk", "404 No")),
        sends(answer({"error": "x" * 490 + "abc/def+ghijk"})),
    ],
    ids=["json", "no-json", "query", "cut", "cut-error"],
)
def test_a_key_is_hidden_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act) -> None:
    monkeypatch.setenv("SERVICE_KEY", "abc/def+ghijk")
    record = record_of(act, tmp_path, headers={"X-Key": "${SERVICE_KEY}"})
    assert record.error is not None
    assert "abc" not in record.error.message
    assert "ghijk" not in record.error.message
    assert "***" in record.error.message


def test_a_key_in_two_pieces_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    pieces = data(*(f'{{"answer": "{text}"}}' for text in ("your key ", KEY[:9], KEY[9:])))
    record = record_of(
        sends(chunked(*pieces, *data("[DONE]"))), tmp_path, stream=True, headers={"X-Key": "${SERVICE_KEY}"}
    )
    assert record.answer is not None
    assert record.answer.text == "your key ***"


def test_get_keeps_the_query_of_the_address(tmp_path: Path) -> None:
    with service(sends(answer({"answer": "x"}))) as server:
        pipeline = Http(url=f"{server.address}/ask?index=a&q=b", method="GET", request={"q": "{question}"})
        connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
        asyncio.run(connected.answer(QUESTION, (), timeout=20))
    assert server.requests[0][0].startswith("GET /ask?index=a&q=How+tall+%7Bid%7D%3F HTTP")


@pytest.mark.parametrize("url", ["http://a..b/answer", f"http://{'a' * 70}.com/x", "http://${HOST}/x"])
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(ValidationError, match=r"expected an address|cannot contain \$\{NAME\}"):
        Http(url=url)
    with pytest.raises(ValidationError, match=r"expected an address|cannot contain \$\{NAME\}"):
        Http(url="http://127.0.0.1:9/x", health=url)


def test_a_part_can_be_switched_off(tmp_path: Path) -> None:
    fields = {"answer": "x", "citations": [1, 2], "model": {"name": "m"}, "error": "none"}
    refused = record_of(sends(answer({**fields, "error": None})), tmp_path)
    assert refused.error is not None
    assert "'response: {citations: null}' leaves it out" in refused.error.message
    off = {"citations": None, "model": None, "error": None, "contexts": {"score": None}, "usage": None}
    record = record_of(sends(answer(fields)), tmp_path, response=off)
    assert record.answer is not None
    assert (record.answer.text, record.citations, record.answer.model) == ("x", None, None)
    chat = Http(url="http://127.0.0.1:9/x", preset="openai-chat", model="m", response={"refusal": None})
    assert chat.response.refusal is None
    assert chat.response.answer == "$.choices[0].message.content"


@pytest.mark.parametrize("value", ["two\nlines", "ends in space ", "schlüssel-lang"])
def test_a_key_that_no_header_can_have_is_not_told_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SERVICE_KEY", value)
    with pytest.raises(ConfigError, match=r"headers\.X-Key has an invalid value") as caught:
        Http(url="http://127.0.0.1:9/x", headers={"X-Key": "${SERVICE_KEY}"}).check()
    assert value not in str(caught.value)
    monkeypatch.delenv("SERVICE_KEY")
    with pytest.raises(ConfigError, match="SERVICE_KEY is not set"):
        Http(url="http://127.0.0.1:9/x", headers={"X-Key": "${SERVICE_KEY}"}).check()


@pytest.mark.slow
def test_the_fingerprint_is_of_the_mapping_and_not_of_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    (tmp_path / "a.pdf").write_bytes(b"1")

    def state(**options: Any) -> str:
        pipeline = Http(url=options.pop("url", "http://127.0.0.1:9/x"), **options)
        return pipeline.prepare({"a.pdf": tmp_path / "a.pdf"}, cache).fingerprints["pipeline"]

    one = state()
    assert state(headers={"X-Tenant": "b"}, timeout=3, max_concurrency=1) == one
    fields = {"q": "{question}", "tenant": "${TENANT}", "api_key": "${SERVICE_KEY}"}
    states = []
    for tenant, key in (("one", "k-1"), ("one", "k-2"), ("two", "k-1")):
        monkeypatch.setenv("TENANT", tenant)
        monkeypatch.setenv("SERVICE_KEY", key)
        states.append(state(request=fields))
    assert states[0] == states[1] != states[2]
    assert state(response={"answer": "$.text"}) != one
    assert state(url="http://127.0.0.1:9/y") != one
    (tmp_path / "a.pdf").write_bytes(b"22")
    assert state() != one
