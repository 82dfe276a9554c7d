"""HTTP with servers that are not trusted: limits on what they send, and an end to every wait.

Every request of fathoms asks for an answer without compression. A server that compresses all the same may use
gzip, once. The limit on the size of an answer holds for the bytes after decompression, and is checked while
they are decompressed, so that an answer never takes more memory than the limit and one piece.
"""

from __future__ import annotations

import asyncio
import contextvars
import json as json_format
import math
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from fathoms.errors import ModelError, NoAnswerError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
LARGEST = 16 * 2**20
"""Bytes of one answer to a question."""
LARGEST_CHECK = 4 * 2**20
"""Bytes of one answer to what is asked before the questions, such as the list of a server's models."""
IDENTITY = {"Accept-Encoding": "identity"}
"""The header that asks for an answer without compression."""
_PIECE = 65536
_LONGEST_CODING = 40


class Body:
    """The bytes of one answer: decompressed where the server compressed them once, counted, and limited.

    `coding` is the value of the Content-Encoding header. `largest` is the limit in bytes, or None for none.
    Raises ModelError for any compression but gzip, and where there are too many bytes.
    """

    def __init__(self, coding: str | None, largest: int | None = LARGEST) -> None:
        named = (coding or "").strip().lower()
        self._inflate = None
        if named in ("gzip", "x-gzip"):
            self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif named not in ("", "identity"):
            raise ModelError(
                f"its answer is compressed as {named[:_LONGEST_CODING]!r}, which it was not asked for:"
                " have the server send its answers without compression"
            )
        self._largest = math.inf if largest is None else largest
        self._received = self._made = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The decompressed bytes of what was received, in pieces of limited size."""
        self._received = self._within(self._received + len(data))
        if self._inflate is None:
            if data:
                yield data
            return
        while data and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error as error:
                raise ModelError("its answer cannot be decompressed: it is not valid gzip") from error
            data = self._inflate.unconsumed_tail
            self._made = self._within(self._made + len(piece))
            if piece:
                yield piece

    def end(self) -> None:
        """The connection has ended; raises NoAnswerError in the middle of a compressed answer."""
        if self._inflate is not None and self._received and not self._inflate.eof:
            raise NoAnswerError("its answer broke off: the compressed data has no end")

    def _within(self, size: int) -> int:
        """The size itself, unless it is over the limit."""
        if size > self._largest:
            raise ModelError(f"its answer is larger than {self._largest / 2**20:g} MB")
        return size


@cache
def _streams(http: ModuleType) -> tuple[type, type]:
    """The limited bodies of answers, for synchronous and asynchronous clients of httpx or httpx2."""

    class Limited(http.SyncByteStream):  # type: ignore[name-defined, misc]
        """The decompressed bytes of another stream."""

        def __init__(self, stream: Any, body: Body) -> None:
            self._stream = stream
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            for data in self._stream:
                yield from self._body.pieces(data)
            self._body.end()

        def close(self) -> None:
            self._stream.close()

    class AsyncLimited(http.AsyncByteStream):  # type: ignore[name-defined, misc]
        """The same, asynchronous."""

        def __init__(self, stream: Any, body: Body) -> None:
            self._stream = stream
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for data in self._stream:
                for piece in self._body.pieces(data):
                    yield piece
            self._body.end()

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Limited, AsyncLimited


def hook(largest: int | None = LARGEST, http: ModuleType | None = None) -> Callable[[Any], None]:
    """A response hook for a synchronous client of httpx (or of httpx2) that limits its answers."""
    limited, _ = _streams(http or _httpx())

    def limit(response: Any) -> None:
        _limit(response, limited, largest)

    return limit


def _limit(response: Any, stream: type, largest: int | None) -> None:
    """Replace the body of an answer by the limited one, which is decompressed already."""
    body = Body(response.headers.get("Content-Encoding"), largest)
    response.headers.pop("Content-Encoding", None)  # else the client would decompress a second time
    response.stream = stream(response.stream, body)


def client(*, largest: int | None = LARGEST, **options: Any) -> httpx.Client:
    """A synchronous client of httpx with limited answers. It follows redirects only where told to."""
    import httpx

    options["headers"] = {**IDENTITY, **options.get("headers", {})}
    return httpx.Client(event_hooks={"response": [hook(largest)]}, **options)


def async_client(http: ModuleType | None = None, **options: Any) -> Any:
    """An asynchronous client of httpx (or of httpx2) with limited answers. Redirects are not followed: a
    vendor's SDK would send its key along in a header of its own, which httpx does not take away."""
    http = http or _httpx()
    _, limited = _streams(http)

    async def limit(response: Any) -> None:
        _limit(response, limited, LARGEST)

    options["headers"] = {**IDENTITY, **options.get("headers", {})}
    return http.AsyncClient(event_hooks={"response": [limit]}, **options)


