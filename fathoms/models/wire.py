"""HTTP requests to model servers that answer with JSON or stream it, with one aiohttp session per event loop.

The clients of the SDKs need several milliseconds of CPU per request. With hundreds of requests at a time,
they and not the model would be the bottleneck.
"""

from __future__ import annotations

import asyncio
import json
import select
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import PydanticSerializationError, to_json

from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender, quoted, reported_error, response_error
from fathoms.safety.transport import IDENTITY, Body, tls_failure

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.client_proto import ResponseHandler

DONE = "[DONE]"
"""The data of the last event in a stream of OpenAI's API."""
_CONNECT_SECONDS = 10
_IDLE_SECONDS = 2.0
"""How long an idle connection is kept. Common servers close it after 5 seconds, which may coincide with the
next request, so this is shorter."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_REFUSAL, _LONGEST_MESSAGE = 65536, 1000
"""Bytes read from an error response, and characters kept of its message. Secrets are masked between the two
cuts, so that the message never ends with a part of a secret."""


@dataclass(frozen=True)
class Request:
    """A POST request with a JSON body.

    `sender` has the time-out and what error messages say about the caller. `local` marks a server that
    fathoms itself started, which is never reached through a proxy.
    """

    url: str
    body: dict[str, Any]
    sender: Sender
    headers: dict[str, str] = field(default_factory=dict)
    local: bool = False


Hear = Callable[[dict[str, Any], float], None]
"""Callback that receives a JSON object and the seconds since the request was sent."""


async def exchange(request: Request, hear: Hear) -> bool:
    """Send the request and pass every JSON object of the answer to `hear` as soon as it arrives. Returns
    whether the server said that the answer is whole: it is one object, or its stream ended with `[DONE]`.

    The answer is a single object or a stream: server-sent events, which may end with `[DONE]`, or one object
    per line. Raises ModelError if the answer is malformed or its status is not 200 (among others
    RateLimitError and PromptTooLongError), and NoAnswerError if there is no answer, it breaks off, or the
    server is silent for longer than the time-out.
    """
    import aiohttp

    sender, (session, turns) = request.sender, await _session()
    started = time.perf_counter()

    def timed(text: bytes) -> None:
        hear(_parsed(text, sender), time.perf_counter() - started)

    try:
        async with session.post(
            request.url,
            data=_json(request.body),
            headers={"Content-Type": "application/json", **IDENTITY, **request.headers},
            timeout=aiohttp.ClientTimeout(
                sock_connect=_CONNECT_SECONDS, sock_read=sender.timeout or None, total=None
            ),
            proxy=None if request.local else _proxy(request.url),
            allow_redirects=False,  # the headers may contain a key, which another host must not get
        ) as response:
            await turns.take()
            if response.status != 200:
                raise await _refusal(response, sender)
            return await _heard(response, timed, sender)
    except aiohttp.ConnectionTimeoutError as error:
        raise NoAnswerError(f"{sender.address}: no connection within {_CONNECT_SECONDS} seconds") from error
    except TimeoutError as error:
        silence = f"sent nothing for {sender.timeout:g} seconds: raise request_timeout"
        raise NoAnswerError(f"{sender.address} {silence}") from error
    except (aiohttp.ClientError, OSError) as error:
        if untrusted := tls_failure(error, request.url):
            raise ModelError(f"{sender.address}: {untrusted}") from error
        reason = type(error.__cause__ or error).__name__
        raise NoAnswerError(f"{sender.address}: no connection, or it broke off ({reason})") from error


def _json(body: dict[str, Any]) -> bytes:
    """The body as JSON by the fast serializer of pydantic, or by Python's, which allows lone surrogates."""
    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body).encode()


async def _heard(response: aiohttp.ClientResponse, hear: Callable[[bytes], None], sender: Sender) -> bool:
    """Pass the text of every value of the answer to `hear`, and return whether it is said to be whole; raises
    ModelError for an event named `error`."""
    kind = response.content_type
    if kind not in ("text/event-stream", "application/x-ndjson"):
        hear(b"".join([piece async for piece in _pieces(response, sender)]))
        return True
    event = b""
    async for line in _lines(response, sender):
        text = line.strip()
        if kind == "text/event-stream":
            if text.startswith(b"event:"):
                event = text[6:].strip()
            if not text:  # an empty line ends the event
                event = b""
            if not text.startswith(b"data:"):  # a comment or the name of an event
                continue
            text = text[5:].strip()
            if event == b"error":
                raise _error_event(text, sender)
        if text == DONE.encode():
            return True
        if text:
            hear(text)
    return False


