"""Imports traces of applications: GenAI spans of OpenTelemetry, exports of Langfuse, LangSmith, Phoenix."""

from __future__ import annotations

from fathoms.extras.exchange.reading.traces.reading import read_traces

__all__ = ["read_traces"]
