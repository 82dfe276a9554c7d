"""Requests to servers of models that stream JSON: one pool of connections an event loop, by aiohttp.

A client of an SDK takes several milliseconds of CPU a request; hundreds at once would wait for it, and not
for the model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender, quoted, reported_error
from fathoms.safety.transport import IDENTITY, Body, tls_failure

if TYPE_CHECKING:
    import aiohttp

DONE = "[DONE]"
"""What ends a stream of OpenAI's kind."""
_CONNECT_SECONDS = 10
_IDLE_SECONDS = 2.0
"""How long a connection is kept for the next request: less than the 5 seconds after which common servers
close it, perhaps at the very moment when it is used again."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_REFUSAL, _LONGEST_MESSAGE = 65536, 1000
"""Bytes that are read and characters that are looked at. Secrets are taken out in between, so that half of
one, cut off at the end, is never among them."""


@dataclass(frozen=True)
class Request:
    """A POST of JSON: `sender` is who asks and for how long silence is borne, in errors too.

    `local` is a server of our own, which no proxy stands before.
    """

    url: str
    body: dict[str, Any]
    sender: Sender
    headers: dict[str, str] = field(default_factory=dict)
    local: bool = False


Hear = Callable[[dict[str, Any], float], None]
"""Gets a JSON object, and the seconds since the request was sent."""


async def exchange(request: Request, hear: Hear) -> None:
    """Send it, and give every JSON object of the answer to `hear` as it comes: one, or those of a stream.

    Streams are server-sent events, which `[DONE]` may end, or a value a line. Raises ModelError for what is
    no such answer, for a status other than 200 (RateLimitError and PromptTooLongError among them), and
    NoAnswerError where there is none, where it breaks off, and for silence.
    """
    import aiohttp

    sender, session = request.sender, await _session()
    started = time.perf_counter()

    def timed(text: bytes) -> None:
        hear(_parsed(text, sender), time.perf_counter() - started)

    try:
        async with session.post(
            request.url,
            data=json.dumps(request.body).encode(),
            headers={"Content-Type": "application/json", **IDENTITY, **request.headers},
            timeout=aiohttp.ClientTimeout(
                sock_connect=_CONNECT_SECONDS, sock_read=sender.timeout or None, total=None
            ),
            proxy=None if request.local else _proxy(request.url),
            allow_redirects=False,  # the headers may hold a key
        ) as response:
            if response.status != 200:
                raise await _refusal(response, sender)
            await _heard(response, timed, sender)
    except TimeoutError as error:
        raise NoAnswerError(_silence(sender, error)) from error
    except (aiohttp.ClientError, OSError) as error:
        if untrusted := tls_failure(error, request.url):
            raise ModelError(f"{sender.address}: {untrusted}") from error
        reason = type(error.__cause__ or error).__name__
        raise NoAnswerError(f"{sender.address}: no connection, or it broke off ({reason})") from error


async def _heard(response: aiohttp.ClientResponse, hear: Callable[[bytes], None], sender: Sender) -> None:
    """The text of every value of an answer. Raises ModelError for an event of the name `error`."""
    kind = response.content_type
    if kind not in ("text/event-stream", "application/x-ndjson"):
        hear(b"".join([piece async for piece in _pieces(response, sender)]))
        return
    event = b""
    async for line in _lines(response, sender):
        text = line.strip()
        if kind == "text/event-stream":
            if text.startswith(b"event:"):
                event = text[6:].strip()
            if not text:  # the event ends here, and its name with it
                event = b""
            if not text.startswith(b"data:"):  # comments and the names of events
                continue
            text = text[5:].strip()
            if event == b"error":
                raise _error_event(text, sender)
        if text == DONE.encode():
            return
        if text:
            hear(text)


def _error_event(text: bytes, sender: Sender) -> ModelError:
    """The error that the data of an event of the name `error` tells, JSON or not."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    told = value if isinstance(value, dict) and value else {"message": text.decode("utf-8", "replace")}
    return reported_error(told, sender)


async def _pieces(response: aiohttp.ClientResponse, sender: Sender) -> AsyncGenerator[bytes, None]:
    """The decompressed bytes as they come; raises ModelError where they are too many."""
    try:
        body = Body(",".join(response.headers.getall("Content-Encoding", [])))
        async for data in response.content.iter_any():
            for piece in body.pieces(data):
                yield piece
        body.end()
    except ModelError as error:
        raise type(error)(f"{sender.address}: {error}") from error


async def _lines(response: aiohttp.ClientResponse, sender: Sender) -> AsyncIterator[bytes]:
    """The lines, however long, without a byte order mark before the first."""
    held: list[bytes] = []
    is_first = True
    async for piece in _pieces(response, sender):
        first, *others = piece.split(b"\n")
        held.append(first)
        for line in others:
            whole = b"".join(held)
            yield whole.removeprefix(_BYTE_ORDER_MARK) if is_first else whole
            held, is_first = [line], False
    yield b"".join(held)


def _parsed(text: bytes, sender: Sender) -> dict[str, Any]:
    """A JSON object that is no error; raises ModelError."""
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
    """The error that an answer of another status than 200 is."""
    text = (await _beginning(response, sender)).decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    message = sender.masked(text)[:_LONGEST_MESSAGE]
    found = value if isinstance(value, dict) else {"message": message or response.reason or "nothing"}
    return reported_error(found, sender, response.status, dict(response.headers))


async def _beginning(response: aiohttp.ClientResponse, sender: Sender) -> bytes:
    """A body, but for what is longer than any refusal; what cannot be decompressed is as good as empty."""
    held = b""
    with suppress(ModelError):  # the status says what is wrong
        async with aclosing(_pieces(response, sender)) as pieces:
            async for piece in pieces:
                held += piece
                if len(held) > _LONGEST_REFUSAL:
                    break
    return held


def _silence(sender: Sender, error: Exception) -> str:
    """What to say of a server that says nothing."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"{sender.address}: no connection within {_CONNECT_SECONDS} seconds"
    return f"{sender.address} says nothing for {sender.timeout:g} seconds: raise request_timeout?"


@lru_cache(maxsize=16)
def _proxy(url: str) -> str | None:
    """The proxy that the environment names for an address."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


_Keeper = AsyncGenerator["aiohttp.ClientSession", None]
_sessions: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Keeper]] = {}


async def _session() -> aiohttp.ClientSession:
    """The connections of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        keeper = _opened(loop)
        _sessions[loop] = (await anext(keeper), keeper)
    return _sessions[loop][0]


async def _opened(loop: asyncio.AbstractEventLoop) -> _Keeper:
    """A session that ends with its event loop, which closes the generators that are open still."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)  # the runner has the limit
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # what is decompressed is limited in `_pieces`
        ) as session:
            yield session
    finally:
        del _sessions[loop]  # else every loop that ever was would be kept
    await asyncio.sleep(0)  # for the sockets to close
