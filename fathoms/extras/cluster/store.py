"""Values of the shared cache: each has a checksum, and no failure of the cache ends a run."""

from __future__ import annotations

import hashlib
import io
import logging
import math
import os
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from fathoms.errors import StoreError
from fathoms.extras.cluster.places import UnreachableError, place_at
from fathoms.runs.cache import seal
from fathoms.runs.events import happened
from fathoms.runs.sharing import SharedStore

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds after which a request counts as failed."""
FAILURES = 3
"""So many failed requests in a row, or one that took most of the patience, and the place is left alone."""
PAUSE = 60.0
"""Seconds after which somebody looks, beside the work, whether it answers again."""
_READ, _WRITE = "read", "written"
_GOES_ON = {
    _READ: "What is missing on this machine is made here, which takes longer and changes no result",
    _WRITE: "New results are kept on this machine, and other machines make them again",
}
_AT_ONCE = 16
_MOST_WAITING = 64
_LARGE = 4 << 20
"""From so many bytes on, a value is written before anything else is done, lest several fill the memory."""
_HEAD = b"fathoms shared cache 1\n"
_PROBE = ("probe", "0" * 32)
_KEY = re.compile(r"[0-9a-f]{32,64}")
LARGEST = 256 << 20
"""The most bytes of the files of a folder that is shared."""
_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


class FsspecStore(SharedStore):
    """Bytes by (kind, key) at an address, for many machines at once; safe for threads, and after a fork.

    A value that fails its checksum counts as missing, so it is made and stored again. So does every value
    while the place does not answer: whatever lies there can be made again, and a run must not end for it.
    Both are reported once. A missing value is requested once, until it is stored from here. Values are
    written in the background; `finish` waits for them. With `refresh`, earlier values are ignored and written
    again. The address is one that `checked_address` returned. Raises MissingExtraError where its package is
    not installed.
    """

    def __init__(
        self, address: str, *, refresh: bool = False, patience: float = PATIENCE, pause: float = PAUSE
    ) -> None:
        self.address = address
        self.counts = {"taken": 0, "stored": 0, "damaged": 0, "failed": 0}
        self._place = place_at(address, patience)
        self._refresh = refresh
        self._patience, self._pause = patience, pause
        self._failures = 0
        self._retry_at: float | None = None
        """When a place that does not answer is tried again; `None` while it answers."""
        self._refused: set[str] = set()
        self._reported: set[str] = set()
        self._absent: set[str] = set()
        self._is_checked = False
        self._own = _Own(os.getpid())

    def check(self) -> None:
        """Read a value, which is written first where it is missing. Raises StoreError where only the user can
        help, so that a run ends before it has cost anything; a place that does not answer is reported, and
        the run goes on. It is done once, by whoever needs the place first."""
        if self._is_checked:
            return
        self._is_checked, how = True, _READ
        began = time.monotonic()
        try:
            if self._place.read(_name(*_PROBE)) is None:
                how = _WRITE
                self._place.write(_name(*_PROBE), sealed(*_PROBE, b"fathoms"))
        except StoreError as error:
            raise StoreError(f"the shared cache {self.address} cannot be {how}: {error}") from error
        except UnreachableError as error:
            self._note_failure(how, error, began)

    def probe(self) -> None:
        """Write a value and read it; raises StoreError where that fails, for whatever reason."""
        how = _WRITE
        try:
            self._place.write(_name(*_PROBE), sealed(*_PROBE, b"fathoms"))
            how = _READ
            self._place.read(_name(*_PROBE))
        except (StoreError, UnreachableError) as error:
            raise StoreError(f"the shared cache {self.address} cannot be {how}: {error}") from error

    def get(self, kind: str, key: str) -> bytes | None:
        """Read one value; `None` where there is none that is sound."""
        name = _name(kind, key)
        if self._refresh or name in self._absent:
            return None

        def read() -> bytes | None:
            if (data := self._place.read(name)) is None:
                self._absent.add(name)
            return data

        data = self._tried(_READ, read)
        if data is None:
            return None
        value = opened(kind, key, data)
        if value is None:
            self._absent.add(name)
            self._count("damaged")
            self._tell(
                "damaged",
                f"some values in the shared cache {self.address} are damaged: they are made and stored again",
            )
            return None
        self._count("taken")
        return value

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store one value: in the background, unless it is large."""
        name = _name(kind, key)
        self._absent.discard(name)

        def write() -> bool:
            self._place.write(name, sealed(kind, key, value))
            return True

        def tried() -> None:
            if self._tried(_WRITE, write):
                self._count("stored")

        if len(value) < _LARGE:
            self._here.write(tried)
        else:
            tried()

    def get_files(self, kind: str, key: str) -> dict[str, bytes] | None:
        """Read the files of a folder by their names; `None` where there are none that are sound."""
        data = self.get(kind, key)
        return None if data is None else unpacked_files(data)

    def put_files(self, kind: str, key: str, files: Iterable[Path]) -> bool:
        """Store the files of a folder as one value; returns whether they are small enough to be shared."""
        if (data := packed_files(files)) is None:
            return False
        self.put(kind, key, data)
        return True

    def finish(self) -> None:
        """Wait until everything is written, or has failed."""
        self._here.finish()

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Read the values that exist and are sound, several at once."""
        found = self._each(lambda key: self.get(kind, key), keys)
        return {key: value for key, value in zip(keys, found, strict=True) if value is not None}

    def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Store many values, several at once."""
        for key, value in values.items():
            self.put(kind, key, value)

    def _each(self, do: Callable[[str], T], keys: Sequence[str]) -> list[T]:
        """Do something for each key, in threads where there are several."""
        if len(keys) < 2:
            return [do(key) for key in keys]
        with ThreadPoolExecutor(min(_AT_ONCE, len(keys))) as pool:
            return list(pool.map(do, keys))

    def _tried(self, how: str, request: Callable[[], T]) -> T | None:
        """Make a request; `None` where it fails, or while the place is left alone."""
        if how in self._refused or self._is_left_alone():
            self._count("failed")
            return None
        began = time.monotonic()
        try:
            found = request()
        except (StoreError, UnreachableError) as error:
            self._note_failure(how, error, began)
            return None
        self._failures = 0
        return found

    def _is_left_alone(self) -> bool:
        """Whether the place did not answer. When the pause is over, a thread tries it in the background, so
        that an outage delays the work by its first requests only."""
        if self._retry_at is None:
            return False
        if time.monotonic() >= self._retry_at:
            self._retry_at = math.inf
            threading.Thread(target=self._ask_again, name="shared-cache-again", daemon=True).start()
        return True

    def _ask_again(self) -> None:
        """Read a value from the place, and use it again if it answers."""
        try:
            self._place.read(_name(*_PROBE))
        except (StoreError, UnreachableError):
            self._retry_at = time.monotonic() + self._pause
        else:
            self._failures, self._retry_at = 0, None

    def _note_failure(self, how: str, error: Exception, began: float) -> None:
        """Report once that a request failed. After several failures in a row, or one with a long wait,
        nothing is read or written for a while; if the place refuses reading or writing, it is never tried
        again."""
        self._count("failed")
        self._failures += 1
        waited = time.monotonic() - began >= self._patience / 2
        refused = isinstance(error, StoreError)
        if refused:
            self._refused.add(how)
        elif waited or self._failures >= FAILURES:
            self._retry_at = time.monotonic() + self._pause
        again = "It is not tried again by this command" if refused else "It is tried again from time to time"
        message = f"the shared cache {self.address} cannot be {how} ({error}). {_GOES_ON[how]}. {again}"
        self._tell(how, message)

    @property
    def _here(self) -> _Own:
        """What belongs to this process: threads and locks do not survive a fork."""
        if self._own.pid != os.getpid():
            self._own = _Own(os.getpid())
        return self._own

    def _tell(self, what: str, message: str) -> None:
        """Report something by the event `shared-cache`, the first time that it happens."""
        with self._here.lock:
            if what in self._reported:
                return
            self._reported.add(what)
        happened("shared-cache", level=logging.WARNING, what=what, message=message)

    def _count(self, what: str) -> None:
        """Count the outcome of a request for a value."""
        with self._here.lock:
            self.counts[what] += 1


