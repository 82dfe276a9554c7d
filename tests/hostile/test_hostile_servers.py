"""Servers that are hostile or broken: each fault is a counted failure with a sentence, within its limits."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.corpora.download import Policy, download
from fathoms.errors import DataError, ModelError, NoAnswerError, ServerError, UsageError
from fathoms.models import AnthropicLLM, GoogleLLM, OllamaLLM, OpenAICompatibleLLM, OpenAILLM
from fathoms.models.chat import counting
from fathoms.models.chat.openai_compatible import OpenAICompatibleEmbedder
from fathoms.pipeline.external.http import Http
from fathoms.runner import runner
from fathoms.runs.cache import Cache
from fathoms.types import Message, Prompt, Reply
from tests.support.faulty import config, faulty_project, views
from tests.support.project import Project
from tests.support.raw_service import Act, answer, chunked, sends, service

pytestmark = pytest.mark.slow  # servers that keep one waiting

PROMPT = Prompt(messages=(Message(role="user", text="6 x 7?"),))
KEY, VARIABLE = "sk-hostile-0123456789", "FATHOMS_TEST_HOSTILE_KEY"
WHOLE = {"model": "m", "choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}
MODELS = answer({"data": [{"id": "scripted"}]})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


def adapters(address: str) -> dict[str, Any]:
    """Every adapter that asks a server over HTTP."""
    common: dict[str, Any] = {"request_timeout": 20}
    key: dict[str, Any] = {"api_key_env": VARIABLE, **common}
    return {
        "openai-compatible": OpenAICompatibleLLM(model="m", base_url=address, **key),
        "ollama": OllamaLLM(model="m", base_url=address, **common),
        "chat": OpenAILLM(model="m", base_url=address, **key),
        "responses": OpenAILLM(model="m", api="responses", base_url=address, **key),
        "anthropic": AnthropicLLM(model="m", base_url=address, **key),
        "google": GoogleLLM(model="m", base_url=address, **key),
    }


def reply_of(model: Any, act: Act) -> Reply:
    """The reply of an adapter to a server that does so."""
    with service(act) as server:
        moved = model.model_copy(update={"base_url": server.address})
        return asyncio.run(asyncio.wait_for(moved.reply(PROMPT), 30))


def failure_of(model: Any, act: Act) -> str:
    """The sentence of its failure."""
    with pytest.raises(ModelError) as raised:
        reply_of(model, act)
    assert KEY not in str(raised.value)
    return str(raised.value)


def zeros_compressed(size: int) -> bytes:
    """Zeros, compressed."""
    deflater = zlib.compressobj(9, wbits=31)
    zeros = bytes(2**20)
    return b"".join(deflater.compress(zeros) for _ in range(size // 2**20)) + deflater.flush()


def compressed(data: bytes, *codings: str) -> bytes:
    """An answer of status 200 in these codings."""
    return answer(data, "200 OK", "Content-Type: application/json", f"Content-Encoding: {', '.join(codings)}")


def test_decompression_stops_at_the_size_limit(tmp_path: Path) -> None:
    """In a child whose memory is limited: 256 MB from 256 KB, and the same compressed twice."""
    script = f"""
import asyncio, resource, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.hostile import test_hostile_servers as t
import openai, anthropic, google.genai, aiohttp
from fathoms.errors import FathomsError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
once = t.zeros_compressed(2**28)
twice = t.gzip.compress(once)
sent = [(once, ("gzip",), "larger than 16 MB"), (twice, ("gzip", "gzip"), "compressed as")]
for data, codings, words in sent:
    act = t.sends(t.compressed(data, *codings))
    for name, model in t.adapters("http://127.0.0.1:1").items():
        said = t.failure_of(model, act)
        assert words in said, (name, said)
    with t.service(act) as made:
        for check in (
            t.OpenAICompatibleLLM(model="m", base_url=made.address).check,
            t.OllamaLLM(model="m", base_url=made.address).check,
            t.Http(url=made.address, health=made.address).check,
            t.OpenAICompatibleEmbedder(model="m", base_url=made.address).check,
        ):
            try:
                check()
            except FathomsError as error:
                assert "larger than 4 MB" in str(error) or "compressed as" in str(error), error
            else:
                assert False, check
        embedder = t.OpenAICompatibleEmbedder(model="m", base_url=made.address)
        try:
            embedder.embed(["a"])
        except FathomsError as error:
            assert words in str(error), error
print("grown", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    environment = {**os.environ, VARIABLE: KEY}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) < 150_000, done.stdout  # kilobytes


