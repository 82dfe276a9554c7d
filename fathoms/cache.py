"""What need not be computed twice, in one SQLite file that several processes may use at once.

Keys are fingerprints, so nothing stale is ever found: another parser version is another key. Losing the
file costs time and nothing else. Beside it are folders of what is made of documents: indexes, images of
pages, parts of PDFs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fathoms.errors import StoreError
from fathoms.paths import cache_dir, sha256_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (kind TEXT, key TEXT, value BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used (kind TEXT, key TEXT, day INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID
"""
_BATCH = 500
_DAY = 86_400
FOLDERS = ("indexes", "images", "parts")
"""What is kept beside the file, each in folders named by fingerprints."""


@dataclass(frozen=True)
class Share:
    """One kind of what is cached: how many entries, and their bytes."""

    kind: str
    entries: int
    size: int


class Cache:
    """Bytes by (kind, key); safe for threads and for several processes.

    With `refresh`, what was kept before is not looked at and is written anew. Raises StoreError where the
    file cannot be used.
    """

    def __init__(self, folder: Path | None = None, *, refresh: bool = False) -> None:
        self.folder = folder or cache_dir()
        self.refresh = refresh
        self._lock = threading.Lock()
        self._touched: set[tuple[str, str]] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.folder / "cache.sqlite", timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the cache in {self.folder} cannot be used: {error}") from error

    def close(self) -> None:
        """Note the day on which entries were used, and release the file."""
        with suppress(sqlite3.Error):  # it only makes `prune` choose less well
            self._note_use()
        self._db.close()

    def get(self, kind: str, key: str) -> bytes | None:
        """One value, `None` where there is none."""
        return self.get_many(kind, [key]).get(key)

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values there are."""
        found: dict[str, bytes] = {}
        if self.refresh:
            keys = [key for key in keys if (kind, key) in self._touched]
        try:
            with self._lock:
                for start in range(0, len(keys), _BATCH):
                    part = keys[start : start + _BATCH]
                    marks = ",".join("?" * len(part))
                    found.update(
                        self._db.execute(
                            f"SELECT key, value FROM entries WHERE kind = ? AND key IN ({marks})",
                            (kind, *part),
                        )
                    )
        except sqlite3.Error as error:
            raise StoreError(
                f"the cache in {self.folder} cannot be read: {error}; delete it to begin afresh"
            ) from error
        self._touched.update((kind, key) for key in found)
        return found

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep one value."""
        self.put_many(kind, {key: value})

    def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Keep many values in one transaction."""
        rows: Iterable[tuple[str, str, bytes]] = ((kind, key, value) for key, value in values.items())
        try:
            with self._lock, self._db:
                self._db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise StoreError(f"the cache in {self.folder} cannot be written: {error}") from error
        self._touched.update((kind, key) for key in values)

    def get_text(self, kind: str, key: str) -> str | None:
        """A text that `put_text` kept."""
        value = self.get(kind, key)
        return None if value is None else zlib.decompress(value).decode("utf-8")

    def put_text(self, kind: str, key: str, text: str) -> None:
        """Keep a long text, compressed."""
        self.put(kind, key, zlib.compress(text.encode("utf-8"), 1))

    def file_hash(self, path: Path) -> str:
        """The sha256 of a file, remembered as long as its size and time of change stay."""
        stat = path.stat()
        name = os.fsencode(path.resolve()).hex()  # a name need not be text
        key = f"{name}|{stat.st_size}|{stat.st_mtime_ns}"
        known = self.get("file-hash", key)
        if known is not None:
            return known.decode()
        value = sha256_file(path)
        self.put("file-hash", key, value.encode())
        return value

    # ----- its size

    def shares(self) -> list[Share]:
        """What is kept by kind, the largest first."""
        query = "SELECT kind, count(*), sum(length(key) + length(value)) FROM entries GROUP BY kind"
        with self._lock:
            found = [Share(*row) for row in self._db.execute(query)]
        for name in FOLDERS:
            sizes = [size for size, _, _ in self._made(name)]
            found += [Share(name, len(sizes), sum(sizes))] if sizes else []
        return sorted(found, key=lambda share: -share.size)

    def prune(self, max_size: int) -> int:
        """Forget what was not used for longest until at most `max_size` bytes are kept; the bytes freed.

        Not for a time in which something runs. Raises StoreError.
        """
        try:
            self._note_use()
            freed, over = 0, sum(share.size for share in self.shares()) - max_size
            for size, _, forget in sorted(self._kept(), key=lambda kept: kept[1]):
                if freed >= over:
                    break
                forget()
                freed += size
            with self._lock:
                self._db.commit()
                if freed:
                    self._db.execute("VACUUM")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the cache in {self.folder} cannot be pruned: {error}") from error
        return freed

    def _kept(self) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """Every entry and folder: its bytes, the day it was used last, and what forgets it."""
        query = (
            "SELECT kind, key, length(key) + length(value), coalesce(day, 0)"
            " FROM entries LEFT JOIN used USING (kind, key)"
        )
        with self._lock:
            rows = self._db.execute(query).fetchall()
        for kind, key, size, day in rows:
            yield size, day, partial(self._forget, kind, key)
        for name in FOLDERS:
            yield from self._made(name)

    def _forget(self, kind: str, key: str) -> None:
        """Take out one entry; seen by others with the next commit."""
        with self._lock:
            for table in ("entries", "used"):
                self._db.execute(f"DELETE FROM {table} WHERE kind = ? AND key = ?", (kind, key))

    def _made(self, name: str) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """The folders of one kind, as `_kept` has them."""
        for path in sorted((self.folder / name).glob("*")):
            files = [file.stat() for file in path.rglob("*") if file.is_file()]
            last = max((int(max(stat.st_atime, stat.st_mtime)) for stat in files), default=0)
            yield sum(stat.st_size for stat in files), last // _DAY, partial(shutil.rmtree, path)

    def _note_use(self) -> None:
        """Remember the day of what was read and written here."""
        today = int(time.time()) // _DAY
        with self._lock, self._db:
            rows = ((kind, key, today) for kind, key in self._touched)
            self._db.executemany("INSERT OR REPLACE INTO used VALUES (?, ?, ?)", rows)
