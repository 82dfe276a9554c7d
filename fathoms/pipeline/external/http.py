"""A pipeline behind an address: question in by JSON, answer out by JSON, whole or as a stream.

Each question has a connection of its own: one that was kept from before may be closed by the service at the
very moment, and that would count as a failure of the question. Redirects are not followed (headers may hold
keys). Replies are never cached.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, model_validator

from fathoms.config import fingerprint
from fathoms.errors import ModelError, NoAnswerError, RateLimitError, ServerError
from fathoms.models.calling.lane import seconds_asked
from fathoms.models.options import without_secrets
from fathoms.models.wire import DONE
from fathoms.pipeline.external.base import Ask, ExternalPipeline, Told
from fathoms.pipeline.external.body import beginning, events, parsed, whole
from fathoms.pipeline.external.mapping import Response
from fathoms.pipeline.external.presets import openai_chat
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
from fathoms.safety.limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.safety.masking import Mask
from fathoms.safety.transport import async_client, fetch, in_time, tls_failure
from fathoms.types import Document, Question

if TYPE_CHECKING:
    import httpx

_CHECK_SECONDS = 10
_NOTE = "the service keeps its own documents: nothing is ingested here"


def _question() -> JsonValue:
    """The simplest request."""
    return {"question": "{question}"}


class Http(ExternalPipeline):
    """`kind: http`: a service that is asked by a request for each question."""

    neutral: ClassVar[frozenset[str]] = frozenset({"headers", "timeout", "max_concurrency", "health"})

    kind: Literal["http"] = "http"
    url: ServiceUrl
    """The whole address that is asked."""
    preset: Literal["openai-chat"] | None = None
    """A shape of request and response that is known; keys of both that are given change it."""
    model: str | None = None
    """What `{model}` in the request stands for."""
    method: Literal["POST", "PUT", "GET"] = "POST"
    """GET sends the request as the query of the address."""
    headers: Headers = Field(default_factory=dict)
    """Sent with every request. Keys must be given as `${NAME}`: that environment variable is looked up when
    the headers are sent, and is written down nowhere."""
    request: Template = Field(default_factory=_question)
    """The JSON that is sent. `{question}`, `{files}`, `{id}`, `{category}` and `{model}` are filled in inside
    its texts, `${NAME}` is that environment variable; `"{files}"` alone becomes a list."""
    response: Response = Response()
    """Where in the JSON that comes back the parts of the answer stand."""
    stream: bool = False
    """The answer comes in pieces: server-sent events, or JSON values a line. `answer` (and `reasoning`) is
    looked for in each and joined, every other part is taken from the last piece that has it."""
    first_page: int = Field(default=1, ge=0, le=1)
    """What number the service gives to the first page."""
    timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds that the service may be silent."""
    health: ServiceUrl | None = None
    """Is asked by GET before the first question, and must answer with a status below 500. Without it a
    connection to `url` is opened and closed."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Questions asked at once."""

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, given: Any) -> Any:
        """The preset, with what is given laid over it."""
        if not isinstance(given, Mapping) or given.get("preset") != "openai-chat":
            return given
        preset = openai_chat(stream=given.get("stream") is True)
        laid = {key: _laid_over(value, given.get(key) or {}) for key, value in preset.items()}
        return {**given, **laid}

    @model_validator(mode="after")
    def _asks(self) -> Http:
        """Refuse a key in an address, and a request without the question or with half of a model."""
        for url in filter(None, (self.url, self.health)):
            refuse_secrets(url)
        asked = places(self.request)
        if "question" not in asked:
            raise ValueError("the request has no {question}")
        if self.model is None and "model" in asked:
            raise ValueError("the request names a {model}: give 'model'")
        if self.model is not None and "model" not in asked:
            raise ValueError("'model' is given, and the request has no {model}")
        if self.method == "GET" and not isinstance(self.request, dict):
            raise ValueError("GET needs a request that is a mapping: it becomes the query")
        return self

    @property
    def name(self) -> str:
        """The model, or the address without its query."""
        return self.model or self.url.partition("?")[0]

    def at(self, base: Path) -> Http:
        """No files are named."""
        return self

    def identity(self) -> dict[str, Any]:
        """With what environment variables say (not secrets)."""
        known = fingerprint(without_secrets({"request": self.request}))
        return {**super().identity(), "resolved": known}

    def check(self) -> None:
        """Raise ConfigError for a variable that is not set, ServerError where nobody listens."""
        headers = sent_headers(self.headers)
        variables(self.request)
        if self.health is None:
            _connect(self.url)
        else:
            _require_health(self.health, headers)

    def open(self, documents: Sequence[Document]) -> tuple[Ask, str]:
        """A client for all questions."""
        import httpx

        client = async_client(
            headers=sent_headers(self.headers),
            timeout=httpx.Timeout(self.timeout, connect=min(self.timeout, _CHECK_SECONDS)),
            limits=httpx.Limits(max_connections=self.max_concurrency, max_keepalive_connections=0),
        )
        hidden = mask(self.headers, self.request)

        async def ask(question: Question) -> Told:
            try:
                return await self._ask(client, question, hidden)
            except httpx.HTTPError as error:
                untrusted = tls_failure(error, self.url)
                no_answer = isinstance(error, httpx.TransportError) and not untrusted
                kind = NoAnswerError if no_answer else ModelError
                told = untrusted or _sentence(error, self.timeout)
                raise kind(hidden.text(f"{self._where}: {told}")) from error
            except ModelError as error:
                message = hidden.text(f"{self._where}: {error}")
                raise type(error)(message, status=error.status, retry_after=error.retry_after) from None

        return ask, _NOTE

    @property
    def _where(self) -> str:
        """The address as messages name it."""
        return self.url.partition("?")[0]

    async def _ask(self, client: httpx.AsyncClient, question: Question, hidden: Mask) -> Told:
        """One request and what comes back."""
        import httpx

        request = filled(self.request, parts_of(question, self.model))
        url, body = httpx.URL(self.url), {"json": request}
        if self.method == "GET":
            url, body = url.copy_merge_params(request), {}
        started = time.perf_counter()
        async with client.stream(self.method, url, **body) as response:
            if not response.is_success:
                raise await _refused(response, hidden)
            if self.stream:
                return await self._read_stream(response, started, hidden)
            data = parsed(await whole(response), hidden)
        return Told(self.response.made(self.response.parts(data, first_page=self.first_page), data))

    async def _read_stream(self, response: httpx.Response, started: float, hidden: Mask) -> Told:
        """The parts of a stream, joined; raises ModelError for one that broke off."""
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
                if new.get("answer") and first_token is None:
                    first_token = time.perf_counter() - started
                for joined in {"answer", "reasoning"} & new.keys() & parts.keys():
                    new[joined] = _joined(parts[joined], new[joined], joined)
                parts |= new
        if self.preset and not ended and "stop_reason" not in parts:
            raise NoAnswerError(f"its stream ended without {DONE} and without a reason to stop: it broke off")
        joined_parts = hidden.inside(parts)  # a secret may stand in two pieces
        return Told(self.response.made(joined_parts, data), first_token)


