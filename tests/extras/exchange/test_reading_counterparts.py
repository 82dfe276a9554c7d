"""Files that other programs write, written by these programs themselves: Ragas, and LlamaIndex with the
instrumentation of OpenInference, whose spans Phoenix stores. Each test runs where its packages are installed.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.runs.run import Run
from fathoms.types import Hit
from tests.support.project import write_pdf

TEXTS = (
    "The Varn lighthouse is 41.5 metres tall and stands on the northern cliff of the island.",
    "Its lamp was lit for the first time in the year 1887, and went out in 1962 for good.",
)
ELSEWHERE = "No document of this folder holds the text which is retrieved here beside the others."
PLACES = [("varn.pdf", (1,)), ("varn.pdf", (2,)), (None, ())]


@pytest.fixture
def pdfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pdfs").mkdir()
    write_pdf(tmp_path / "pdfs" / "varn.pdf", TEXTS)
    write_pdf(tmp_path / "pdfs" / "other.pdf", ["The harbour of Lune was closed by a storm in 1931."])
    return tmp_path / "pdfs"


def places(*arguments: str) -> list[tuple[str | None, tuple[int, ...]]]:
    """Import a file as the user does, and return the places of the hits of its first question by their
    texts."""
    assert main(["import", *arguments]) == 0
    hits: tuple[Hit, ...] = next(iter(Run.open("latest", Path("runs")).records.all())).hits or ()
    found = {hit.chunk.text: (hit.chunk.document, hit.chunk.pages) for hit in hits}
    return [found[text] for text in (*TEXTS, ELSEWHERE) if text in found]


@pytest.mark.parametrize("kind", ["answers", "hits-of-json", "otel"])
def test_texts_are_placed_in_the_documents_that_are_given(
    pdfs: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Texts alone, and texts with the key of a node; without documents, no place is made up."""
    key = "be95b857-0d6a-4172-bf11-f77f3a7e25ad"
    Path("q.jsonl").write_text('{"id": "q", "question": "How tall?", "category": "A", "answers": [["41.5"]]}')
    texts = [*TEXTS, ELSEWHERE]
    arguments = [kind, "rows.jsonl", "--questions", "q.jsonl"]
    if kind == "answers":
        rows: Any = {"id": "q", "answer": "41.5", "contexts": [texts[0], {"text": texts[1]}, texts[2]]}
    elif kind == "otel":
        documents = [{"document": {"id": key, "content": text}} for text in texts]
        span = {"context": {"trace_id": "t", "span_id": "1"}, "start_time": "2026-01-01T00:00:00Z"}
        of_it = {"parent_id": "1", "span_kind": "RETRIEVER", "context": {"trace_id": "t", "span_id": "2"}}
        rows = [
            {**span, "span_kind": "CHAIN", "attributes": {"input.value": "How tall?", "output.value": "4"}},
            {**span, **of_it, "attributes": {"retrieval.documents": documents}},
        ]
    else:
        arguments[0] = "hits"
        rows = {"id": "q", "hits": [{"document": key, "text": text} for text in texts]}
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])))
    assert places(*arguments, "--documents", str(pdfs)) == PLACES
    said = capfd.readouterr().err
    assert "2 contexts without a document were placed by their texts" in said
    assert "1 contexts name no document" in said
    assert places(*arguments) == [(None, ())] * 3
    assert "--documents FOLDER looks for their texts" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "json"])
def test_ragas_writes_texts_without_places(pdfs: Path, suffix: str) -> None:
    ragas = pytest.importorskip("ragas")
    sample = ragas.SingleTurnSample(
        user_input="How tall is it?", response="41.5 metres", retrieved_contexts=[*TEXTS, ELSEWHERE]
    )
    written = ragas.EvaluationDataset(samples=[sample])
    if suffix == "json":
        written.to_pandas().to_json("written.json", orient="records")
    else:
        getattr(written, f"to_{suffix}")(f"written.{suffix}")
    assert places("ragas", f"written.{suffix}") == [(None, ())] * 3
    assert places("ragas", f"written.{suffix}", "--documents", str(pdfs)) == PLACES


@pytest.mark.slow
def test_spans_of_llamaindex(pdfs: Path) -> None:
    """A node with the metadata of LlamaIndex's PDF reader has the page of its `page_label`; the id of a node
    without metadata is a key and no document."""
    instrumentation = pytest.importorskip("openinference.instrumentation.llama_index")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    core = pytest.importorskip("llama_index.core")
    from google.protobuf.json_format import MessageToDict
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import TextNode
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    instrumentor = instrumentation.LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        of_page = {"page_label": "1", "file_name": "varn.pdf", "file_path": "/data/varn.pdf"}
        nodes = [
            TextNode(text=TEXTS[0], metadata=of_page),
            *(TextNode(text=t) for t in (TEXTS[1], ELSEWHERE)),
        ]
        index = core.VectorStoreIndex(nodes, embed_model=core.MockEmbedding(8))
        index.as_query_engine(llm=MockLLM(max_tokens=9), similarity_top_k=3).query("How tall is it?")
    finally:
        instrumentor.uninstrument()
    spans = memory.get_finished_spans()
    Path("otlp.json").write_text(json.dumps(_hex(MessageToDict(encode_spans(spans)))))
    Path("phoenix.jsonl").write_text(
        "\n".join(json.dumps(_as_phoenix(json.loads(s.to_json()))) for s in spans)
    )
    for name in ("otlp.json", "phoenix.jsonl"):
        assert places("otel", name) == [("varn.pdf", (1,)), (None, ()), (None, ())]
        assert places("otel", name, "--documents", str(pdfs)) == PLACES


def _hex(value: Any) -> Any:
    """Return spans with their ids as OTLP writes them in JSON."""
    if isinstance(value, list):
        return [_hex(one) for one in value]
    ids = ("traceId", "spanId", "parentSpanId")
    return (
        {key: base64.b64decode(one).hex() if key in ids else _hex(one) for key, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def _as_phoenix(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span of the SDK as the rows of Phoenix's client have it."""
    return {
        "name": span["name"],
        "context": {"trace_id": span["context"]["trace_id"], "span_id": span["context"]["span_id"]},
        "parent_id": span["parent_id"],
        "span_kind": span["attributes"].get("openinference.span.kind"),
        "start_time": span["start_time"],
        "end_time": span["end_time"],
        "status_code": "OK",
        "attributes": span["attributes"],
    }
