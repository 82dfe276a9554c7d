"""Reads spans in the JSON of OTLP, as the collector's file exporter writes it: `{"resourceSpans": [...]}`.

Names are those of the GenAI conventions of 2026, and of earlier ones as far as they hold texts on spans
(`gen_ai.prompt`, `gen_ai.completion`); spans of OpenInference are read as those of Phoenix, those of the SDKs
of Langfuse and LangSmith as theirs, and steps around calls by the names of OpenLLMetry (`traceloop.entity`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import numbers, value_at
from fathoms.extras.exchange.reading.traces import langfuse, langsmith, phoenix
from fathoms.extras.exchange.reading.traces.span import (
    Kind,
    Seen,
    documents_in,
    known,
    labels_in,
    loaded,
    messages_in,
    name_in,
    nested,
    text_out,
    tool_call,
)

_KINDS: dict[str, Kind] = {
    "chat": "answer",
    "text_completion": "answer",
    "generate_content": "answer",
    "retrieval": "retrieval",
    "embeddings": "part",
    "execute_tool": "tool",
}
_FAILED = (2, "STATUS_CODE_ERROR", "2")
_SESSIONS = ("session.id", "traceloop.association.properties.session_id")
_DETAILS = "gen_ai.client.inference.operation.details"
_SCORE = "gen_ai.evaluation.result"


def is_otlp(value: Any) -> bool:
    """Whether an object is a request of OTLP with traces."""
    return isinstance(value, dict) and ("resourceSpans" in value or "resource_spans" in value)


def spans_in(number: int, value: Any) -> Iterator[Seen | DataError]:
    """Yield the spans of a request, and an error in the place of each that cannot be read."""
    for resource in _list(value, "resourceSpans", "resource_spans"):
        shared = _attributes(_either(resource, "resource"))
        for scope in _list(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            for span in _list(scope, "spans"):
                try:
                    yield _span(number, span, shared)
                except DataError as error:
                    yield error


def _span(number: int, span: Any, shared: dict[str, Any]) -> Seen | DataError:
    """Read one span; `shared` are the attributes of its resource. Raises DataError without its ids."""
    trace, id = name_in(_either(span, "traceId", "trace_id")), name_in(_either(span, "spanId", "span_id"))
    if trace is None or id is None:
        raise DataError("a span without traceId or spanId")
    flat = _attributes(span)
    events = [one for one in _list(span, "events") if isinstance(one, dict)]
    for event in events:
        if event.get("name") == _DETAILS:
            flat = {**_attributes(event), **flat}
    status = span.get("status")
    message = value_at(status, "message") or flat.get("error.type") or "the span has the status of an error"
    common = {
        "trace": trace.lower(),
        "id": id.lower(),
        "parent": (name_in(_either(span, "parentSpanId", "parent_span_id")) or "").lower() or None,
        "name": str(span.get("name") or ""),
        "start": _nanoseconds(_either(span, "startTimeUnixNano", "start_time_unix_nano")) or 0.0,
        "end": _nanoseconds(_either(span, "endTimeUnixNano", "end_time_unix_nano")),
        "error": str(message) if value_at(status, "code") in _FAILED else None,
        "labels": labels_in({**shared, **flat}),
        "scores": {name: one for name, one in numbers(dict(_scores(events))).items() if one is not None},
    }
    if "openinference.span.kind" in flat:
        return phoenix.span_of(number, nested(flat), str(flat["openinference.span.kind"]), common)
    if "langfuse.observation.type" in flat or "langsmith.span.kind" in flat:
        return _of_sdk(number, flat, common)
    return _gen_ai(number, flat, common)


def _of_sdk(number: int, flat: dict[str, Any], common: dict[str, Any]) -> Seen | DataError:
    """Read a span of the SDK of Langfuse, or of LangSmith, as a row of its exports."""
    ids = {"id": common["id"], "trace_id": common["trace"], "name": common["name"]}
    times = {"start_time": common["start"] * 1000, "end_time": common["end"] and common["end"] * 1000}
    tree = nested(flat)
    if "langsmith.span.kind" in flat:
        texts = {key: tree.get("gen_ai", {}).get(key) for key in ("prompt", "completion")}
        usage = value_at(tree, "gen_ai", "usage")
        row = {
            "parent_run_id": common["parent"],
            "run_type": flat["langsmith.span.kind"],
            "inputs": loaded(texts["prompt"]),
            "outputs": loaded(texts["completion"]),
            "error": common["error"],
            "extra": {"metadata": value_at(tree, "langsmith", "metadata")},
            "prompt_tokens": value_at(usage, "input_tokens"),
            "completion_tokens": value_at(usage, "output_tokens"),
        }
        return langsmith.span_in(number, {**ids, **times, **row})
    found = value_at(tree, "langfuse", "observation")
    raw = value_at(tree, "langfuse", "trace", "metadata")  # texts are JSON there
    metadata = {
        key: one.strip('"') if isinstance(one, str) else one
        for key, one in (raw.items() if isinstance(raw, dict) else ())
    }
    row = {
        "parent_observation_id": common["parent"],
        "type": value_at(found, "type"),
        "input": value_at(found, "input"),
        "output": value_at(found, "output"),
        "level": "ERROR" if common["error"] else None,
        "status_message": common["error"],
        "provided_model_name": value_at(found, "model", "name"),
        "usage_details": value_at(found, "usage_details"),
        "metadata": metadata,
        "session_id": flat.get("session.id") or metadata.get("session_id"),
    }
    return langfuse.observation(number, {**ids, **times, **row})


def _gen_ai(number: int, flat: dict[str, Any], common: dict[str, Any]) -> Seen:
    """Read a span by the names of the GenAI conventions."""
    tree = value_at(nested(flat), "gen_ai") or {}
    operation = flat.get("gen_ai.operation.name")
    kind = _KINDS.get(str(operation), "whole") if operation else "answer" if tree.get("prompt") else "whole"
    query = value_at(tree, "retrieval", "query", "text")
    given = flat.get("gen_ai.input.messages") or value_at(tree, "input", "messages") or tree.get("prompt")
    gave = flat.get("gen_ai.output.messages") or value_at(tree, "output", "messages")
    if (entity := value_at(nested(flat), "traceloop", "entity")) and not given:
        given, gave = _of_entity(value_at(entity, "input")), _of_entity(value_at(entity, "output"))
        name = f"{operation} {common['name']}".lower()
        kind = "part" if "embedding" in name or "splitter" in name else kind
        searches = "retriev" in name
        if searches and (isinstance(gave, list) or value_at(gave, "documents") is not None):
            kind, query = "retrieval", given
            tree = {**tree, "retrieval": {"documents": gave}}
    usage = tree.get("usage")
    reasons = value_at(tree, "response", "finish_reasons")
    tokens = {
        "prompt_tokens": value_at(usage, "input_tokens"),
        "completion_tokens": value_at(usage, "output_tokens"),
    }
    return Seen(
        number=number,
        kind=kind,
        said=messages_in(query if kind == "retrieval" else given),
        answer=text_out(gave or tree.get("completion")),
        documents=documents_in(value_at(tree, "retrieval", "documents")),
        tool=tool_call(
            value_at(tree, "tool", "name") or common["name"],
            value_at(tree, "tool", "call", "arguments"),
            value_at(tree, "tool", "call", "result"),
        )
        if kind == "tool"
        else None,
        session=name_in(
            value_at(tree, "conversation", "id") or next(filter(None, map(flat.get, _SESSIONS)), None)
        ),
        facts=known(
            {
                "model": value_at(tree, "response", "model") or value_at(tree, "request", "model"),
                "usage": known(tokens),
                "stop_reason": reasons[0] if isinstance(reasons, list) and reasons else None,
            }
        ),
        **common,
    )


def _of_entity(value: Any) -> Any:
    """Return what went into a step, or came out of it, as OpenLLMetry has it of LangChain and LlamaIndex."""
    value = loaded(value)
    if isinstance(value, dict):
        keys = ("inputs", "outputs", "query_bundle", "str_or_query_bundle", "query_str")
        inner = next((value[key] for key in keys if value.get(key)), None)
        return langsmith.plain(value) if inner is None else _of_entity(inner)
    if isinstance(value, list):  # nodes of LlamaIndex
        nodes = [loaded(one) for one in value]
        return [
            {**one["node"], "score": one.get("score")}
            if isinstance(one, dict) and isinstance(one.get("node"), dict)
            else one
            for one in nodes
        ]
    return value


def _scores(events: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the scores that stand as events of a span."""
    for event in events:
        found = _attributes(event) if event.get("name") == _SCORE else {}
        name, value = found.get("gen_ai.evaluation.name"), found.get("gen_ai.evaluation.score.value")
        if isinstance(name, str):
            yield name, value


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a span or an event by name."""
    return _pairs(_list(value, "attributes"))


def _pairs(found: list[Any]) -> dict[str, Any]:
    """Return the values of a list of `KeyValue` by their keys."""
    return {
        str(one["key"]): _value(one.get("value")) for one in found if isinstance(one, dict) and "key" in one
    }


def _value(value: Any) -> Any:
    """Return an `AnyValue` as a plain value. Whole numbers are texts in this JSON."""
    if not isinstance(value, dict) or not value:
        return None
    kind, inner = next(iter(value.items()))
    if kind in ("intValue", "int_value"):
        return int(inner) if str(inner).lstrip("-").isdecimal() and len(str(inner)) < 25 else None
    if kind in ("arrayValue", "array_value"):
        return [_value(one) for one in _list(inner, "values")]
    if kind in ("kvlistValue", "kvlist_value"):
        return _pairs(_list(inner, "values"))
    return inner


def _nanoseconds(value: Any) -> float | None:
    """Return a time in nanoseconds, a number or a text, as seconds."""
    text = str(value)
    return int(text) / 1e9 if text.isdecimal() and len(text) < 25 else None


def _either(value: Any, *keys: str) -> Any:
    """Return the value under the first key that an object has."""
    return next((value[key] for key in keys if isinstance(value, dict) and key in value), None)


def _list(value: Any, *keys: str) -> list[Any]:
    """Return the list under the first key that an object has, empty if there is none."""
    found = _either(value, *keys)
    return found if isinstance(found, list) else []
