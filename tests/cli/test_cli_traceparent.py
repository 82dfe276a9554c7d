"""The spans of a service hang under those of fathoms: `traceparent` goes along, and the run keeps its ids."""

from __future__ import annotations

import re
import socket
import subprocess
from typing import Any

import pytest

from fathoms.pipeline.external.tracing import Around, around
from tests.support.otlp_receiver import attributes, otlp_receiver
from tests.support.project import Project
from tests.support.raw_service import Service, answer, service

# the example of the standard: https://www.w3.org/TR/trace-context/#examples-of-http-traceparent-headers
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONFIG = """\
name: mine
data: {{questions: questions.json, documents: pdfs}}
execution: {{first_wait: 0.01}}
pipeline: {{kind: http, url: {address}/ask, timeout: 5{more}}}
"""


def sent(one_service: Service, name: str) -> list[str]:
    """The values of a header in all requests."""
    return [
        value for head, _ in one_service.requests for value in re.findall(rf"(?im)^{name}: (\S+)\r?$", head)
    ]


def run(project: Project, one_service: Service, more: str = "") -> subprocess.CompletedProcess[str]:
    project.write("mine.yaml", CONFIG.format(address=one_service.address, more=more))
    one_service.requests.clear()
    done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_the_ids_that_a_service_was_sent_are_those_of_the_exported_span(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = []

    def act(connection: socket.socket, _: Any) -> None:
        status = busy.pop() if busy else "200 OK"
        connection.sendall(answer({"answer": "It is 41.5 m tall."}, status))

    with service(act) as server:
        monkeypatch.setenv("TRACEPARENT", f"00-{TRACE}-{PARENT}-01")
        monkeypatch.setenv("TRACESTATE", "congo=t61rcWkgMzE")
        run(project, server)
        headers = [
            re.fullmatch(rf"00-{TRACE}-([0-9a-f]{{16}})-01", one) for one in sent(server, "traceparent")
        ]
        spans = {found[1] for found in headers if found}
        assert len(headers) == len(spans) == 4  # one for each question
        assert sent(server, "tracestate") == ["congo=t61rcWkgMzE"] * 4

        with otlp_receiver() as received:
            done = project.fathoms("export", "otel", "latest", "--endpoint", received.address)
            assert done.stdout.endswith(": 10 spans sent\n"), done.stderr
        # the documents are parsed once, before any question, in a trace of their own
        answers = [span for span in received.spans if span.trace_id.hex() == TRACE]
        assert len(answers) == 8
        some_spans = [span for span in answers if span.name == "invoke_agent mine"]
        assert {span.span_id.hex() for span in some_spans} == spans
        above = {span.span_id: span for span in answers if span not in some_spans}
        assert {span.parent_span_id.hex() for span in above.values()} == {PARENT}
        assert all(span.parent_span_id in above for span in some_spans)
        assert attributes(some_spans[0])["gen_ai.operation.name"] == "invoke_agent"

        # without a trace around it, each question begins one, and keeps it when it is asked again
        monkeypatch.delenv("TRACEPARENT")
        busy.append("503 Busy")
        run(project, server)
        assert len(sent(server, "traceparent")) == 5
        assert len({one.split("-")[1] for one in sent(server, "traceparent")}) == 4
        assert sent(server, "tracestate") == []
        # a header of one's own stays as it is
        run(project, server, ", headers: {Traceparent: mine}")
        assert sent(server, "traceparent") == ["mine"] * 4
        assert '"trace"' not in (project.runs()[-1] / "journal.jsonl").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}-01\r\nX-Evil: 1",
    ],
)
def test_a_parent_that_the_standard_refuses_is_none(text: str) -> None:
    assert around(text) is None


def test_a_parent_of_a_later_version_is_read_and_a_state_with_line_breaks_is_not() -> None:
    assert around(f"cc-{TRACE}-{PARENT}-00-what-comes", "") == Around(TRACE, PARENT, "00")
    assert around(f"00-{TRACE}-{PARENT}-01", "a=1\r\nX: 1") == Around(TRACE, PARENT, "01")