def _httpx() -> ModuleType:
    """The usual one of the two modules; importing it takes a fifth of a second, so it is done late."""
    import httpx

    return httpx


@dataclass(frozen=True)
class Fetched:
    """An answer to a request that was made beforehand, its body limited."""

    status: int
    headers: httpx.Headers
    content: bytes

    def json(self) -> Any:
        """The JSON of the body; raises ValueError for anything else."""
        try:
            return json_format.loads(self.content)
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def fetch(
    method: str, url: str, *, seconds: float, headers: dict[str, str] | None = None, json: Any = None
) -> Fetched:
    """One request, whose whole answer must be here within `seconds`.

    Raises NoAnswerError where there is none, and ModelError for one that is too large or compressed in a way
    that was not asked for, or where the certificate of the server is not trusted.
    """

    import httpx

    def call() -> Fetched:
        with client(largest=LARGEST_CHECK, headers=headers or {}, timeout=seconds) as made:
            answer = made.request(method, url, json=json)
            return Fetched(answer.status_code, answer.headers, answer.content)

    try:
        return in_time(call, seconds)
    except (httpx.TimeoutException, TimeoutError) as error:
        raise NoAnswerError(f"no whole answer within {seconds:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        if untrusted := tls_failure(error, url):
            raise ModelError(untrusted) from error
        raise NoAnswerError(str(error) or type(error).__name__) from error


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Call it in a thread of its own that keeps nobody from ending: neither an event loop nor the process."""
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(call)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    threading.Thread(target=work, daemon=True, name="fathoms-request").start()
    return future


async def apart(call: Callable[[], T]) -> T:
    """Call it in a thread of its own and wait on the event loop. Who is cancelled waits no longer, and the
    thread is left to itself: `asyncio.to_thread` would hold up the end of the loop for it."""
    return await asyncio.wrap_future(in_thread(call))


def in_time(call: Callable[[], T], seconds: float) -> T:
    """What the call returns; raises TimeoutError where that takes longer, and then leaves it to itself.

    A client's own time-out is for each wait on the socket. A server that sends one byte a second never
    exceeds it, so the limit for the whole call is kept here. The wait ends with a signal, too.
    """
    return in_thread(call).result(min(seconds, threading.TIMEOUT_MAX))


def tls_failure(error: BaseException, url: str) -> str | None:
    """The sentence for a connection that failed for its certificate or for TLS; None for any other reason."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ssl.SSLCertVerificationError):
            why = getattr(found, "verify_message", None)  # aiohttp's own error has none
            if why is None:
                found = found.__cause__ or found.__context__
                continue
            return (
                f"the TLS certificate of {urlsplit(url).hostname} is not trusted: {why};"
                " if it is your own server, name the certificate of its authority in SSL_CERT_FILE"
            )
        if isinstance(found, ssl.SSLError):
            why = found.reason or str(found)
            return f"TLS with {urlsplit(url).hostname} failed ({why}): is its address http:// instead?"
        found = found.__cause__ or found.__context__
    return None


class Pace:
    """Raises TimeoutError for a transfer that is slower than `slowest` bytes a second over `seconds`."""

    def __init__(self, slowest: float, seconds: float) -> None:
        self._slowest = slowest
        self._seconds = seconds
        self._since, self._bytes = time.monotonic(), 0

    def received(self, count: int) -> None:
        """So many bytes more are here."""
        self._bytes += count
        passed = time.monotonic() - self._since
        if passed < self._seconds:
            return
        if self._bytes < self._slowest * passed:
            raise TimeoutError(f"less than {self._slowest:g} bytes a second came for {passed:.0f} s")
        self._since, self._bytes = time.monotonic(), 0
