"""An example service that answers questions from passages, traced by real instrumentations of the OpenAI
client, and its traces in the JSON of OTLP, as the file exporter of a collector writes them.

    python service.py openinference http://127.0.0.1:8000/v1 traces.jsonl 1000

needs an environment of its own with openai, opentelemetry-sdk, opentelemetry-exporter-otlp-proto-http and
one of openinference-instrumentation-openai, opentelemetry-instrumentation-openai (OpenLLMetry, here
`openllmetry`) and opentelemetry-instrumentation-openai-v2 (here `genai`). The model is any server with
OpenAI's API. The searches have the names of OpenInference, as its instrumentations of retrievers write
them, or those of the GenAI conventions.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

INSTRUMENTATIONS = {
    "openinference": "openinference.instrumentation.openai",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "genai": "opentelemetry.instrumentation.openai_v2",
}
TOPICS = ("mast", "lift", "door", "roof")
MAIL = "ada@example.org"
IDS = ("traceId", "spanId", "parentSpanId")


def ids_in_hex(value: Any) -> Any:
    """Return the JSON of protobuf with ids in hexadecimal, as OTLP wants them."""
    if isinstance(value, dict):
        return {
            key: base64.b64decode(inner).hex()
            if key in ("traceId", "spanId", "parentSpanId")
            else ids_in_hex(inner)
            for key, inner in value.items()
        }
    return [ids_in_hex(inner) for inner in value] if isinstance(value, list) else value


def provider_to(file: Path) -> Any:
    """Return a provider of tracers whose spans are appended to a file."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class ToFile(SpanExporter):
        def export(self, spans: Any) -> Any:
            with file.open("a") as out:
                out.write(json.dumps(ids_in_hex(MessageToDict(encode_spans(spans)))) + "\n")
            return SpanExportResult.SUCCESS

    provider = TracerProvider(resource=Resource.create({"service.name": "towers"}))
    provider.add_span_processor(BatchSpanProcessor(ToFile(), max_queue_size=20_000))
    return provider


def tracer_of(kind: str, file: Path) -> Any:
    """Return the provider of tracers of the service, and instrument the client."""
    provider = provider_to(file)
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    instrumentor = import_module(INSTRUMENTATIONS[kind]).OpenAIInstrumentor
    instrumentor().instrument(tracer_provider=provider)
    return provider


def searched(span: Any, kind: str, question: str, passage: str, document: str) -> None:
    """Write what a search was given and found to its span."""
    if kind == "openinference":
        span.set_attribute("openinference.span.kind", "RETRIEVER")
        span.set_attribute("input.value", question)
        span.set_attribute("retrieval.documents.0.document.content", passage)
        span.set_attribute(
            "retrieval.documents.0.document.metadata", json.dumps({"source": document, "page": 1})
        )
        return
    span.set_attribute("gen_ai.operation.name", "retrieval")
    span.set_attribute("gen_ai.retrieval.query.text", question)
    documents = [{"content": passage, "id": document, "score": 1.0}]
    span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))


def main(kind: str, address: str, file: Path, count: int) -> None:
    """Answer so many questions."""
    provider = tracer_of(kind, file)
    import openai

    client, tracer = openai.OpenAI(base_url=address, api_key="none"), provider.get_tracer("towers")
    for at in range(count):
        topic = TOPICS[at % len(TOPICS)]
        question = f"How tall is {topic} number {at}? Please write to {MAIL}."
        passage = "Nothing of use." if topic == "roof" else f"The {topic} number {at} is {at} m tall."
        with tracer.start_as_current_span(
            "GET /ask", attributes={"http.route": "/tall" if at % 3 else "/wide"}
        ):
            with tracer.start_as_current_span("search") as span:
                searched(span, kind, question, passage, f"{topic}.pdf")
            client.chat.completions.create(
                model="strict",
                messages=[
                    {"role": "system", "content": f"Answer from this passage:\n{passage}"},
                    {"role": "user", "content": question},
                ],
            )
    provider.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
