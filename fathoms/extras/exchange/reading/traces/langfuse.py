"""Reads observations of Langfuse: the rows of its exports (blob storage, tables, API), and the JSON of one
trace (`trace-ID.json`), as its documentation describes them in 2026.

    {"id": ..., "trace_id": ..., "parent_observation_id": ..., "type": "GENERATION", "input": ...,
     "output": ..., "start_time": ..., "provided_model_name": ..., "usage_details": {"input": 812}}

The names may be in camel case too (`traceId`), as in the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import numbers, value_at
from fathoms.extras.exchange.reading.traces.span import (
    Kind,
    Seen,
    documents_in,
    known,
    labels_in,
    loaded,
    messages_in,
    name_in,
    seconds,
    text_out,
    tool_call,
)
from fathoms.types import Scalar

_KINDS: dict[str, Kind] = {
    "GENERATION": "answer",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "part",
    "TOOL": "tool",
    "EVENT": "part",
    "EVALUATOR": "part",
    "GUARDRAIL": "part",
}


_GROUPING = ("metadata", "environment", "release", "version", "name")


def is_langfuse(value: Any) -> bool:
    """Whether an object is an observation of Langfuse, or a trace."""
    if not isinstance(value, dict):
        return False
    keys = {_snake(key) for key in value}
    return {"trace_id", "type"} <= keys or "observations" in keys or {"id", "input", "output"} <= keys


def spans_in(number: int, value: dict[str, Any]) -> Iterator[Seen | DataError]:
    """Yield the spans of a row: of a trace, itself and its observations."""
    row = {_snake(key): inner for key, inner in value.items()}
    if "type" in row and "trace_id" in row:
        yield observation(number, row)
        return
    inner = row.get("trace")
    trace = {**row, **{_snake(key): one for key, one in inner.items()}} if isinstance(inner, dict) else row
    yield _trace(number, trace, _scores(row.get("scores")))
    observations = row.get("observations")
    for one in observations if isinstance(observations, list) else ():
        if isinstance(one, dict):
            own = {_snake(key): inner for key, inner in one.items()}
            own["trace_id"] = own.get("trace_id") or trace.get("id")
            yield observation(number, own)
        # a list of ids stands for observations that are not in the file


def observation(number: int, row: dict[str, Any]) -> Seen | DataError:
    """Read an observation with names in the case of the exports; an error in its place if it has no ids."""
    trace, id = name_in(row.get("trace_id")), name_in(row.get("id"))
    if trace is None or id is None:
        return DataError("an observation without id or trace_id")
    kind = _KINDS.get(str(row.get("type")).upper(), "whole")
    if kind == "whole" and "retriev" in str(row.get("name")).lower():
        kind = "retrieval"  # of SDKs before the type RETRIEVER
    failed = str(row.get("level")).upper() == "ERROR"
    usage = loaded(row.get("usage_details")) or loaded(row.get("usage"))
    tokens = {
        "prompt_tokens": value_at(usage, "input"),
        "completion_tokens": value_at(usage, "output"),
    }
    return Seen(
        number=number,
        trace=trace,
        id=id,
        parent=name_in(row.get("parent_observation_id")) or trace,
        kind=kind,
        name=str(row.get("name") or ""),
        start=seconds(row.get("start_time")) or 0.0,
        end=seconds(row.get("end_time")),
        said=messages_in(row.get("input") or None),
        answer=text_out(row.get("output") or None),
        documents=documents_in(row.get("output")) if kind == "retrieval" else None,
        tool=tool_call(row.get("name"), row.get("input"), row.get("output")) if kind == "tool" else None,
        labels=_labels(row),
        error=str(row.get("status_message") or "the level is ERROR") if failed else None,
        session=name_in(row.get("session_id")),
        facts=known(
            {
                "model": row.get("provided_model_name") or row.get("model"),
                "usage": known(tokens),
                "cost": row.get("total_cost") or row.get("calculated_total_cost"),
            }
        ),
    )


def _trace(number: int, row: dict[str, Any], scores: dict[str, float]) -> Seen | DataError:
    """Read a trace as the span around its observations."""
    id = name_in(row.get("id"))
    if id is None:
        return DataError("a trace without id")
    return Seen(
        number=number,
        trace=id,
        id=id,
        parent=None,
        kind="whole",
        name=str(row.get("name") or ""),
        start=seconds(row.get("timestamp")) or 0.0,
        said=messages_in(row.get("input") or None),
        answer=text_out(row.get("output") or None),
        session=name_in(row.get("session_id")),
        labels=_labels(row),
        scores=scores,
    )


def _labels(row: dict[str, Any]) -> dict[str, Scalar]:
    """Return the values by which a trace or an observation can be grouped."""
    return labels_in({name: loaded(row[name]) for name in _GROUPING if name in row})


def _scores(scores: Any) -> dict[str, float]:
    """Return the scores of a trace that are numbers."""
    named = {
        str(one["name"]): one.get("value")
        for one in (scores if isinstance(scores, list) else ())
        if isinstance(one, dict) and "name" in one
    }
    return {name: value for name, value in numbers(named).items() if value is not None}


def _snake(key: str) -> str:
    """Return a key in the case of the exports: `parentObservationId` is `parent_observation_id`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()
