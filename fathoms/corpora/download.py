"""One file over HTTP, resumed where it stopped.

The bytes go to `NAME.part`; beside it `NAME.part.etag` holds the validator that the server gave. The
rest is asked for with `Range` and `If-Range`, so that a file that has changed meanwhile is sent whole
(RFC 9110, sections 13.1.5 and 14.2).
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

import fathoms
from fathoms.errors import DataError, UsageError
from fathoms.models.calling.lane import seconds_asked
from fathoms.safety.masking import without_logins
from fathoms.safety.transport import Pace, tls_failure

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""Addresses of IPv6 that a gateway translates to IPv4 (RFC 6052)."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Policy:
    """How patient a download is: pauses and time-outs in seconds."""

    attempts: int = 5
    first_pause: float = 1.0
    longest_pause: float = 60.0
    timeout: float = 30.0
    max_bytes: int = 2**30
    slowest: float = 1024.0
    """Bytes a second, on average over `slow_seconds`; less is as good as nothing."""
    slow_seconds: float = 60.0


class _RetryableError(Exception):
    """An attempt failed in a way that another one may not; `after` is when the server wants it."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


Progress = Callable[[int, int | None], None]
"""Called with the bytes that are here and, if the server says, those there will be."""


def download(
    url: str, part: Path, *, policy: Policy, on_bytes: Progress | None = None, public_only: bool = False
) -> None:
    """Fetch `url` into `part`, going on with what is there already.

    With `public_only`, nothing is asked but public servers by https, also where a server sends us on: raises
    UsageError for every other address.

    Connection errors and busy servers are tried again, after `Retry-After` if it is not too long.
    Raises DataError when that does not help, at other statuses, and for more than `max_bytes`.
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
    headers = {"Accept-Encoding": "identity", "User-Agent": f"fathoms/{fathoms.__version__}"}
    hooks = {"request": [_require_public]} if public_only else {}
    with httpx.Client(
        timeout=policy.timeout, follow_redirects=True, headers=headers, event_hooks=hooks
    ) as asked:
        try:
            retrying(_attempt, asked, url, part, policy, on_bytes)
        except _RetryableError as error:
            kept = "; the same command goes on where this one stopped" if _etag(part).exists() else ""
            raise DataError(f"{url}: {error} ({policy.attempts} attempts){kept}") from error
        except httpx.HTTPError as error:
            raise DataError(f"{url}: {error}") from error
    _etag(part).unlink(missing_ok=True)


def _require_public(request: httpx.Request) -> None:
    """Raise UsageError where a request goes to anything but a public server by https.

    A host with any address that is not public is refused. One that cannot be looked up here is left to the
    client, which may have a proxy for it.
    """
    url, why = request.url, ""
    if url.scheme != "https":
        why = "it is not https"
    else:
        with suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(url.host, url.port or 443, type=socket.SOCK_STREAM)
            near = [place[0] for *_, place in found if not is_public(str(place[0]))]
            why = f"{near[0]} is no public address" if near else ""
    if why:
        raise UsageError(
            f"{without_logins(str(url))} is named by a data set from elsewhere, and {why}: nothing was asked"
            " there; add --trust if you trust the origin of the data set"
        )


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public network, also where one of IPv6 stands for one of IPv4."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found in _NAT64:
        found = ipaddress.IPv4Address(found.packed[-4:])
    inner = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None) or found
    return inner.is_global and not inner.is_multicast


def _attempt(client: httpx.Client, url: str, part: Path, policy: Policy, on_bytes: Progress | None) -> None:
    """One request for what is still missing."""
    start = part.stat().st_size if part.exists() and _etag(part).exists() else 0
    ask = {"Range": f"bytes={start}-", "If-Range": _etag(part).read_text("utf-8")} if start else {}
    try:
        with client.stream("GET", url, headers=ask) as response:
            _check_status(response, policy)
            if not _continues(response, start):
                part.unlink(missing_ok=True)
                raise _RetryableError("the server cannot go on with what came before")
            if response.status_code == HTTPStatus.OK:
                start = 0
                part.unlink(missing_ok=True)
                _remember(response, part)
            _receive(response, part, start, policy, on_bytes)
    except (httpx.TransportError, TimeoutError) as error:
        if untrusted := tls_failure(error, url):
            raise DataError(f"{url}: {untrusted}") from error
        raise _RetryableError(str(error) or type(error).__name__) from error


def _check_status(response: httpx.Response, policy: Policy) -> None:
    """Raise for a status that is neither the file nor a reason to begin anew."""
    status = response.status_code
    if status in BUSY:
        after = seconds_asked(response.headers)
        if after is not None and after > policy.longest_pause:
            raise DataError(f"{response.url}: status {status}, the server asks to come back in {after:.0f} s")
        raise _RetryableError(f"status {status} {response.reason_phrase}", after)
    if status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
        raise DataError(f"{response.url}: status {status} {response.reason_phrase}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise DataError(f"{response.url}: the server compresses what was asked for as it is")


def _continues(response: httpx.Response, start: int) -> bool:
    """Whether the body is the whole file, or its rest from `start` on."""
    if response.status_code == HTTPStatus.OK:
        return True
    rest = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
    return response.status_code == HTTPStatus.PARTIAL_CONTENT and start > 0 and rest


def _receive(
    response: httpx.Response, part: Path, start: int, policy: Policy, on_bytes: Progress | None
) -> None:
    """Write the body behind the first `start` bytes."""
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


def _remember(response: httpx.Response, part: Path) -> None:
    """Keep the validator for `If-Range`; a weak one cannot be used there."""
    etag = response.headers.get("ETag", "W/")
    validator = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    if validator:
        _etag(part).write_text(validator, encoding="utf-8")
    else:
        _etag(part).unlink(missing_ok=True)


def _etag(part: Path) -> Path:
    """Where the validator of a partial file is kept."""
    return part.with_name(part.name + ".etag")
