"""Trace ids that go along with a question, so that the spans of a service hang under those of fathoms.

The header is that of W3C Trace Context (https://www.w3.org/TR/trace-context/), version 00:
`traceparent: 00-TRACE-SPAN-FLAGS` with 32, 16 and 2 hexadecimal digits. A trace that has begun around fathoms
is taken up from the environment variables TRACEPARENT and TRACESTATE.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass

from fathoms.types import TraceIds

_PARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_SAMPLED = "01"


@dataclass(frozen=True)
class Around:
    """The span around a run; `flags` say whether it is recorded, and `state` is for vendors."""

    trace_id: str
    span_id: str
    flags: str
    state: str = ""


def around(text: str | None = None, state: str | None = None) -> Around | None:
    """Return the span that a `traceparent` names, by default that of the environment; `None` where it is
    missing or not valid, as the standard asks for."""
    found = _PARENT.fullmatch((os.environ.get("TRACEPARENT", "") if text is None else text).strip())
    if found is None or found["version"] == "ff" or (found["version"] == "00" and found["more"]):
        return None
    if not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    given = (os.environ.get("TRACESTATE", "") if state is None else state).strip()
    vendor_state = given if given.isascii() and given.isprintable() and len(given) <= 512 else ""
    return Around(found["trace"], found["span"], found["flags"], vendor_state)


def new_ids(above: Around | None) -> TraceIds:
    """Draw the ids of a question, in the trace around the run if there is one."""
    trace = above.trace_id if above else secrets.token_hex(16)
    return TraceIds(trace_id=trace, span_id=secrets.token_hex(8), parent_id=above and above.span_id)


def trace_headers(ids: TraceIds, above: Around | None) -> dict[str, str]:
    """Return the headers of a request with these ids."""
    flags = above.flags if above else _SAMPLED
    state = {"tracestate": above.state} if above and above.state else {}
    return {"traceparent": f"00-{ids.trace_id}-{ids.span_id}-{flags}", **state}
