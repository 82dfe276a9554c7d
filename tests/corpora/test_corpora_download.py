"""Downloads over a real socket: resuming is proven by the bytes that the server sent."""

from __future__ import annotations

import random
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora.download import Policy, download
from fathoms.errors import DataError

BODY = random.Random(7).randbytes(300_000)
QUICK = Policy(attempts=3, first_pause=0.01, timeout=5.0)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "paper.pdf.part"


def test_a_whole_file_with_progress(server: Any, part: Path) -> None:
    server.add("/a", BODY)
    seen: list[tuple[int, int | None]] = []
    download(server.url("/a"), part, policy=QUICK, on_bytes=lambda done, total: seen.append((done, total)))
    assert part.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert [path.name for path in part.parent.iterdir()] == [part.name]


def test_a_broken_connection_is_resumed_and_no_byte_is_sent_twice(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"cut": 100_000}, {"cut": 50_000}])
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert server.sent("/a") == [100_000, 50_000, 150_000]
    assert [request.range for request in server.log] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_goes_on_where_the_first_gave_up(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"cut": 200_000}])
    with pytest.raises(DataError, match=r"1 attempts\); run the same command again"):
        download(server.url("/a"), part, policy=Policy(attempts=1))
    assert part.stat().st_size == 200_000
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert server.sent("/a") == [200_000, 100_000]


def test_a_file_that_changed_meanwhile_is_fetched_whole(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"cut": 200_000}])
    with pytest.raises(DataError):
        download(server.url("/a"), part, policy=Policy(attempts=1))
    newer = BODY[::-1]
    server.add("/a", newer, etag='"v2"')
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == newer
    assert server.log[-1].status == 200


@pytest.mark.parametrize(
    ("etag", "modified", "resumed"),
    [
        (None, "Wed, 21 Oct 2015 07:28:00 GMT", True),
        ('W/"weak"', "Wed, 21 Oct 2015 07:28:00 GMT", True),
        ('W/"weak"', None, False),
        (None, None, False),
    ],
)
def test_only_a_strong_validator_lets_it_resume(
    server: Any, part: Path, etag: str | None, modified: str | None, resumed: bool
) -> None:
    server.add("/a", BODY, etag=etag, modified=modified, faults=[{"cut": 100_000}])
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert server.sent("/a") == [100_000, 200_000 if resumed else 300_000]


def test_more_than_there_is_begins_anew(server: Any, part: Path) -> None:
    part.write_bytes(BODY)
    part.with_name(part.name + ".etag").write_text('"v1"')
    server.add("/a", BODY)
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert [request.status for request in server.log] == [416, 200]


def test_a_partial_response_that_begins_elsewhere_is_not_glued_on(server: Any, part: Path) -> None:
    part.write_bytes(BODY[:1000])
    part.with_name(part.name + ".etag").write_text('"v1"')
    server.add("/a", BODY, faults=[{"headers": {"Content-Range": "bytes 0-299999/300000"}}])
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert [request.status for request in server.log] == [206, 200]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: Any, part: Path, status: int) -> None:
    server.add("/a", BODY, faults=[{"status": status, "headers": {"Retry-After": "0"}}, {"status": status}])
    download(server.url("/a"), part, policy=QUICK)
    assert part.read_bytes() == BODY
    assert [request.status for request in server.log] == [status, status, 200]


def test_retry_after_is_waited_for(server: Any, part: Path) -> None:
    server.add("/a", b"x", faults=[{"status": 503, "headers": {"Retry-After": "1"}}])
    before = datetime.now(UTC)
    download(server.url("/a"), part, policy=QUICK)
    assert datetime.now(UTC) - before >= timedelta(seconds=1)


def test_a_server_that_wants_too_long_a_pause_ends_it(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"status": 503, "headers": {"Retry-After": "3600"}}])
    with pytest.raises(DataError, match=r"status 503, the server asks to wait 3600 s"):
        download(server.url("/a"), part, policy=QUICK)
    assert len(server.log) == 1


def test_attempts_are_finite(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"status": 502}] * 9)
    with pytest.raises(DataError, match=r"status 502 Bad Gateway \(3 attempts\)$"):
        download(server.url("/a"), part, policy=QUICK)
    assert len(server.log) == 3


def test_a_file_that_is_not_there_is_asked_for_once(server: Any, part: Path) -> None:
    with pytest.raises(DataError, match="status 404 Not Found"):
        download(server.url("/nothing"), part, policy=QUICK)
    assert len(server.log) == 1
    assert not part.exists()


def test_a_refused_connection_is_retried_and_named(part: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a"
        with pytest.raises(DataError, match=r"refused.*\(3 attempts\)"):
            download(url, part, policy=QUICK)


def test_a_server_that_says_nothing_times_out(part: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a"
        with pytest.raises(DataError, match=r"timed out \(1 attempts\)"):
            download(url, part, policy=Policy(attempts=1, timeout=0.2))


@pytest.mark.parametrize("length", [{}, {"Content-Length": "10"}])
def test_too_large_a_file_is_refused(server: Any, part: Path, length: dict[str, str]) -> None:
    server.add("/a", BODY, faults=[{"headers": length}])
    limit = 5 if length else 100_000
    with pytest.raises(DataError, match=f"larger than the limit of {limit} bytes"):
        download(server.url("/a"), part, policy=Policy(attempts=1, max_bytes=limit))
    assert part.stat().st_size <= limit


def test_a_compressed_body_is_refused(server: Any, part: Path) -> None:
    server.add("/a", BODY, faults=[{"headers": {"Content-Encoding": "gzip"}}])
    with pytest.raises(DataError, match="sent a compressed file"):
        download(server.url("/a"), part, policy=QUICK)
