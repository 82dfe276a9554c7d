"""A run as spans, which a receiver reads with OpenTelemetry's own protobuf."""

from __future__ import annotations

import json

import pytest

from fathoms.errors import ServerError, UsageError
from fathoms.extras.exchange.writing.otel import send_spans
from tests.support.otlp_receiver import attributes, otlp_receiver
from tests.support.report_runs import example_runs
from tests.support.run_in_memory import changed

ANSWERED = 1767323046  # 2026-01-02T03:04:06Z, when every answer of the made runs was there


def test_questions_and_stages_become_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = example_runs(["alpha"], questions=1)
    with otlp_receiver() as received:
        assert send_spans(run, received.address) == 3
        top, retrieval, chat = received.spans
        assert [span.name for span in received.spans] == [
            "invoke_workflow alpha",
            "retrieval made",
            "chat a-model",
        ]
        # 0.1 s of retrieval, then 0.4 s of generation, until the answer was there
        assert [(span.start_time_unix_nano, span.end_time_unix_nano) for span in received.spans] == [
            (int((ANSWERED - 0.5) * 1e9), ANSWERED * 10**9),
            (int((ANSWERED - 0.5) * 1e9), int((ANSWERED - 0.4) * 1e9)),
            (int((ANSWERED - 0.4) * 1e9), ANSWERED * 10**9),
        ]
        assert {span.trace_id for span in received.spans} == {top.trace_id}
        assert (top.parent_span_id, retrieval.parent_span_id, chat.parent_span_id) == (
            b"",
            top.span_id,
            top.span_id,
        )
        assert [span.kind for span in received.spans] == [1, 3, 3]  # INTERNAL, CLIENT, CLIENT
        found = attributes(chat)
        assert found["gen_ai.operation.name"] == "chat"
        assert found["gen_ai.request.model"] == "a-model"
        assert found["gen_ai.usage.input_tokens"] == 300
        assert found["gen_ai.response.finish_reasons"] == ["stop"]
        assert attributes(retrieval)["gen_ai.operation.name"] == "retrieval"
        scores = {attributes(event)["gen_ai.evaluation.name"]: attributes(event) for event in top.events}
        assert scores["correctness"]["gen_ai.evaluation.score.value"] == 1.0
        assert "door 0 cost" not in repr(received.spans)  # no text without being told to
        assert "crowns" not in repr(received.spans)
        assert received.paths == ["/v1/traces"]

        ids = [(span.trace_id, span.span_id) for span in received.spans]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", received.address)
        assert send_spans(run, content=True) == 3
        assert [(span.trace_id, span.span_id) for span in received.spans[3:]] == ids  # the same again
        _, retrieval, chat = received.spans[3:]
        documents = json.loads(attributes(retrieval)["gen_ai.retrieval.documents"])
        assert [(one["id"], one["score"]) for one in documents] == [
            ("mill.pdf#page=2", 0.5),
            ("other.pdf#page=1", 0.25),
        ]
        assert json.loads(attributes(chat)["gen_ai.output.messages"]) == [
            {
                "role": "assistant",
                "parts": [{"type": "text", "content": "It is 41.5 crowns, says alpha."}],
            }
        ]


def test_reading_the_documents_is_a_trace_of_its_own() -> None:
    (run,) = example_runs(["alpha"], questions=1)
    times = {
        "parse": {"seconds": 2.0, "made": 3},
        "embed": {"seconds": 0.5, "made": 10, "calls": 1, "tokens": 400},
    }
    config = {"embed": {"kind": "openai", "model": "small"}}
    manifest = {**run.manifest_json, "config": config, "data": {"ingest": {"times": times}}}
    with otlp_receiver() as received:
        assert send_spans(changed(run, manifest=manifest), received.address) == 6
        top, parse, embed = received.spans[:3]
        assert [span.name for span in (top, parse, embed)] == ["ingest alpha", "parse", "embeddings small"]
        result = ANSWERED - 1  # when the run was made
        assert [top.start_time_unix_nano, parse.end_time_unix_nano, embed.end_time_unix_nano] == [
            int((result - 2.5) * 1e9),
            int((result - 0.5) * 1e9),
            result * 10**9,
        ]
        found = attributes(embed)
        assert found["gen_ai.operation.name"] == "embeddings"
        assert (found["gen_ai.usage.input_tokens"], found["fathoms.items"]) == (400, 10)
        assert top.trace_id not in {span.trace_id for span in received.spans[3:]}
        elsewhere = {**manifest, "created": "yesterday"}  # of somebody else's run: it then began in 1970
        assert send_spans(changed(run, manifest=elsewhere), received.address) == 6
        assert received.spans[6].end_time_unix_nano == int(2.5e9)


def test_failures_have_their_kind_and_a_collector_that_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (run,) = example_runs(["gamma"], questions=2)
    with otlp_receiver() as received:
        send_spans(run, received.address)
        failed = [span for span in received.spans if span.status.code == 2]
        assert [(span.name, attributes(span)["error.type"]) for span in failed] == [
            ("invoke_workflow gamma", "Timeout"),
            ("chat a-model", "Timeout"),
        ]
        received.status = 400
        with pytest.raises(ServerError, match=r"the collector at http://127.*took no spans: .*400"):
            send_spans(run, received.address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    with pytest.raises(ServerError, match=r"took no spans: HTTPConnectionPool.*Connection refused"):
        send_spans(run, received.address)  # which has ended
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        send_spans(run)
    with pytest.raises(UsageError, match="use http://HOST:4318"):
        send_spans(run, "localhost:4317")
