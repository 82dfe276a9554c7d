"""One file over HTTP, resumed where it stopped.

The bytes go to `NAME.part`; beside it `NAME.part.etag` holds the validator that the server gave. The
rest is asked for with `Range` and `If-Range`, so that a file that has changed meanwhile is sent whole
(RFC 9110, sections 13.1.5 and 14.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

import fathoms
from fathoms.errors import DataError
from fathoms.patience import seconds_asked
from fathoms.transport import Pace, tls_failure

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


def download(url: str, part: Path, *, policy: Policy, on_bytes: Progress | None = None) -> None:
    """Fetch `url` into `part`, going on with what is there already.

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
    with httpx.Client(timeout=policy.timeout, follow_redirects=True, headers=headers) as asked:
        try:
            retrying(_attempt, asked, url, part, policy, on_bytes)
        except _RetryableError as error:
            kept = "; the same command goes on where this one stopped" if _etag(part).exists() else ""
            raise DataError(f"{url}: {error} ({policy.attempts} attempts){kept}") from error
        except httpx.HTTPError as error:
            raise DataError(f"{url}: {error}") from error
    _etag(part).unlink(missing_ok=True)


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
