"""The shared cache, in a folder and in a real S3 server on loopback that is slow, fails, or is cut off."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fathoms.errors import ConfigError, MissingExtraError, StoreError, UsageError
from fathoms.extras.cluster.store import FsspecStore
from fathoms.runs.cache import Cache
from fathoms.runs.sharing import VARIABLE, checked_address
from tests.support.s3_server import ENVIRONMENT, Fault, Faults, faulty, s3_server

KEY, OTHER = "0123456789abcdef" * 2, "f" * 32


@pytest.fixture(scope="module")
def server() -> Iterator[Faults]:
    """A real server behind the proxy."""
    with s3_server() as upstream, faulty(upstream) as faults:
        yield faults


@pytest.fixture
def s3(server: Faults, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Faults]:
    """The server, without faults, and the environment of its client."""
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": server.address}.items():
        monkeypatch.setenv(name, value)
    server.requests.clear()
    yield server
    server.of = lambda method: "none"


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    """A prefix of this test alone."""
    return f"s3://bucket/{request.node.name.replace('[', '-').strip(']')}"


def failing(*methods: str, fault: Fault):
    """What fails these methods."""
    return lambda method: fault if method in methods else "none"


def put(store: FsspecStore, key: str, value: bytes) -> None:
    """Store a value, and wait until it is there."""
    store.put("document", key, value)
    store.finish()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the command line would have printed, so far."""
    return [record.facts["message"] for record in caplog.records if hasattr(record, "facts")]