def test_one_content_encoding_is_decoded_and_broken_ones_are_errors() -> None:
    data = json.dumps(WHOLE).encode()
    for model in (adapters("http://a")["openai-compatible"], adapters("http://a")["chat"]):
        assert reply_of(model, sends(compressed(gzip.compress(data), "gzip"))).text == "42"
        assert "not valid gzip" in failure_of(model, sends(compressed(b"no gzip at all", "gzip")))
        assert "broke off" in failure_of(model, sends(compressed(gzip.compress(data)[:-9], "gzip")))
        assert "'br'" in failure_of(model, sends(compressed(data, "br")))


def endless(head: bytes, piece: bytes, seconds: float = 20.0) -> Act:
    """Sends for ever, until the other side has gone."""

    def act(connection: socket.socket, _: Any) -> None:
        connection.sendall(head)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            connection.sendall(piece)

    return act


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_answers_that_never_end_are_cut_off() -> None:
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    for name, model in adapters("http://127.0.0.1").items():
        assert "larger than 16 MB" in failure_of(model, endless(EVENTS, piece)), name
        header = b"X-More: " + b"y" * 4000 + b"\r\n"
        assert failure_of(model, endless(b"HTTP/1.1 200 OK\r\n", header)), name


def trickle(head: bytes, piece: bytes) -> Act:
    """A piece every tenth of a second, for half a minute."""

    def act(connection: socket.socket, _: Any) -> None:
        connection.sendall(head)
        for _ in range(300):
            connection.sendall(piece)
            time.sleep(0.1)

    return act


SLOW = (trickle(b"HTTP/1.1 200 OK\r\nX: ", b"y"), trickle(EVENTS, b"1\r\n \r\n"))


def test_an_answer_that_drips_byte_by_byte_times_out(tmp_path: Path) -> None:
    """The time limit of a question is for its whole answer, head and body, from any provider."""
    project = faulty_project(tmp_path, ["Slow head?", "Slow body?"])

    def act(connection: socket.socket, sent: Any) -> None:
        text = json.dumps(sent)
        if "Slow" in text:
            SLOW["Slow body" in text](connection, sent)
        elif sent is not None:
            connection.sendall(answer({"capabilities": ["completion"]}))
        else:
            connection.sendall(MODELS)

    names = ("openai-compatible", "ollama", "http")
    with service(act) as server:
        for name in names:
            project.write(f"{name}.yaml", config(name, server.address, question_timeout=0.5, silence=5))
        done = project.fathoms("-q", "run", *(f"{name}.yaml" for name in names))
    assert done.returncode == 1, done.stderr
    records = [record for run in project.runs() for record in views(run).values()]
    assert [record["error"]["kind"] for record in records] == ["Timeout"] * 6


def test_health_checks_and_token_counts_time_out() -> None:
    """All at once, so that each may take its time to connect on a busy machine."""
    limit: dict[str, Any] = {"model": "m", "request_timeout": 2}
    with service(SLOW[0]) as head, service(SLOW[1]) as body, ThreadPoolExecutor(8) as threads:
        said = []
        for address in (head.address, body.address):
            model = OpenAICompatibleLLM(base_url=address, **limit)
            ollama = OllamaLLM(base_url=address, **limit)
            embedder = OpenAICompatibleEmbedder(base_url=address, **limit)
            said += [
                (threads.submit(model.check), ServerError, "no complete answer within 2 s"),
                (threads.submit(ollama.check), ServerError, "no complete answer within 2 s"),
                (
                    threads.submit(model.count_tokens, PROMPT.messages),
                    NoAnswerError,
                    "does not count the prompt within 2 s",
                ),
                (threads.submit(embedder.embed, ["a"]), NoAnswerError, ""),
            ]
        for call, kind, words in said:
            error = call.exception()
            assert isinstance(error, kind), error
            assert words in str(error)
    counting._known.clear()


def test_a_signal_ends_health_checks_and_token_counts(tmp_path: Path) -> None:
    """SIGINT once; the command ends by itself, long before the server or a time-out would."""
    project = faulty_project(tmp_path, ["What?"])
    for counts in (False, True):
        came = threading.Event()

        def act(connection: socket.socket, sent: Any, counts: bool = counts, came: Any = came) -> None:
            if counts and sent is None:
                connection.sendall(MODELS)
                return
            came.set()
            time.sleep(50)

        with service(act) as server:
            more = "n_ctx: 4096,"
            project.write(
                "c.yaml",
                config("openai-compatible", server.address, silence=500, question_timeout=500, more=more),
            )
            process = project.start("-q", "run", "c.yaml", stderr=subprocess.PIPE)
            assert came.wait(60)
            process.send_signal(signal.SIGINT)
            try:  # a check that is not stopped ends after 10 s with another code, a count after 60 s
                _, said = process.communicate(timeout=45)
            finally:
                process.kill()
                process.wait()
        assert process.returncode == 130, said
        assert "Traceback" not in said


