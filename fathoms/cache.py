"""What need not be computed twice, in one SQLite file that several processes may use at once.

Keys are fingerprints, so nothing stale is ever found: another parser version is another key. Losing the
file costs time and nothing else.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fathoms.errors import StoreError
from fathoms.paths import cache_dir, sha256_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (kind TEXT, key TEXT, value BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID
"""
_BATCH = 500


class Cache:
    """Bytes by (kind, key); safe for threads and for several processes.

    Values are compressed where `compress` is asked for. Raises StoreError where the file cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_dir()
        self._lock = threading.Lock()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.folder / "cache.sqlite", timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            with self._db:
                self._db.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the cache in {self.folder} cannot be used: {error}") from error

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def get(self, kind: str, key: str) -> bytes | None:
        """One value, `None` where there is none."""
        return self.get_many(kind, [key]).get(key)

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values there are."""
        found: dict[str, bytes] = {}
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
