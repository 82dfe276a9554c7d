"""Reads spans of Phoenix (Arize), as its REST interface and clients of 2026 return them, or as a data frame
of its spans is saved as JSON; the attributes are those of OpenInference.

    {"name": ..., "context": {"trace_id": ..., "span_id": ...}, "span_kind": "RETRIEVER", "parent_id": ...,
     "start_time": ..., "end_time": ..., "status_code": "OK", "attributes": {"input.value": ...}}
"""

from __future__ import annotations

from typing import Any

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import value_at
from fathoms.extras.exchange.reading.traces.span import (
    Kind,
    Seen,
    documents_in,
    known,
    labels_in,
    messages_in,
    name_in,
    nested,
    seconds,
    text_out,
    tool_call,
)

_KINDS: dict[str, Kind] = {
    "LLM": "answer",
    "RETRIEVER": "retrieval",
    "RERANKER": "rerank",
    "EMBEDDING": "part",
    "TOOL": "tool",
    "GUARDRAIL": "part",
    "EVALUATOR": "part",
}


def is_phoenix(value: Any) -> bool:
    """Whether an object is a span of Phoenix."""
    return isinstance(value, dict) and (isinstance(value.get("context"), dict) or "context.span_id" in value)


def span_in(number: int, value: dict[str, Any]) -> Seen:
    """Read one span; raises DataError without its ids."""
    row = nested(value)
    trace, id = (name_in(value_at(row, "context", key)) for key in ("trace_id", "span_id"))
    if trace is None or id is None:
        raise DataError("a span without context.trace_id or context.span_id")
    tree = row.get("attributes")
    tree = tree if isinstance(tree, dict) else {}
    status = row.get("status_code")
    message = row.get("status_message") or "the span has the status of an error"
    common = {
        "trace": trace,
        "id": id,
        "parent": name_in(row.get("parent_id")),
        "name": str(row.get("name") or ""),
        "start": seconds(row.get("start_time")) or 0.0,
        "end": seconds(row.get("end_time")),
        "error": str(message) if status == "ERROR" else None,
        "labels": labels_in(tree),
    }
    kind = row.get("span_kind") or value_at(tree, "openinference", "span", "kind") or ""
    return span_of(number, tree, str(kind), common)


def span_of(number: int, tree: dict[str, Any], kind: str, common: dict[str, Any]) -> Seen:
    """Make a span of its attributes by the names of OpenInference."""
    llm = tree.get("llm")
    documents = value_at(tree, "retrieval", "documents")
    if (reranked := value_at(tree, "reranker", "output_documents")) is not None:
        documents = reranked
    tokens = {
        "prompt_tokens": value_at(llm, "token_count", "prompt"),
        "completion_tokens": value_at(llm, "token_count", "completion"),
    }
    if isinstance(tokens["prompt_tokens"], dict):  # beside its details
        tokens["prompt_tokens"] = tokens["prompt_tokens"].get("")
    said = messages_in(value_at(llm, "input_messages")) or messages_in(value_at(tree, "input", "value"))
    answer = text_out(value_at(llm, "output_messages"))
    return Seen(
        number=number,
        kind=_KINDS.get(kind.upper(), "whole"),
        said=said,
        answer=text_out(value_at(tree, "output", "value")) if answer is None else answer,
        documents=documents_in(documents),
        tool=tool_call(
            value_at(tree, "tool", "name") or common["name"],
            value_at(tree, "input", "value"),
            value_at(tree, "output", "value"),
        )
        if kind.upper() == "TOOL"
        else None,
        session=name_in(value_at(tree, "session", "id")),
        facts=known(
            {
                "model": value_at(llm, "model_name"),
                "usage": known(tokens),
                "cost": value_at(llm, "cost", "total"),
            }
        ),
        **common,
    )