def files(folder: Path) -> list[Path]:
    """The files below a folder, without the probe."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and "probe" not in path.parts)


def test_a_value_is_stored_with_a_checksum_that_other_programs_compute_too(tmp_path: Path) -> None:
    put(FsspecStore(f"file://{tmp_path}"), KEY, b"text")
    (path,) = files(tmp_path)
    assert path.relative_to(tmp_path).as_posix() == f"document/01/{KEY}"
    given = b"document\0" + KEY.encode() + b"\0text"
    found = subprocess.run(["sha256sum"], input=given, capture_output=True, check=True).stdout.split()[0]
    assert path.read_bytes() == b"fathoms shared cache 1\n" + bytes.fromhex(found.decode()) + b"text"


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_a_flipped_byte_is_never_used_and_is_replaced(
    tmp_path: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    store = FsspecStore(f"file://{tmp_path}")
    put(store, KEY, b"text")
    (path,) = files(tmp_path)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1
    path.write_bytes(data)
    assert store.get("document", KEY) is None
    assert store.get("document", KEY) is None
    (message,) = messages(caplog)
    assert "damaged: they are made and stored again" in message
    put(store, KEY, b"text")
    assert store.get("document", KEY) == b"text"


def test_a_value_under_another_key_is_not_used(tmp_path: Path) -> None:
    store = FsspecStore(f"file://{tmp_path}")
    put(store, KEY, b"text")
    (path,) = files(tmp_path)
    elsewhere = tmp_path / "document" / "ff" / OTHER
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(path.read_bytes())
    assert store.get("document", OTHER) is None


@pytest.mark.slow
def test_a_hit_is_one_request_and_a_check_one_or_two(s3: Faults, address: str) -> None:
    store = FsspecStore(address)
    store.check()
    assert [line.split("?")[0].split(" ")[0] for line in s3.requests] == ["GET", "PUT"]
    s3.requests.clear()
    FsspecStore(address).check()
    put(store, KEY, b"text")
    assert store.get("document", KEY) == b"text"
    assert store.get("document", OTHER) is None
    assert store.get("document", OTHER) is None  # without asking again
    place = f"/{address.removeprefix('s3://')}"
    assert s3.requests == [
        f"GET {place}/probe/00/{'0' * 32}",
        f"PUT {place}/document/01/{KEY}",
        f"GET {place}/document/01/{KEY}",
        f"GET {place}/document/ff/{OTHER}",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "slow", "cut"])
def test_a_server_that_fails_is_a_missing_value_and_a_warning(
    s3: Faults, address: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    put(FsspecStore(address), KEY, b"text" * 1000)
    s3.of, s3.delay = failing("GET", fault=fault), 2.0
    store = FsspecStore(address, patience=0.5) if fault == "slow" else FsspecStore(address)
    assert store.get("document", KEY) is None
    assert store.get("document", KEY) is None
    (message,) = messages(caplog)
    assert message.startswith(f"the shared cache {address} cannot be read (")
    assert "What is missing on this machine is made here" in message
    s3.of = lambda method: "none"
    # two failures do not close it, and one that was waited for does
    assert store.get("document", KEY) == (None if fault == "slow" else b"text" * 1000)
    assert store.counts["failed"] == (3 if fault == "slow" else 2)


@pytest.mark.parametrize("fault", ["500", "cut"])
def test_half_an_upload_leaves_nothing(
    s3: Faults, address: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    s3.of = failing("PUT", fault=fault)
    store = FsspecStore(address)
    put(store, KEY, b"text" * 1000)
    assert "New results are kept on this machine" in messages(caplog)[0]
    assert store.get("document", KEY) is None
    s3.of = lambda method: "none"
    put(store, KEY, b"text" * 1000)
    assert store.get("document", KEY) == b"text" * 1000


@pytest.mark.slow
def test_one_failure_in_between_is_made_good_by_the_client(
    s3: Faults, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = FsspecStore(address)
    put(store, KEY, b"text")
    faults = iter(["500", "none"])
    s3.of = lambda method: next(faults)
    assert store.get("document", KEY) == b"text"
    assert messages(caplog) == []


def test_a_place_that_fails_three_times_is_left_alone_for_a_while(s3: Faults, address: str) -> None:
    s3.of = failing("GET", fault="500")
    store = FsspecStore(address, pause=600)
    for _ in range(3):
        store.get("document", KEY)
    s3.requests.clear()
    s3.of = lambda method: "none"
    store.get("document", KEY)
    assert (s3.requests, store.counts["failed"]) == ([], 4)
    put(store, KEY, b"text")
    assert (s3.requests, store.counts["failed"]) == ([], 5)


@pytest.mark.slow
def test_a_place_that_accepts_and_never_answers_takes_one_deadline(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten reads and ten writes, only the first is waited for; whether the place is back is asked beside
    the work, and then it is used again."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, and nobody reads
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": endpoint}.items():
            monkeypatch.setenv(name, value)
        store = FsspecStore(address, patience=1.0, pause=0.2)
        began = time.monotonic()
        for at in range(10):
            store.get("document", f"{at:032}")
            store.put("document", f"{at:032}", b"x" * at)
        time.sleep(0.3)
        store.get("document", OTHER)  # the pause is over, and somebody looks beside this
        store.finish()
        assert time.monotonic() - began < 8  # 1 s by the deadline; 20 s without it
        assert store.counts == {"taken": 0, "stored": 0, "damaged": 0, "failed": 21}


def test_a_place_that_is_back_is_used_again(s3: Faults, address: str) -> None:
    s3.of = failing("GET", "PUT", fault="500")
    store = FsspecStore(address, pause=0.05)
    for _ in range(3):
        put(store, KEY, b"text")
    s3.of = lambda method: "none"
    until = time.monotonic() + 60
    while (failed := store.counts["failed"]) and store.get("document", OTHER) is None:
        if store.counts["failed"] == failed:  # it was asked, and said that there is none
            break
        assert time.monotonic() < until
        time.sleep(0.02)
    put(store, KEY, b"text")
    assert store.get("document", KEY) == b"text"


@pytest.mark.slow
def test_what_only_the_user_can_mend_ends_a_command_before_it_has_cost_anything(
    s3: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        StoreError, match=r"s3://none/x cannot be written: there is no such bucket .* create it"
    ):
        FsspecStore("s3://none/x").check()
    s3.of = lambda method: "403"
    with pytest.raises(
        StoreError, match=r"cannot be read: access is denied .* check the credentials"
    ) as raised:
        FsspecStore("s3://bucket/x").check()
    assert "planted" not in str(raised.value)
    for name in ENVIRONMENT:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(StoreError, match=r"access is denied .*Unable to locate credentials"):
        FsspecStore("s3://bucket/x").check()


@pytest.mark.slow
def test_a_server_that_is_not_there_does_not_end_a_command(
    s3: Faults, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    FsspecStore(address).check()
    assert "cannot be read (EndpointConnectionError" in messages(caplog)[0]


@pytest.mark.slow
def test_who_may_only_read_does_so(s3: Faults, address: str, caplog: pytest.LogCaptureFixture) -> None:
    first = FsspecStore(address)
    first.check()
    put(first, KEY, b"text")
    s3.of = failing("PUT", fault="403")
    reader = FsspecStore(address)
    reader.check()
    put(reader, OTHER, b"more")
    put(reader, OTHER, b"more")
    assert "cannot be written (access is denied" in messages(caplog)[0]
    assert reader.get("document", KEY) == b"text"
    assert [line.split()[0] for line in s3.requests] == ["GET", "PUT", "PUT", "GET", "PUT", "GET"], "once"


CHILDREN = """
import os, sys
from contextlib import closing
from pathlib import Path
from fathoms.runs.cache import Cache
from fathoms.extras.cluster.store import FsspecStore

def key(number): return f"{number:032x}"