ERRORS: dict[str, list[tuple[bytes, str]]] = {
    "openai-compatible": [
        (answer({**WHOLE, "error": {"message": f"no money {KEY}"}}), "no money"),
        (answer({"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}), "finish_reason"),
        (answer({"choices": [{**WHOLE["choices"][0], "error": {"code": 502, "message": "gone"}}]}), "gone"),  # type: ignore[dict-item,index]
        (
            chunked(
                'data: {"choices": [{"delta": {"content": "4"}}]}\n\n',
                'event: error\ndata: {"message": "lost"}\n\n',
            ),
            "lost",
        ),
        (
            chunked('data: {"choices": [{"delta": {"content": "4"}, "finish_reason": "error"}]}\n\n'),
            "finish_reason",
        ),
        (
            chunked('data: {"choices": [{"delta": {"content": "4"}}]}\n\n', 'data: {"error": "burnt"}\n\n'),
            "burnt",
        ),
    ],
    "ollama": [
        (
            chunked('{"message": {"content": "4"}}\n{"error": "burnt"}\n', content="application/x-ndjson"),
            "burnt",
        ),
        (
            chunked(
                '{"message": {"content": "4"}, "done": true, "done_reason": "error"}\n',
                content="application/x-ndjson",
            ),
            "error",
        ),
    ],
    "chat": [
        (
            answer(
                {**WHOLE, "error": {"message": f"no money {KEY}"}}, "200 OK", "Content-Type: application/json"
            ),
            "no money",
        ),
        (
            answer(
                {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]},
                "200 OK",
                "Content-Type: application/json",
            ),
            "finish_reason",
        ),
        (answer({"choices": []}, "200 OK", "Content-Type: application/json"), "does not follow its API"),
    ],
    "responses": [
        (
            answer(
                {"status": "failed", "error": {"code": "server_error", "message": "burnt"}, "output": []},
                "200 OK",
                "Content-Type: application/json",
            ),
            "burnt",
        ),
        (
            answer(
                {"status": "cancelled", "output": [], "error": None, "model": "m"},
                "200 OK",
                "Content-Type: application/json",
            ),
            "cancelled",
        ),
    ],
    "anthropic": [
        (
            answer(
                {"type": "error", "error": {"type": "api_error", "message": "burnt"}},
                "200 OK",
                "Content-Type: application/json",
            ),
            "burnt",
        ),
    ],
    "google": [
        (
            answer({"candidates": [{"finishReason": "OTHER"}]}, "200 OK", "Content-Type: application/json"),
            "OTHER",
        ),
        (
            answer(
                {"error": {"code": 503, "message": "burnt", "status": "UNAVAILABLE"}},
                "200 OK",
                "Content-Type: application/json",
            ),
            "no candidate",
        ),
    ],
}


def test_an_error_is_never_an_answer() -> None:
    for name, cases in ERRORS.items():
        for data, words in cases:
            said = failure_of(adapters("http://127.0.0.1")[name], sends(data))
            assert words in said, (name, words, said)


def test_an_error_in_the_stream_of_a_vendor_is_never_an_answer() -> None:
    events = 'event: message_start\ndata: {"type": "message_start", "message": {"content": []}}\n\n'
    broken = 'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "burnt"}}\n\n'
    chat = 'data: {"choices": [{"delta": {"content": "4"}, "finish_reason": "error"}]}\n\ndata: [DONE]\n\n'
    response = 'event: error\ndata: {"type": "error", "code": "server_error", "message": "burnt"}\n\n'
    google = 'data: {"error": {"code": 503, "message": "burnt", "status": "UNAVAILABLE"}}\n\n'
    sent = {"anthropic": events + broken, "chat": chat, "responses": response, "google": google}
    for name, text in sent.items():
        model = adapters("http://127.0.0.1")[name].model_copy(update={"stream": True})
        said = failure_of(model, sends(chunked(text)))
        assert "burnt" in said or "finish_reason" in said, (name, said)


ODD: list[Any] = [
    {"choices": [{"message": {"content": {"text": KEY}}}]},
    {"choices": [{"message": {"content": [7]}}]},
    {"choices": []},
    {"choices": "none"},
    {"choices": {}},
    {"choices": [None]},
    {"choices": [{"message": "42"}]},
    b"\xff\xfe\x00{",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"choices": [{"message": {"content": "\xff"}}]}',
    b"<html>",
    b"",
]


def test_malformed_answers_are_failures_with_a_message() -> None:
    for name in ("openai-compatible", "ollama", "chat", "responses", "anthropic", "google"):
        for odd in ODD:
            data = answer(odd, "200 OK", "Content-Type: application/json")
            failure_of(adapters("http://127.0.0.1")[name], sends(data))


def test_odd_parts_of_an_answer_are_not_taken() -> None:
    usage = (
        b'{"prompt_tokens": -5, "completion_tokens": 1e999, "prompt_tokens_details": {"cached_tokens": true}}'
    )
    body = (
        b'\xef\xbb\xbf{"model": {"a": 1}, "choices": [{"message": {"content": "no"}}], "usage": '
        + usage
        + b', "choices": [{"message": {"content": "4\\ud8002"}, "finish_reason": ["stop"]}]}'
    )
    reply = reply_of(adapters("http://a")["openai-compatible"], sends(answer(body)))
    assert reply.text == "4\ufffd2"
    assert (reply.model, reply.stop_reason) == (None, None)
    assert reply.usage.model_dump(exclude_none=True) == {}
    reply.model_dump_json().encode()
    halves = (
        'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n'
        'data: {"choices": [{"delta": {"content": "\\ude00"}, "finish_reason": "stop"}]}\n\n'
    )
    joined = reply_of(adapters("http://a")["openai-compatible"], sends(chunked("\ufeff" + halves)))
    assert joined.text == "\U0001f600"


def test_a_key_does_not_follow_a_redirect() -> None:
    """Not to another host, and not in a circle."""
    for name in adapters("http://127.0.0.1"):
        with service(sends(answer(WHOLE))) as other:
            to_other = answer(b"", "307 Temporary Redirect", f"Location: {other.address}/x")
            said = failure_of(adapters("http://127.0.0.1")[name], sends(to_other))
            assert "307" in said, (name, said)
            assert not other.requests
        with (
            pytest.raises(ServerError, match=r"status 307|with status 307"),
            service(sends(to_other)) as server,
        ):
            OpenAICompatibleLLM(model="m", base_url=server.address, api_key_env=VARIABLE).check()


def test_models_that_a_server_lists_oddly() -> None:
    for listed in ({"data": [7]}, {"data": {"a": 1}}, [1], {"data": "x"}, b"[" * 100_000, b"\xff"):
        with (
            service(sends(answer(listed if isinstance(listed, bytes) else json.dumps(listed)))) as server,
            pytest.raises(ServerError, match="does not answer with a list"),
        ):
            OpenAICompatibleLLM(model="m", base_url=server.address).check()
    longest = {"data": [{"id": "m", "max_model_len": "many"}]}
    with service(sends(answer(longest))) as server:
        OpenAICompatibleLLM(model="m", base_url=server.address, n_ctx=100).check()
    for shown in (b"[" * 100_000, b"[1]", b"null", b"", {"error": f"{'x' * 10_000}"}):
        with service(sends(answer(shown))) as server, pytest.raises(ServerError) as raised:
            OllamaLLM(model="m", base_url=server.address).check()
        assert len(str(raised.value)) < 600
    odd = {"model_info": {"a.context_length": "long"}, "capabilities": [{"a": 1}], "details": 7}
    with service(sends(answer(odd))) as server:
        OllamaLLM(model="m", base_url=server.address).check()


@contextmanager
def untrusted(folder: Path) -> Iterator[str]:
    """The address of a server whose certificate nobody trusts."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate_builder = x509.CertificateBuilder(
        name, name, key.public_key(), 1, now, now + timedelta(days=1)
    )
    certificate_builder = certificate_builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False
    )
    pem = certificate_builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem += key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(65536)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"https://localhost:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_a_certificate_that_is_not_trusted_is_called_that(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="makes the certificate")
    words = "the TLS certificate of localhost is not trusted: self-signed certificate"
    with untrusted(tmp_path) as address:
        for name, model in adapters(address).items():
            with pytest.raises(ModelError, match=words) as raised:
                asyncio.run(model.reply(PROMPT))
            assert not isinstance(raised.value, NoAnswerError), name  # it is not asked again
        model = OpenAICompatibleLLM(model="m", base_url=address)
        for check in (
            model.check,
            OllamaLLM(model="m", base_url=address).check,
            Http(url=address, health=address).check,
        ):
            with pytest.raises(ServerError, match=words):
                check()
        with pytest.raises(ModelError, match=words):
            model.count_tokens(PROMPT.messages)
        with pytest.raises(ModelError, match=words):
            OpenAICompatibleEmbedder(model="m", base_url=address).embed(["a"])
        with pytest.raises(DataError, match=words):
            download(f"{address}/a.pdf", tmp_path / "a.part", policy=Policy())
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            with listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")

        plain = threading.Thread(target=refuse)
        plain.start()
        with pytest.raises(ServerError, match=r"TLS with 127\.0\.0\.1 failed"):
            OllamaLLM(model="m", base_url=f"https://127.0.0.1:{listener.getsockname()[1]}").check()
        plain.join()


def test_a_download_that_crawls_is_given_up(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
    policy = Policy(attempts=2, first_pause=0.01, slowest=1000, slow_seconds=0.3)
    with (
        service(trickle(head, b"x")) as server,
        pytest.raises(DataError, match="less than 1000 bytes a second"),
    ):
        download(f"{server.address}/a.pdf", tmp_path / "a.part", policy=policy)


def test_numbers_that_no_machine_can_serve_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(project.path / "tiny.yaml")
    for flags in (["-j", "100000000"], ["--repeats", "1000000000"], ["--workers", "100000000"]):
        assert main(["run", config, "--dry-run", *flags]) == 2, flags
        assert "is not in the range" in capsys.readouterr().err
    for setting in (
        "question_timeout=1e+308",
        "question_timeout=.inf",
        "execution.first_wait=1e+308",
        "execution.give_up_after=.inf",
        "retrieve.top_k=1000000000000",
        "generate.max_concurrency=100000000",
    ):
        assert main(["run", config, "--dry-run", "--set", setting]) == 2, setting
        assert "less than or equal to" in capsys.readouterr().err, setting
    with pytest.raises(UsageError, match="repeats is 1000000000: expected a number from 1 to 1000"):
        runner.run([], out=project.path, cache=Cache(project.path), repeats=10**9)


def test_every_number_in_a_config_has_an_upper_limit() -> None:
    """Numbers that decide how long or how much, in whatever component, are bounded."""
    from fathoms.component import Component

    bounded = {"max_concurrency", "request_timeout", "timeout", "question_timeout", "n_ctx", "max_tokens"}
    bounded |= {"top_k", "batch_size", "threads", "temperature"}
    import fathoms.experiment  # noqa: F401 - all components are loaded

    kinds, seen = [Component], 0
    while kinds:
        kind = kinds.pop()
        kinds += [found for found in kind.__subclasses__() if found.__module__.startswith("fathoms.")]
        for name in bounded & set(kind.model_fields):
            limits = [getattr(limit, "le", None) for limit in kind.model_fields[name].metadata]
            assert any(limit is not None for limit in limits), f"{kind.__name__}.{name}"
            seen += 1
    assert seen > 40


def test_odd_answers_of_a_service_are_failures(tmp_path: Path) -> None:
    odd: list[bytes | dict[str, Any]] = [
        {"answer": {"a": 1}},
        {"answer": "42", "usage": {"prompt_tokens": -1}},
        b'{"answer": "42", "cost": 1e999}',
        b'{"answer": "42", "cost": NaN}',
        b'{"answer": "\\ud800"}',
        {"answer": "42", "error": "burnt"},
        b"[" * 100_000,
        b"\xff",
    ]
    project = faulty_project(tmp_path, [f"What {number}?" for number in range(len(odd))])

    def act(connection: socket.socket, sent: Any) -> None:
        connection.sendall(answer(odd[int(sent["question"].split()[1][:-1])]))

    with service(act) as server:
        project.write(
            "c.yaml",
            "name: odd\ndata: {questions: questions.json, documents: pdfs}\n"
            "execution: {max_attempts: 1}\n"
            f"pipeline: {{kind: http, url: '{server.address}/ask'}}\n",
        )
        done = project.fathoms("-q", "run", "c.yaml")
    assert done.returncode == 1, done.stderr
    assert "defect" not in done.stderr
    records = views(project.runs()[-1])
    assert len(records) == len(odd)
    kinds = {name: (record["error"] or {}).get("kind") for name, record in records.items()}
    assert kinds.pop("What 4?") is None  # half of a character is no reason to lose an answer
    assert set(kinds.values()) == {"ModelError"}, kinds