def _error_event(text: bytes, sender: Sender) -> ModelError:
    """Make the error for the data of an event named `error`, which need not be JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    found = value if isinstance(value, dict) and value else {"message": text.decode("utf-8", "replace")}
    return reported_error(found, sender)


async def _pieces(response: aiohttp.ClientResponse, sender: Sender) -> AsyncGenerator[bytes, None]:
    """Yield the decompressed body as it arrives; raises ModelError if it exceeds the size limit."""
    try:
        body = Body(",".join(response.headers.getall("Content-Encoding", [])))
        async for data in response.content.iter_any():
            for piece in body.pieces(data):
                yield piece
        body.end()
    except ModelError as error:
        raise type(error)(f"{sender.address}: {error}") from error


async def _lines(response: aiohttp.ClientResponse, sender: Sender) -> AsyncIterator[bytes]:
    """Yield the lines of the body, without a byte order mark before the first."""
    pieces: list[bytes] = []
    is_first = True
    async for piece in _pieces(response, sender):
        first, *others = piece.split(b"\n")
        pieces.append(first)
        for line in others:
            whole = b"".join(pieces)
            yield whole.removeprefix(_BYTE_ORDER_MARK) if is_first else whole
            pieces, is_first = [line], False
    yield b"".join(pieces)


def _parsed(text: bytes, sender: Sender) -> dict[str, Any]:
    """Parse a JSON object; raises ModelError if the text is something else or the object reports an error."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        beginning = sender.masked(text[:_LONGEST_REFUSAL].decode("utf-8", "replace"))
        said = quoted(beginning[:_LONGEST_MESSAGE])
        what = f"not JSON but {said!r}" if text.strip() else "empty"
        raise ModelError(f"{sender.address}: the answer is {what}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{sender.address}: the answer is JSON, and not an object")
    if value.get("error"):
        raise reported_error(value, sender)
    return value


async def _refusal(response: aiohttp.ClientResponse, sender: Sender) -> ModelError:
    """Make the error for a response whose status is not 200."""
    return response_error(await _beginning(response, sender), sender, response.status, response.headers)


async def _beginning(response: aiohttp.ClientResponse, sender: Sender) -> bytes:
    """Read the beginning of the body of an error response; ends early where it cannot be decompressed."""
    data = b""
    with suppress(ModelError):  # the status alone is enough for an error message
        async with aclosing(_pieces(response, sender)) as pieces:
            async for piece in pieces:
                data += piece
                if len(data) > _LONGEST_REFUSAL:
                    break
    return data


@lru_cache(maxsize=16)
def _proxy(url: str) -> str | None:
    """Return the proxy that the environment sets for an address, `None` if there is none."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


class _Turns:
    """Lets one answer at a time be worked on, which is one in each iteration of the event loop.

    Answers that arrive together would otherwise all be worked on before the next of their requests is sent:
    their questions would stay in step, with nothing under way while the CPU works.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def take(self) -> None:
        """Wait until nobody else has taken the turn in this iteration."""
        if self._is_taken:
            self._waiting.append(turn := self._loop.create_future())
            await turn
        else:
            self._is_taken = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        """Give the turn to the first that still waits for it. Its task runs in the next iteration, after the
        request of the task before it has been written."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # it is if the task was cancelled
                turn.set_result(None)
                self._loop.call_soon(self._next)
                return
        self._is_taken = False


_Keeper = AsyncGenerator["aiohttp.ClientSession", None]
_sessions: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Turns, _Keeper]] = {}


async def _session() -> tuple[aiohttp.ClientSession, _Turns]:
    """Return the aiohttp session of the running event loop, and the turns of those who use it; the first call
    opens it."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        keeper = _opened(loop)
        _sessions[loop] = (await anext(keeper), _Turns(loop), keeper)
    return _sessions[loop][:2]


@cache
def _handler() -> type[ResponseHandler]:
    """The protocol of a connection that is used again only while the server keeps it open.

    A server may close a connection right after an answer without having said so. aiohttp learns that only
    when the event loop next reads the connection; here the socket is asked before each use, as urllib3 does.
    Nothing is awaited for that: between an answer and the next request, it would undo what `_Turns` is for.
    """
    from aiohttp.client_proto import ResponseHandler

    class Handler(ResponseHandler):
        def is_connected(self) -> bool:
            if not super().is_connected() or self.transport is None:
                return False
            if not hasattr(select, "poll"):  # on Windows
                return True
            poll = select.poll()
            poll.register(self.transport.get_extra_info("socket"), select.POLLIN)
            return not poll.poll(0)  # an idle connection has nothing to read but its end

    return Handler


async def _opened(loop: asyncio.AbstractEventLoop) -> _Keeper:
    """Yield a session that is closed with its event loop. A loop that shuts down closes its asynchronous
    generators, which runs the end of this one."""
    import aiohttp

    # no limit here, because the runner limits the number of concurrent requests
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
    connector._factory = partial(_handler(), loop=loop)
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # `_pieces` decompresses with a size limit
        ) as session:
            yield session
    finally:
        del _sessions[loop]  # otherwise the dictionary would keep every closed loop alive
    await asyncio.sleep(0)  # lets the sockets close
