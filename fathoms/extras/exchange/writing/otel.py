"""Sends the spans of a run to an OpenTelemetry collector, by OTLP over HTTP."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any
from urllib.parse import urlsplit

from fathoms import __version__
from fathoms.errors import MissingExtraError, ServerError, UsageError
from fathoms.extras.exchange.writing.otel_spans import Span, document_spans, spans_of
from fathoms.runs.run import Run
from fathoms.safety.masking import without_logins

_TOGETHER = 500
"""How many spans are sent in one request."""
_LOGGER = "opentelemetry"


def send_spans(
    run: Run, endpoint: str | None = None, scores: str | None = None, *, content: bool = False
) -> int:
    """Send the spans of the documents and of every question of a run; returns their number.

    `endpoint` is the address of a collector, to whose path `/v1/traces` is added if it has none; by default
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT. Headers come from
    OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError without an address, ServerError if the collector does not
    take the spans, MissingExtraError without the packages, and as `Run.profile` does.
    """
    profile = run.profile(scores)
    address = _address(endpoint)
    metrics = list(run.metrics(profile))
    question_spans = (spans_of(run, view, profile, metrics, content=content) for view in run.questions())
    spans = chain(document_spans(run), chain.from_iterable(question_spans))
    count = 0
    with _heard() as said:
        exporter, convert = _exporter(address), _Converter()
        try:
            while some := [convert(span) for span in islice(spans, _TOGETHER)]:
                try:
                    taken = exporter.export(some).name == "SUCCESS"
                except OSError as error:  # older releases leave what requests raises to the caller
                    taken, said = False, [str(error)]
                if not taken:
                    reason = _reason(said[0]) if said else "no reason given"
                    raise ServerError(f"the collector at {without_logins(address)} took no spans: {reason}")
                count += len(some)
        finally:
            exporter.shutdown()
    return count


def _reason(logged: str) -> str:
    """Shorten the message that the exporter logs before it tries again."""
    return without_logins(logged.split(" encountered while ")[0].removeprefix("Transient error ")[:500])


def _address(endpoint: str | None) -> str:
    """Return the address of the traces; raises UsageError if there is none."""
    traces = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if endpoint is None and traces:
        return traces
    base = endpoint or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not base:
        raise UsageError("name the address of the collector by --endpoint or OTEL_EXPORTER_OTLP_ENDPOINT")
    if urlsplit(base).scheme not in ("http", "https"):
        raise UsageError(f"--endpoint {without_logins(base)}: use http://HOST:4318 or https://...")
    own_path = endpoint is not None and urlsplit(base).path.strip("/")
    return base if own_path else f"{base.rstrip('/')}/v1/traces"


def _exporter(address: str) -> Any:
    """Make the exporter of OpenTelemetry's SDK; raises MissingExtraError."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise MissingExtraError("opentelemetry-exporter-otlp-proto-http", "otel", "this export") from error
    return OTLPSpanExporter(endpoint=address)


class _Converter:
    """Makes spans of the SDK."""

    def __init__(self) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self._resource = Resource({"service.name": "fathoms", "service.version": __version__})
        self._scope = InstrumentationScope("fathoms", __version__)

    def __call__(self, span: Span) -> Any:
        """Return a span as one of OpenTelemetry's SDK."""
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.trace import SpanKind, Status, StatusCode

        failed = {"error.type": span.error} if span.error else {}
        return ReadableSpan(
            span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes={**span.attributes, **failed},
            events=[Event(name, attributes, span.end) for name, attributes in span.events],
            kind=SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
        )


def _context(trace_id: str, span_id: str) -> Any:
    """Return the context of a span by its ids."""
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


@contextmanager
def _heard() -> Iterator[Sequence[str]]:
    """Collect what the exporter logs, instead of printing it."""
    said: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, handler = logging.getLogger(_LOGGER), Keep()
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
