"""External pipelines behind HTTP: JSON requests, and JSON answers at once or as a stream.

Every question opens its own connection. A kept-alive connection may be closed by the service just as it is
used, which would count as a failure of the question. Redirects are not followed, because headers may hold
keys. Replies are never cached.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, model_validator

from fathoms.component import Loads
from fathoms.config import Key
from fathoms.errors import ModelError, NoAnswerError, RateLimitError, ServerError
from fathoms.models.calling.retry_after import retry_after_seconds
from fathoms.models.options import without_secrets
from fathoms.models.wire import DONE
from fathoms.pipeline.external.answer import Answer
from fathoms.pipeline.external.body import beginning, events, parsed, whole
from fathoms.pipeline.external.external_pipeline import Ask, ExternalPipeline, PipelineReply
from fathoms.pipeline.external.mapping import Response, Rounds, reported_refusal
from fathoms.pipeline.external.reading import (
    Reading,
    ServiceVersion,
    Unmatched,
    VersionInReply,
    named_paths,
)
from fathoms.pipeline.external.request import (
    Headers,
    ServiceUrl,
    Template,
    filled,
    mask,
    parts_of,
    places,
    refuse_secrets,
    sent_headers,
    variables,
)
from fathoms.pipeline.external.tracing import around, new_ids, trace_headers
from fathoms.safety.masking import Mask
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.safety.transport import async_client, fetch, in_time, tls_failure
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Document, Question, TraceIds

if TYPE_CHECKING:
    import httpx

_CHECK_SECONDS = 10
_NOTE = "the service keeps its own documents: nothing is ingested here"


_QUESTION: JsonValue = {"question": "{question}"}


class Http(ExternalPipeline):
    """A service that receives one HTTP request per question."""

    neutral: ClassVar[frozenset[str]] = frozenset({"headers", "timeout", "max_concurrency", "health"})

    loads: ClassVar[Mapping[str, Loads]] = {"url": Loads("server")}

    kind: Literal["http"] = "http"
    url: ServiceUrl
    """Full URL that questions are sent to."""
    preset: Literal["openai-chat"] | None = None
    """Known format of request and response; keys given under `request` and `response` override it."""
    model: str | None = None
    """Model name that replaces `{model}` in the request."""
    method: Literal["POST", "PUT", "GET"] = "POST"
    """HTTP method. GET sends the request as the query string."""
    headers: Headers = Field(default_factory=dict)
    """Headers of every request. Give keys as `${NAME}`: the environment variable is read when the headers are
    sent, and its value is never written down."""
    request: Template = Field(default=_QUESTION)
    """JSON body of the request. In its texts, `{question}`, `{files}`, `{id}`, `{category}` and `{model}` are
    filled in and `${NAME}` is replaced by that environment variable; the text `"{files}"` alone becomes a
    list."""
    response: Response = Response()
    """Where the parts of the answer are in the JSON response."""
    stream: bool = False
    """Whether the answer is streamed, as server-sent events or one JSON value per line. The pieces of
    `answer` (and of `reasoning`) are joined; every other part is taken from the last piece that has it."""
    first_page: int = Field(default=1, ge=0, le=1)
    """Number that the service gives the first page of a document: 0 or 1."""
    timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds that the service may be silent before the question fails."""
    version: ServiceVersion | None = None
    """Version of the service, so that runs of different versions can be told apart: a text such as "2026-11",
    or where a reply has it: `{header: X-Service-Version}` or `{path: $.version}`."""
    health: ServiceUrl | None = None
    """URL that is asked by GET before the first question and must answer with a status below 500. Default:
    only open and close a connection to `url`."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """The most questions in flight at once."""

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, given: Any) -> Any:
        """Merge the given keys over the preset."""
        if not isinstance(given, Mapping) or given.get("preset") != "openai-chat":
            return given
        preset = openai_chat(stream=given.get("stream") is True)
        laid = {key: _laid_over(value, given.get(key) or {}) for key, value in preset.items()}
        return {**given, **laid}

    @model_validator(mode="after")
    def _asks(self) -> Http:
        """Refuse a key in a URL, a request without the question, and `model` unless `{model}` is used."""
        for url in filter(None, (self.url, self.health)):
            refuse_secrets(url)
        placeholders = places(self.request)
        if "question" not in placeholders:
            raise ValueError("the request has no {question}")
        if self.model is None and "model" in placeholders:
            raise ValueError("the request names a {model}: give 'model'")
        if self.model is not None and "model" not in placeholders:
            raise ValueError("'model' is given, and the request has no {model}")
        if self.method == "GET" and not isinstance(self.request, dict):
            raise ValueError("GET needs a request that is a mapping: it becomes the query")
        return self

    @property
    def name(self) -> str:
        """The model, or else the URL without its query."""
        return self.model or self.url.partition("?")[0]

    @property
    def sends_trace(self) -> bool:
        """Whether each request has a `traceparent`: not if the configuration has one of its own."""
        return "traceparent" not in map(str.lower, self.headers)

    def at(self, base: Path) -> Http:
        """Return the pipeline unchanged, because it names no files."""
        return self

    def identity(self) -> dict[str, Any]:
        """Add a fingerprint of the request with its environment variables resolved, leaving out secrets."""
        known = fingerprint(without_secrets({"request": self.request}))
        found = super().identity()
        # without these keys, the fingerprint is that of runs from before they existed
        if self.version is None:
            del found["options"]["version"]
        if self.response.rounds == Rounds():
            del found["options"]["response"]["rounds"]
        return {**found, "resolved": known}

    @property
    def named_paths(self) -> dict[Key, str]:
        """The paths into a reply that the configuration itself names, by their keys."""
        preset = openai_chat(stream=self.stream)["response"] if self.preset else {}
        found = named_paths(self.response, Response.model_validate(preset))
        if isinstance(self.version, VersionInReply) and self.version.path is not None:
            found["version", "path"] = self.version.path
        return found

    def check(self) -> None:
        """Raise ConfigError if an environment variable is not set, ServerError if no service answers."""
        headers = sent_headers(self.headers)
        variables(self.request)
        if self.health is None:
            _connect(self.url)
        else:
            _require_health(self.health, headers)

    def open(self, documents: Sequence[Document]) -> tuple[Ask, str]:
        """Make one HTTP client for all questions."""
        ask, paths = self._asking(), self.named_paths
        return lambda question, ids: ask(question, ids, Reading(paths, self.version)), _NOTE

    async def try_out(self, question: Question) -> tuple[PipelineReply | ModelError, tuple[Unmatched, ...]]:
        """Ask one question; returns the reply, or the error in its place, and the paths that matched nothing
        in it."""
        reading = Reading(self.named_paths, self.version)
        try:
            reply = await self._asking()(question, new_ids(around()), reading)
        except ModelError as error:
            return error, reading.unmatched()
        return reply, reply.unmatched

    def _asking(self) -> Callable[[Question, TraceIds, Reading], Awaitable[PipelineReply]]:
        """Make an HTTP client; returns how a question is asked with it."""
        import httpx

        client = async_client(
            headers=sent_headers(self.headers),
            timeout=httpx.Timeout(self.timeout, connect=min(self.timeout, _CHECK_SECONDS)),
            limits=httpx.Limits(max_connections=self.max_concurrency, max_keepalive_connections=0),
        )
        hidden, above = mask(self.headers, self.request), around()

        async def ask(question: Question, ids: TraceIds, reading: Reading) -> PipelineReply:
            sent = trace_headers(ids, above) if self.sends_trace else {}
            try:
                return await self._ask(client, question, sent, hidden, reading)
            except httpx.HTTPError as error:
                untrusted = tls_failure(error, self.url)
                no_answer = isinstance(error, httpx.TransportError) and not untrusted
                kind = NoAnswerError if no_answer else ModelError
                reason = untrusted or _sentence(error, self.timeout)
                raise kind(hidden.text(f"{self._where}: {reason}")) from error
            except ModelError as error:
                message = hidden.text(f"{self._where}: {error}")
                raise type(error)(message, status=error.status, retry_after=error.retry_after) from None

        return ask

    @property
    def _where(self) -> str:
        """The URL as shown in messages, without its query."""
        return self.url.partition("?")[0]

    async def _ask(
        self,
        client: httpx.AsyncClient,
        question: Question,
        headers: Mapping[str, str],
        hidden: Mask,
        reading: Reading,
    ) -> PipelineReply:
        """Send one request and read its answer."""
        import httpx

        request = filled(self.request, parts_of(question, self.model))
        url, body = httpx.URL(self.url), {"json": request}
        if self.method == "GET":
            url, body = url.copy_merge_params(request), {}
        started = time.perf_counter()
        async with client.stream(self.method, url, headers=headers, **body) as response:
            if not response.is_success:
                return PipelineReply(await _refused(response, hidden))
            reading.read_headers(response.headers)
            if self.stream:
                answer, first_token = await self._read_stream(response, started, hidden, reading)
            else:
                data = parsed(await whole(response), hidden)
                parts = self.response.parts(data, first_page=self.first_page)
                reading.read(data)
                answer, first_token = self.response.to_answer(parts, data), None
        version = None if reading.version is None else hidden.text(reading.version)
        missed = (path for path in reading.unmatched() if path.key != ("response", "answer"))  # a refusal
        return PipelineReply(answer, first_token, tuple(missed), version)

    async def _read_stream(
        self, response: httpx.Response, started: float, hidden: Mask, reading: Reading
    ) -> tuple[Answer, float | None]:
        """Read a stream and join its pieces; raises ModelError for a stream that broke off."""
        parts: dict[str, Any] = {}
        data: Any = {}
        first_token, ended = None, False
        async with aclosing(events(response, hidden)) as texts:
            async for text in texts:
                if text == DONE:
                    ended = True
                    break
                data = parsed(text, hidden)
                new = self.response.parts(data, first_page=self.first_page)
                reading.read(data)
                if new.get("answer") and first_token is None:
                    first_token = time.perf_counter() - started
                for joined in {"answer", "reasoning"} & new.keys() & parts.keys():
                    new[joined] = _joined(parts[joined], new[joined], joined)
                parts |= new
        if self.preset and not ended and "stop_reason" not in parts:
            raise NoAnswerError(f"its stream ended without {DONE} and without a reason to stop: it broke off")
        joined_parts = hidden.inside(parts)  # a secret may be split over two pieces
        return self.response.to_answer(joined_parts, data), first_token


def _joined(before: Any, piece: Any, part: str) -> str:
    """Join a text and its next piece; raises ModelError where either is not a text."""
    if not (isinstance(before, str) and isinstance(piece, str)):
        raise ModelError(
            f"its answer does not have the right format: {part}: a piece of the stream is not a text"
        )
    return before + piece


def _laid_over(preset: Any, given: Any) -> Any:
    """Merge mappings key by key; any other value replaces the preset's, null included."""
    if isinstance(preset, dict) and isinstance(given, Mapping):
        return {**preset, **{key: _laid_over(preset.get(key), value) for key, value in given.items()}}
    return given


