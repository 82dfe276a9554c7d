"""HTTP with untrusted servers: limits on the size of responses, and an end to every wait.

Every request of fathoms asks for an uncompressed response. A server that compresses anyway may use gzip,
once. The size limit applies to the decompressed bytes and is checked during decompression, so that a response
never takes more memory than the limit and one piece.
"""

from __future__ import annotations

import asyncio
import atexit
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
"""The most bytes of a response to a question."""
LARGEST_CHECK = 4 * 2**20
"""The most bytes of a response to a check before the run, such as the list of a server's models."""
IDENTITY = {"Accept-Encoding": "identity"}
"""The header that asks for an uncompressed response."""
_PIECE = 65536
_LONGEST_CODING = 40


class Body:
    """The body of one response: decompressed if gzipped, counted, and limited in size.

    `coding` is the value of the Content-Encoding header. `largest` is the limit in bytes, `None` for no
    limit. Raises ModelError for any compression but gzip, and where the limit is exceeded.
    """

    def __init__(self, coding: str | None, largest: int | None = LARGEST) -> None:
        named = (coding or "").strip().lower()
        self._inflate = None
        if named in ("gzip", "x-gzip"):
            self._inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif named not in ("", "identity"):
            raise ModelError(
                f"its answer is compressed as {named[:_LONGEST_CODING]!r}, which was not requested:"
                " have the server send its answers without compression"
            )
        self._largest = math.inf if largest is None else largest
        self._received = self._unpacked = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decompress received bytes; yields pieces of limited size."""
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
            self._unpacked = self._within(self._unpacked + len(piece))
            if piece:
                yield piece

    def end(self) -> None:
        """Note the end of the connection; raises NoAnswerError if a compressed body is incomplete."""
        if self._inflate is not None and self._received and not self._inflate.eof:
            raise NoAnswerError("its answer broke off: the compressed data has no end")

    def _within(self, size: int) -> int:
        """Return the size unless it exceeds the limit; raises ModelError."""
        if size > self._largest:
            raise ModelError(f"its answer is larger than {self._largest / 2**20:g} MB")
        return size


@cache
def _streams(http: ModuleType) -> tuple[type, type]:
    """The limited response streams for synchronous and asynchronous clients of httpx or httpx2."""

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
        """The decompressed bytes of another asynchronous stream."""

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
    """A response hook for a synchronous client of httpx or httpx2 that limits its responses."""
    limited, _ = _streams(http or _httpx())

    def limit(response: Any) -> None:
        _limit(response, limited, largest)

    return limit


def _limit(response: Any, stream: type, largest: int | None) -> None:
    """Replace the body of a response by the limited one, which is already decompressed."""
    body = Body(response.headers.get("Content-Encoding"), largest)
    response.headers.pop("Content-Encoding", None)  # else the client would decompress a second time
    response.stream = stream(response.stream, body)


def client(*, largest: int | None = LARGEST, **options: Any) -> httpx.Client:
    """A synchronous httpx client with limited responses. It follows redirects only if asked to."""
    import httpx

    options["headers"] = {**IDENTITY, **options.get("headers", {})}
    return httpx.Client(event_hooks={"response": [hook(largest)]}, **options)


@cache
def shared_client(largest: int | None = LARGEST) -> httpx.Client:
    """The one client of the process for such responses: opening a connection may take longer than a request.
    Its connections are closed when the process ends."""
    shared = client(largest=largest)
    atexit.register(shared.close)
    return shared


def async_client(http: ModuleType | None = None, **options: Any) -> Any:
    """An asynchronous client of httpx or httpx2 with limited responses. Redirects are not followed: a
    vendor's SDK sends its key in a header of its own, which httpx would not remove."""
    http = http or _httpx()
    _, limited = _streams(http)

    async def limit(response: Any) -> None:
        _limit(response, limited, LARGEST)

    options["headers"] = {**IDENTITY, **options.get("headers", {})}
    return http.AsyncClient(event_hooks={"response": [limit]}, **options)


def _httpx() -> ModuleType:
    """Import httpx late, since that takes a fifth of a second."""
    import httpx

    return httpx


@dataclass(frozen=True)
class Fetched:
    """The response to a check before the run."""

    status: int
    headers: httpx.Headers
    content: bytes

    def json(self) -> Any:
        """Parse the body as JSON; raises ValueError for anything else."""
        try:
            return json_format.loads(self.content)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def fetch(
    method: str, url: str, *, seconds: float, headers: dict[str, str] | None = None, json: Any = None
) -> Fetched:
    """Send one request, whose complete response must arrive within `seconds`.

    Raises NoAnswerError where none does, and ModelError for a response that is too large or compressed in an
    unsupported way, or where the server's certificate is not trusted.
    """

    from urllib.request import getproxies

    import httpx

    # reading all certificates takes 50 ms, and neither http:// nor a proxy reached by it needs any
    verify = url.lower().startswith("https:") or bool(getproxies())

    def call() -> Fetched:
        with client(largest=LARGEST_CHECK, headers=headers or {}, timeout=seconds, verify=verify) as http:
            answer = http.request(method, url, json=json)
            return Fetched(answer.status_code, answer.headers, answer.content)

    try:
        return in_time(call, seconds)
    except (httpx.TimeoutException, TimeoutError) as error:
        raise NoAnswerError(f"no complete answer within {seconds:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        if untrusted := tls_failure(error, url):
            raise ModelError(untrusted) from error
        raise NoAnswerError(str(error) or type(error).__name__) from error


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Run a call in a daemon thread, which delays the end of neither an event loop nor the process."""
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


async def await_in_thread(call: Callable[[], T]) -> T:
    """Run a call in a thread of its own and await it. On cancellation the thread is abandoned, whereas
    `asyncio.to_thread` would delay the end of the loop until it finishes."""
    return await asyncio.wrap_future(in_thread(call))


def in_time(call: Callable[[], T], seconds: float) -> T:
    """Run a call in a thread; raises TimeoutError where it takes longer than `seconds`, and then abandons it.

    A client's own time-out applies to each wait on the socket. A server that sends one byte per second never
    exceeds it, so the whole call is limited here. A signal interrupts the wait, too.
    """
    return in_thread(call).result(min(seconds, threading.TIMEOUT_MAX))


def tls_failure(error: BaseException, url: str) -> str | None:
    """Explain a connection error caused by the certificate or by TLS; `None` for any other cause."""
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
    """Raises TimeoutError for a transfer slower than `slowest` bytes per second over `seconds`."""

    def __init__(self, slowest: float, seconds: float) -> None:
        self._slowest = slowest
        self._seconds = seconds
        self._since, self._bytes = time.monotonic(), 0

    def received(self, count: int) -> None:
        """Count received bytes; raises TimeoutError where the transfer is too slow."""
        self._bytes += count
        passed = time.monotonic() - self._since
        if passed < self._seconds:
            return
        if self._bytes < self._slowest * passed:
            raise TimeoutError(f"less than {self._slowest:g} bytes a second came for {passed:.0f} s")
        self._since, self._bytes = time.monotonic(), 0