def _joined(before: Any, piece: Any, part: str) -> str:
    """A text and its next piece; raises ModelError where either is none."""
    if not (isinstance(before, str) and isinstance(piece, str)):
        raise ModelError(f"its answer has not the right shape: {part}: a piece of the stream is no text")
    return before + piece


def _laid_over(preset: Any, given: Any) -> Any:
    """Mappings are joined, key by key; anything else replaces, null too."""
    if isinstance(preset, dict) and isinstance(given, Mapping):
        return {**preset, **{key: _laid_over(preset.get(key), value) for key, value in given.items()}}
    return given


def _connect(url: str) -> None:
    """Open a connection and close it; raises ServerError."""
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
    """Ask how it is; raises ServerError."""
    try:
        status = fetch("GET", url, headers=dict(headers), seconds=_CHECK_SECONDS).status
    except NoAnswerError as error:
        raise ServerError(f"no service at {url} ({error}): start it, or set health") from error
    except ModelError as error:
        raise ServerError(f"{url}: {error}") from error
    if status >= 500:
        raise ServerError(f"{url} answers with status {status}: the service is not well")


async def _refused(response: httpx.Response, hidden: Mask) -> ModelError:
    """What an answer with another status than 2xx says."""
    try:
        text = beginning(await whole(response), hidden)
    except ModelError as error:
        text = str(error)
    kind = RateLimitError if response.status_code == 429 else ModelError
    return kind(
        f"it answers with status {response.status_code}: {text or 'and no more'}",
        status=response.status_code,
        retry_after=seconds_asked(response.headers),
    )


def _sentence(error: httpx.HTTPError, timeout: float) -> str:
    """What happened to a connection."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return "no service is there"
    if isinstance(error, httpx.TimeoutException):
        return f"it was silent for {timeout:g} s"
    return f"the connection broke ({str(error) or type(error).__name__})"