class _Own:
    """What a process has for itself: a lock, and threads that write."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.lock = threading.Lock()
        self._room = threading.Semaphore(_MOST_WAITING)
        self._pool: ThreadPoolExecutor | None = None
        self._writes: set[Future[None]] = set()

    def write(self, write: Callable[[], None]) -> None:
        """Do something in a thread; waits while many others are to be done."""
        self._room.acquire()
        with self.lock:
            self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="shared-cache")
            self._writes.add(future := self._pool.submit(write))
        future.add_done_callback(self._written)

    def _written(self, future: Future[None]) -> None:
        """Forget a write that has ended, so that another may begin."""
        with self.lock:
            self._writes.discard(future)
        self._room.release()

    def finish(self) -> None:
        """Wait for everything that was started."""
        with self.lock:
            writes = list(self._writes)
        wait(writes)


def sealed(kind: str, key: str, value: bytes) -> bytes:
    """A value as it is stored: a line that says what it is, its checksum, and itself."""
    return b"".join((_HEAD, seal(kind, key, value), value))


def opened(kind: str, key: str, data: bytes) -> bytes | None:
    """The value in stored bytes; `None` where a byte of them is not as it was written."""
    start = len(_HEAD) + hashlib.sha256().digest_size
    value = data[start:]
    return value if data[:start] == _HEAD + seal(kind, key, value) else None


def _name(kind: str, key: str) -> str:
    """The name of a value below the address: keys begin with random digits, over which buckets spread
    load."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a fingerprint: {key!r}")
    return f"{kind}/{key[:2]}/{key}"


def packed_files(files: Iterable[Path]) -> bytes | None:
    """Pack files by their names; `None` where they are too large to be shared."""
    paths = sorted(files)
    if sum(path.stat().st_size for path in paths) > LARGEST:
        return None
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_STORED) as archive:
        for path in paths:
            archive.writestr(zipfile.ZipInfo(path.name, _ZIP_DATE), path.read_bytes())
    return packed.getvalue()


def unpacked_files(data: bytes) -> dict[str, bytes] | None:
    """Return packed files by their names, which name no folder; `None` where the data is no such archive.
    Nothing is decompressed, so the files are no larger than the data."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            plain = all(each.compress_type == zipfile.ZIP_STORED for each in entries)
            names = all(_NAME.fullmatch(each.filename) for each in entries)
            if not plain or not names or sum(each.file_size for each in entries) > len(data):
                return None
            return {each.filename: archive.read(each) for each in entries}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError):
        return None
