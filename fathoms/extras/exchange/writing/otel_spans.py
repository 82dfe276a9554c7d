"""The spans of a run after the OpenTelemetry conventions for generative AI (`gen_ai.*`, 2026).

Each question is a span `invoke_workflow`, and below it stand its stages: `retrieval`, reranking, other calls
to models, and `chat` or, for a pipeline of one's own, `invoke_agent`. A run records how long the stages took
and when the answer was there, so they are placed one after another before that time. Ids are hashes of the
run, the question and the stage, or those that were sent to the pipeline, so the same run gives the same spans
again. https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fathoms.extras.exchange.writing.times import seconds_of
from fathoms.runs.run import Run
from fathoms.types import Reply
from fathoms.types.run.rows import ScoredQuestion, ScoredRepeat, ShownHit, ShownMessage

_PROVIDERS = {"google": "gcp.gemini"}
"""Kinds of models that the conventions call otherwise; `openai` and `anthropic` have the same name there."""
_SECOND = 10**9
_BEFORE = ("prompt", "rerank", "retrieve")
"""The stages before the answer, from the last to the first."""


@dataclass(frozen=True)
class Span:
    """One span. Times are nanoseconds since 1970, and ids hexadecimal digits. `is_call` says whether another
    service was called, and `error` is the kind of a failure."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    start: int
    end: int
    attributes: dict[str, Any]
    is_call: bool = False
    error: str | None = None
    events: tuple[tuple[str, dict[str, Any]], ...] = field(default=())


def spans_of(
    run: Run, view: ScoredQuestion, profile: str, metrics: Sequence[str], *, content: bool = False
) -> Iterator[Span]:
    """Yield the spans of one question: for each of its repeats one for the question, then its stages.

    The scores of the answer under a profile are events of the span of the question. Texts of questions,
    contexts and answers are left out without `content`, because they may be private.
    """
    for repeat in view.repeats:
        yield from _Question(run, view, repeat, content).spans(profile, metrics)


def document_spans(run: Run) -> Iterator[Span]:
    """Yield a span for the documents of a run and one for each stage of reading them, in a trace of its own,
    before the time at which the run was made; none if no stage was measured."""
    times = run.manifest.ingest.times
    if not times:
        return
    trace, top = _hash(f"{run.original_id}\ndocuments", 32), _hash(f"{run.original_id}\ndocuments top", 16)
    took_all = sum(took.seconds for took in times.values())
    end = _nanoseconds(run.manifest.created, took_all)
    at = start = end - int(_SECOND * took_all)
    yield Span(f"ingest {run.name}", trace, top, None, start, end, {"fathoms.run": run.original_id})
    embed = run.manifest.config.get("embed")
    options: dict[str, Any] = embed if isinstance(embed, dict) else {}
    kind = str(options.get("kind", "fathoms"))
    model = str(options.get("model") or kind)
    for stage, took in times.items():
        attributes: dict[str, Any] = {"fathoms.stage": stage, "fathoms.items": took.made}
        is_call = stage.startswith("embed")
        if is_call:
            attributes |= {
                "gen_ai.operation.name": "embeddings",
                "gen_ai.provider.name": _PROVIDERS.get(kind, kind),
                "gen_ai.request.model": model,
            }
            attributes |= {} if took.tokens is None else {"gen_ai.usage.input_tokens": took.tokens}
        start, at = at, at + int(_SECOND * took.seconds)
        name = f"embeddings {model}" if is_call else stage
        own = _hash(f"{run.original_id}\ndocuments {stage}", 16)
        yield Span(name, trace, own, top, start, at, attributes, is_call=is_call)