store = FsspecStore(os.environ["FATHOMS_SHARED_CACHE"])
store.put("document", key(0), b"of the parent")  # its client and threads are not those of the children
store.finish()
children = []
for number in range(int(sys.argv[2])):
    if (child := os.fork()) == 0:
        values = {key(1000 * (number + 1) + at): b"%d %d" % (number, at) for at in range(4)}
        with closing(Cache(Path(sys.argv[1]))) as cache:
            cache.put_many("document", values | {key(1): b"of all" * 10_000})
            assert cache.get("document", key(0)) == b"of the parent"
            failed = cache.shared.counts["failed"] + store.counts["failed"]
        assert store.get_many("document", list(values)) == values
        os._exit(failed)
    children.append(child)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(codes.count(0))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "writers"), [("file", 8), ("s3", 4), pytest.param("s3", 32, marks=pytest.mark.long)]
)
def test_many_writers_at_once_lose_nothing(
    kind: str, writers: int, s3: Faults, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are forks of a process that has used the place before, and write to one cache of a machine too."""
    monkeypatch.setenv(VARIABLE, where := address if kind == "s3" else f"file://{tmp_path / 'shared'}")
    command = [sys.executable, "-c", CHILDREN, str(tmp_path / "machine"), str(writers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == (str(writers), 0), done.stderr
    store = FsspecStore(where)
    with closing(Cache(tmp_path / "machine", alone=True)) as machine:
        for number in range(writers):
            wanted = {f"{1000 * (number + 1) + at:032x}": b"%d %d" % (number, at) for at in range(4)}
            assert store.get_many("document", list(wanted)) == wanted
            assert machine.get_many("document", list(wanted)) == wanted
    assert store.get("document", f"{1:032x}") == b"of all" * 10_000
    assert store.counts == {"taken": 4 * writers + 1, "stored": 0, "damaged": 0, "failed": 0}


# ----- behind the cache of a machine


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that all machines of a test share."""
    monkeypatch.setenv(VARIABLE, f"file://{tmp_path / 'shared'}")
    return tmp_path / "shared"


def given(folder: Path, key: str, value: bytes, **options: bool) -> None:
    """Store a value in the cache of a machine, and end its process."""
    with closing(Cache(folder, **options)) as cache:
        cache.put("document", key, value)


def test_what_one_machine_has_made_another_one_finds(shared: Path, tmp_path: Path) -> None:
    with closing(Cache(tmp_path / "1")) as first:
        first.put_text("document", KEY, "text")
    with closing(Cache(tmp_path / "2")) as second:
        assert second.holds("document", [KEY])
        assert second.get_text("document", KEY) == "text"
        assert second.load_many("document", {OTHER: int, KEY: str.upper}) == {KEY: "TEXT"}
        assert second.shared is not None
        assert second.shared.counts["taken"] == 1, "the second time it is on this machine"
        assert not second.holds("document", [KEY, OTHER])


def test_replies_and_hashes_of_files_stay_on_a_machine(shared: Path, tmp_path: Path) -> None:
    with closing(Cache(tmp_path / "1")) as cache:
        for kind in ("reply", "spent", "corpus", "file-hash", "embedding"):
            cache.put_text(kind, KEY, "text")
    assert files(shared) == []
    with closing(Cache(tmp_path / "2")) as other:
        assert other.get_text("reply", KEY) is None


def test_a_damaged_value_of_a_machine_is_taken_from_the_shared_cache(shared: Path, tmp_path: Path) -> None:
    given(tmp_path / "1", KEY, b"text")
    with closing(Cache(tmp_path / "1")) as cache:
        cache._db.execute("UPDATE sealed SET value = ? WHERE key = ?", (b"test", KEY))
        cache._db.commit()
        assert cache.get("document", KEY) == b"text"
        assert cache.get_many("document", [KEY, KEY]) == {KEY: b"text"}


def test_no_cache_and_refresh(shared: Path, tmp_path: Path) -> None:
    given(tmp_path / "1", KEY, b"old")
    given(tmp_path / "2", OTHER, b"mine", alone=True)
    with closing(Cache(tmp_path / "2", alone=True)) as alone:
        alone.share("s3://somewhere/else")
        assert alone.get("document", KEY) is None
    with closing(Cache(tmp_path / "3", refresh=True)) as again:
        assert again.get("document", KEY) is None
        assert again.get("document", OTHER) is None
        again.put("document", KEY, b"new")
        assert again.get("document", KEY) == b"new"
    with closing(Cache(tmp_path / "4")) as last:
        assert last.get("document", KEY) == b"new"


def test_one_command_has_one_shared_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with closing(Cache(tmp_path / "1")) as cache:
        cache.share(f"file://{tmp_path}/a")
        cache.share(f"file://{tmp_path}/a")
        for other in (f"file://{tmp_path}/b", None):
            with pytest.raises(UsageError, match=r"name two \(file://.*/a, .*separate commands"):
                cache.share(other)
    with closing(Cache(tmp_path / "2")) as none:
        assert none.shared is None


@pytest.mark.parametrize(
    "address",
    [
        *("bucket/prefix", "/mnt/cache", "s3://", "memory://x", "http://host/x", "file://relative/folder"),
        *("simplecache::s3://bucket/x", "s3://key:secret@bucket/x", "s3://bucket/x?key=1", "s3://bucket//x"),
        *("s3://bucket/../x", "s3://bucket/a b", "file:///", "s3://" + "b" * 1000),
    ],
)
def test_an_address_is_a_place_and_nothing_else(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"address of a shared cache|empty part|whole path") as raised:
        checked_address(address)
    assert "secret@" not in str(raised.value)
    monkeypatch.setenv(VARIABLE, address)
    with closing(Cache()) as cache, pytest.raises(ConfigError, match=f"^{VARIABLE}: "):
        cache.share(None)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(
        MissingExtraError, match=r"shared cache gs://bucket/x needs the package 'gcsfs'.*\[gs\]"
    ):
        FsspecStore("gs://bucket/x")