def _connect(url: str) -> None:
    """Open and close a connection; raises ServerError where that fails."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    place = (parts.hostname or "", port)
    try:
        in_time(lambda: socket.create_connection(place, timeout=_CHECK_SECONDS).close(), _CHECK_SECONDS)
    except OSError as error:
        reason = error.strerror or error
        raise ServerError(
            f"no service at {parts.hostname}:{port} ({reason}): start it, or set url"
        ) from error


def _require_health(url: str, headers: Mapping[str, str]) -> None:
    """Ask the health URL; raises ServerError unless it answers with a status below 500."""
    try:
        status = fetch("GET", url, headers=dict(headers), seconds=_CHECK_SECONDS).status
    except NoAnswerError as error:
        raise ServerError(f"no service at {url} ({error}): start it, or set health") from error
    except ModelError as error:
        raise ServerError(f"{url}: {error}") from error
    if status >= 500:
        raise ServerError(f"{url} answers with status {status}: the service is not healthy")


async def _refused(response: httpx.Response, hidden: Mask) -> Answer:
    """The refusal by a content filter that a response with a status other than 2xx passes on.

    Raises ModelError, or RateLimitError, for every other such response.
    """
    try:
        text = await whole(response)
    except ModelError as error:
        text = str(error)
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        reported = value.get("error") or value if isinstance(value, dict) else value
        if refusal := reported_refusal(reported, response.status_code):
            return Answer(answer="", refusal=refusal)
    kind = RateLimitError if response.status_code == 429 else ModelError
    raise kind(
        f"it answers with status {response.status_code}: {beginning(text, hidden) or 'no message'}",
        status=response.status_code,
        retry_after=retry_after_seconds(response.headers),
    )


def _sentence(error: httpx.HTTPError, timeout: float) -> str:
    """Describe why a connection failed."""
    import httpx

    if isinstance(error, httpx.ConnectError):
        return "no service is there"
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {timeout:g} s"
    if isinstance(error, httpx.TimeoutException):
        return f"it was silent for {timeout:g} s"
    return f"the connection broke ({str(error) or type(error).__name__})"


def openai_chat(*, stream: bool) -> dict[str, Any]:
    """The request and the response paths of OpenAI's chat completions API."""
    message = "$.choices[0].delta" if stream else "$.choices[0].message"
    request: dict[str, Any] = {
        "model": "{model}",
        "messages": [{"role": "user", "content": "{question}"}],
        "stream": stream,
    }
    if stream:
        request["stream_options"] = {"include_usage": True}
    return {
        "request": request,
        "response": {
            "answer": f"{message}.content",
            "reasoning": f"{message}.reasoning_content",
            "refusal": f"{message}.refusal",
            "stop_reason": "$.choices[0].finish_reason",
            "usage": {
                "cached_tokens": "$.usage.prompt_tokens_details.cached_tokens",
                "reasoning_tokens": "$.usage.completion_tokens_details.reasoning_tokens",
            },
        },
    }