class _Question:
    """The spans of one repeat of a question."""

    def __init__(self, run: Run, view: ScoredQuestion, repeat: ScoredRepeat, content: bool) -> None:
        self._run, self._question, self._repeat, self._content = run, view.question, repeat, content
        self._key = f"{run.original_id}\n{view.question.id}\n{repeat.repeat}"
        sent = repeat.trace
        self._trace = sent.trace_id if sent else self._hash("trace", 32)
        self._top = self._hash("question", 16)
        self._above = sent.parent_id if sent else None
        self._end = _nanoseconds(repeat.finished or run.manifest.created, sum(repeat.timings.values()))
        config = run.manifest.config
        self._is_external = isinstance(config.get("pipeline"), dict)
        options = config.get("pipeline" if self._is_external else "generate")
        self._options: dict[str, Any] = options if isinstance(options, dict) else {}

    def spans(self, profile: str, metrics: Sequence[str]) -> Iterator[Span]:
        """Yield the span of the question, then those of its stages."""
        took = self._repeat.timings
        start = at = self._end - int(_SECOND * (took.get("generate") or 0))
        stages = [] if self._repeat.only_searched else [self._answer(at, self._end)]
        for stage in _BEFORE:
            if (seconds := took.get(stage)) is not None:
                start = at - int(_SECOND * seconds)
                stages.append(self._stage(stage, start, at))
                at = start
        name = self._run.pipeline
        named = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": name,
        }
        yield Span(
            f"invoke_workflow {name}",
            self._trace,
            self._top,
            self._above,
            start,
            self._end,
            named | self._facts(),
            error=self._repeat.error.kind if self._repeat.error else None,
            events=tuple(self._scores(profile, metrics)),
        )
        yield from reversed(stages)
        yield from self._calls(start)

    def _facts(self) -> dict[str, Any]:
        """Return the ids of the run and the question."""
        return {
            "fathoms.run": self._run.original_id,
            "fathoms.question": self._question.id,
            "fathoms.category": self._question.category,
            "fathoms.repeat": self._repeat.repeat,
        }

    def _scores(self, profile: str, metrics: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the value of each metric as an event of the conventions."""
        for metric in metrics:
            if (value := self._repeat.value(metric, profile)) is not None:
                named = {"gen_ai.evaluation.name": metric, "gen_ai.evaluation.score.value": float(value)}
                yield "gen_ai.evaluation.result", named

    def _stage(self, stage: str, start: int, end: int) -> Span:
        """Make the span of a stage before the answer."""
        if stage == "retrieve":
            data = self._run.summary.data or self._run.manifest.data.name or "documents"
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": data,
                **self._found(),
            }
            return self._below(f"retrieval {data}", stage, start, end, attributes, is_call=True)
        return self._below(stage, stage, start, end, {"fathoms.stage": stage})

    def _found(self) -> dict[str, Any]:
        """Return what was retrieved: the number of hits, and with content the query, places and texts."""
        hits = self._repeat.hits
        if hits is None:
            return {}
        found: dict[str, Any] = {"fathoms.retrieval.hits": len(hits)}
        if self._content:
            found["gen_ai.retrieval.query.text"] = self._question.text
            found["gen_ai.retrieval.documents"] = json.dumps([_document(hit) for hit in hits])
        return found

    def _answer(self, start: int, end: int) -> Span:
        """Make the span of the call that gave the answer."""
        kind = str(self._options.get("kind", "fathoms"))
        attributes: dict[str, Any] = {
            "gen_ai.provider.name": _PROVIDERS.get(kind, kind),
            "fathoms.attempts": self._repeat.attempts,
            **self._reply(),
        }
        if self._is_external:
            operation, name = "invoke_agent", self._run.name
            attributes |= {"gen_ai.agent.name": name, **self._found()}
        else:
            operation, name = "chat", str(self._options.get("model") or self._run.summary.model or kind)
            attributes["gen_ai.request.model"] = name
        attributes["gen_ai.operation.name"] = operation
        if self._content:
            attributes |= self._texts()
        error = self._repeat.error and self._repeat.error.kind
        return self._below(
            f"{operation} {name}", "generate", start, end, attributes, is_call=True, error=error
        )

    def _reply(self) -> dict[str, Any]:
        """Return what is known of the reply besides its text."""
        answer, seed = self._repeat.answer or Reply(text=""), self._repeat.seed
        usage = answer.usage
        known = {
            "gen_ai.request.seed": seed,
            "gen_ai.response.model": answer.model,
            "gen_ai.response.finish_reasons": [answer.stop_reason] if answer.stop_reason else None,
            "gen_ai.response.time_to_first_chunk": answer.first_token,
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "fathoms.cost": answer.cost,
            "fathoms.cached": answer.cached or None,
        }
        return {key: value for key, value in known.items() if value is not None}

    def _texts(self) -> dict[str, Any]:
        """Return the messages that were sent, and the answer."""
        sent = self._repeat.prompt.messages if self._repeat.prompt else ()
        messages = [(one.role, _text(one)) for one in sent] or [("user", self._question.text)]
        found = {"gen_ai.input.messages": _messages(messages)}
        if self._repeat.answer:
            found["gen_ai.output.messages"] = _messages([("assistant", self._repeat.answer.text)])
        return found

    def _calls(self, start: int) -> Iterator[Span]:
        """Yield the calls to models besides the answer, one after another from the start of the question."""
        for number, call in enumerate(self._repeat.calls):
            end = start + int(_SECOND * call.seconds)
            known = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": call.model,
                "gen_ai.usage.input_tokens": call.usage.prompt_tokens,
                "gen_ai.usage.output_tokens": call.usage.completion_tokens,
                "fathoms.purpose": call.purpose,
                "fathoms.cost": call.cost,
            }
            attributes = {key: value for key, value in known.items() if value is not None}
            yield self._below(
                f"chat {call.model or call.purpose}",
                f"call {number}",
                start,
                end,
                attributes,
                is_call=True,
                error=call.error and call.error.kind,
            )
            start = end

    def _below(
        self, name: str, part: str, start: int, end: int, attributes: dict[str, Any], **more: Any
    ) -> Span:
        """Make a span under that of the question. The ids of the request are those that were sent."""
        sent = self._repeat.trace if part == "generate" else None
        span = sent.span_id if sent else self._hash(part, 16)
        return Span(name, self._trace, span, self._top, start, end, attributes, **more)

    def _hash(self, part: str, digits: int) -> str:
        """Return an id that is the same each time."""
        return _hash(f"{self._key}\n{part}", digits)


def _hash(text: str, digits: int) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _document(hit: ShownHit) -> dict[str, Any]:
    """Return a hit as the conventions have it, with its text and its place."""
    page = f"#page={hit.pages[0]}" if hit.pages else ""
    return {"id": f"{hit.document or ''}{page}", "score": float(hit.score), "content": hit.text}


def _messages(messages: Sequence[tuple[str, str]]) -> str:
    """Return messages in the JSON of the conventions."""
    return json.dumps(
        [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages],
        ensure_ascii=False,
    )


def _text(message: ShownMessage) -> str:
    """Return the text of a message, with its pictures and files by name."""
    return "\n".join([*message.images, *(str(file.document) for file in message.files), message.text])


def _nanoseconds(stamp: str | None, took: float) -> int:
    """Convert a time in ISO 8601, at which something that took so many seconds had ended. Where none is known
    it began in 1970, because no span begins before."""
    return int(max(seconds_of(stamp) or 0, took) * _SECOND)
