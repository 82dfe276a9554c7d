"""Reads runs of LangSmith, as its client of 2026 lists them and its exports hold them, in JSON or JSON lines.

    {"id": ..., "trace_id": ..., "parent_run_id": ..., "run_type": "llm", "inputs": {"messages": ...},
     "outputs": {"generations": ...}, "start_time": ..., "extra": {"metadata": {"thread_id": ...}}}

Messages are those of OpenAI, or objects of LangChain.
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
    seconds,
    text_out,
    tool_call,
)

_KINDS: dict[str, Kind] = {
    "llm": "answer",
    "retriever": "retrieval",
    "tool": "tool",
    "embedding": "part",
    "prompt": "part",
    "parser": "part",
}
_SESSIONS = ("session_id", "thread_id", "conversation_id")
_DEEPEST = 20


def is_langsmith(value: Any) -> bool:
    """Whether an object is a run of LangSmith."""
    return isinstance(value, dict) and "run_type" in value and "id" in value


def span_in(number: int, row: dict[str, Any]) -> Seen:
    """Read one run; raises DataError without its ids."""
    id = name_in(row.get("id"))
    trace = name_in(row.get("trace_id")) or (None if row.get("parent_run_id") else id)
    if trace is None or id is None:
        raise DataError("a run without id or trace_id")
    kind = _KINDS.get(str(row.get("run_type")).lower(), "whole")
    given, gave = plain(row.get("inputs")), plain(row.get("outputs"))
    metadata = value_at(row, "extra", "metadata")
    usage = value_at(gave, "usage_metadata")
    tokens = {
        "prompt_tokens": row.get("prompt_tokens") or value_at(usage, "input_tokens"),
        "completion_tokens": row.get("completion_tokens") or value_at(usage, "output_tokens"),
    }
    error = row.get("error")
    return Seen(
        number=number,
        trace=trace,
        id=id,
        parent=name_in(row.get("parent_run_id")),
        kind=kind,
        name=str(row.get("name") or ""),
        start=seconds(row.get("start_time")) or 0.0,
        end=seconds(row.get("end_time")),
        said=messages_in(given or None),
        answer=None if error else text_out(gave or None),
        documents=documents_in(gave) if kind == "retrieval" and gave else None,
        tool=tool_call(row.get("name"), given, gave) if kind == "tool" else None,
        labels=labels_in({"name": row.get("name"), "metadata": metadata}),
        error=str(error) if error else None,
        session=next(filter(None, (name_in(value_at(metadata, key)) for key in _SESSIONS)), None),
        facts=known(
            {
                "model": value_at(metadata, "ls_model_name"),
                "usage": known(tokens),
                "cost": row.get("total_cost"),
            }
        ),
    )


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value with the objects of LangChain as plain ones, and a list of one list as that list."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list):
            return plain(value[0], depth + 1)
        return [plain(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("lc") and isinstance(value.get("kwargs"), dict):
        value = value["kwargs"]
    found = {key: plain(inner, depth + 1) for key, inner in value.items()}
    if "content" in found and "role" not in found and isinstance(found.get("type"), str):
        found["role"] = found["type"]
    return found
