"""Downloads one file over HTTP, and resumes a download that was interrupted.

The bytes are written to `NAME.part`. The validator that the server sent (ETag or Last-Modified) is kept in
`NAME.part.etag`. A resumed download asks for the rest with `Range` and `If-Range`, so that the server sends
the whole file again if it has changed in the meantime (RFC 9110, sections 13.1.5 and 14.2).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from fathoms import __version__
from fathoms.errors import DataError, NotThereError, UsageError
from fathoms.models.calling.retry_after import retry_after_seconds
from fathoms.safety.masking import without_logins
from fathoms.safety.transport import Pace, tls_failure

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""The IPv6 prefix of addresses that a NAT64 gateway translates to IPv4 (RFC 6052)."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the request is retried."""


@dataclass(frozen=True)
class Policy:
    """Retry, timeout and size limits of a download; pauses and timeouts are in seconds."""

    attempts: int = 5
    first_pause: float = 1.0
    longest_pause: float = 60.0
    timeout: float = 30.0
    max_bytes: int = 2**32
    slowest: float = 1024.0
    """Lowest accepted rate in bytes per second, averaged over `slow_seconds`; below it the attempt fails."""
    slow_seconds: float = 60.0


class _RetryableError(Exception):
    """An attempt failed, but another may succeed. `after` is the wait in seconds that the server asked for,
    `None` if it named none."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


Progress = Callable[[int, int | None], None]
"""Called with the number of bytes received so far and the total, `None` if the server does not state it."""


def download(
    url: str, part: Path, *, policy: Policy, on_bytes: Progress | None = None, public_only: bool = False
) -> None:
    """Download `url` into the file `part`, resuming if a part of it is already there.

    With `public_only`, only public servers are contacted and only over https, redirects included; any other
    address raises UsageError.

    Connection errors and the statuses in `BUSY` are retried, after the server's `Retry-After` if there is
    one and it is not longer than `longest_pause`. Raises DataError when all attempts have failed, for any
    other error status, and for a file larger than `max_bytes`.
    """

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        backoff = policy.first_pause * 2.0 ** (state.attempt_number - 1)
        after = error.after if isinstance(error, _RetryableError) else None
        return min(backoff if after is None else after, policy.longest_pause)

    retrying = Retrying(
        stop=stop_after_attempt(policy.attempts),
        wait=pause,
        retry=retry_if_exception_type(_RetryableError),
        reraise=True,
    )
    headers = {"Accept-Encoding": "identity", "User-Agent": f"fathoms/{__version__}"}
    hooks = {"request": [_require_public]} if public_only else {}
    with httpx.Client(
        timeout=policy.timeout, follow_redirects=True, headers=headers, event_hooks=hooks
    ) as http:
        try:
            retrying(_attempt, http, url, part, policy, on_bytes)
        except _RetryableError as error:
            hint = "; run the same command again to resume the download" if _etag(part).exists() else ""
            raise DataError(f"{url}: {error} ({policy.attempts} attempts){hint}") from error
        except httpx.HTTPError as error:
            raise DataError(f"{url}: {error}") from error
    _etag(part).unlink(missing_ok=True)


def _require_public(request: httpx.Request) -> None:
    """Raise UsageError if a request does not go to a public server over https.

    A host is refused if any of its addresses is not public. A host whose name cannot be resolved here is
    allowed, because the HTTP client may reach it through a proxy.
    """
    url, why = request.url, ""
    if url.scheme != "https":
        why = "it is not https"
    else:
        with suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(url.host, url.port or 443, type=socket.SOCK_STREAM)
            near = [place[0] for *_, place in found if not is_public(str(place[0]))]
            why = f"{near[0]} is not a public address" if near else ""
    if why:
        raise UsageError(
            f"{without_logins(str(url))} comes from a data set that is not part of fathoms, and {why}:"
            " no request was sent; add --trust if you trust the origin of the data set"
        )


def is_public(address: str) -> bool:
    """Return whether an IP address is public; an IPv6 address that embeds an IPv4 one is judged by that."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found in _NAT64:
        found = ipaddress.IPv4Address(found.packed[-4:])
    inner = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None) or found
    return inner.is_global and not inner.is_multicast


def _attempt(client: httpx.Client, url: str, part: Path, policy: Policy, on_bytes: Progress | None) -> None:
    """Send one request for the missing bytes and write them to `part`."""
    start = part.stat().st_size if part.exists() and _etag(part).exists() else 0
    ask = {"Range": f"bytes={start}-", "If-Range": _etag(part).read_text("utf-8")} if start else {}
    try:
        with client.stream("GET", url, headers=ask) as response:
            _check_status(response, policy)
            # The body is either the whole file or the rest of it from byte `start` on.
            rest = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            continues = response.status_code == HTTPStatus.PARTIAL_CONTENT and start > 0 and rest
            if response.status_code != HTTPStatus.OK and not continues:
                part.unlink(missing_ok=True)
                raise _RetryableError("the server cannot resume the download")
            if response.status_code == HTTPStatus.OK:
                start = 0
                part.unlink(missing_ok=True)
                _store_validator(response, part)
            _receive(response, part, start, policy, on_bytes)
    except (httpx.TransportError, TimeoutError) as error:
        if untrusted := tls_failure(error, url):
            raise DataError(f"{url}: {untrusted}") from error
        raise _RetryableError(str(error) or type(error).__name__) from error


def _check_status(response: httpx.Response, policy: Policy) -> None:
    """Raise for a status other than 200, 206 and 416, and for a compressed body. Raises _RetryableError for a
    status in `BUSY`, otherwise DataError."""
    status = response.status_code
    if status in BUSY:
        after = retry_after_seconds(response.headers)
        if after is not None and after > policy.longest_pause:
            # Waiting that long would look like a hang: report the time and let the user decide.
            raise DataError(f"{response.url}: status {status}, the server asks to wait {after:.0f} s")
        raise _RetryableError(f"status {status} {response.reason_phrase}", after)
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise NotThereError(f"{response.url}: status {status} {response.reason_phrase}")
    if status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
        raise DataError(f"{response.url}: status {status} {response.reason_phrase}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise DataError(f"{response.url}: the server sent a compressed file although none was asked for")


def _receive(
    response: httpx.Response, part: Path, start: int, policy: Policy, on_bytes: Progress | None
) -> None:
    """Append the body to the first `start` bytes of `part`, within the size and rate limits of the policy."""
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else None
    done, pace = start, Pace(policy.slowest, policy.slow_seconds)
    with part.open("ab" if start else "wb") as file:
        for piece in response.iter_raw():
            done += len(piece)
            if max(done, total or 0) > policy.max_bytes:
                raise DataError(f"{response.url}: larger than the limit of {policy.max_bytes} bytes")
            file.write(piece)
            pace.received(len(piece))
            if on_bytes:
                on_bytes(done, total)


def _store_validator(response: httpx.Response, part: Path) -> None:
    """Store the validator that a later `If-Range` needs. RFC 9110 forbids weak ETags there, so
    `Last-Modified` is used instead. With neither, nothing is stored and the download cannot be resumed."""
    etag = response.headers.get("ETag", "W/")
    validator = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    if validator:
        _etag(part).write_text(validator, encoding="utf-8")
    else:
        _etag(part).unlink(missing_ok=True)


def _etag(part: Path) -> Path:
    """Return the path of the file that holds the validator of a partial download."""
    return part.with_name(part.name + ".etag")
