"""The cache of computed results: one SQLite file that several processes may use at once.

Keys are fingerprints of everything that a value depends on, so stale values are never found: another parser
version means another key. Losing the file costs only time. Beside the file are folders for what is made of
documents: indexes, page images, parts of PDFs.

Every value is stored with a sha256 over its kind, key and bytes, which is checked when it is read. A value
that fails the check is not used and is computed again; a file that SQLite cannot read is renamed and replaced
by a new one. Both are reported by the event `cache-damaged`, whose message the command line prints. A
checksum finds damage but does not tell who wrote a value, so use only caches from people you trust.

Behind it there can be a shared cache for several machines (`fathoms/runs/sharing.py`). What follows from
documents is looked for there where this machine has none of it, and is stored in both.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import re
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
from stat import S_ISREG
from typing import Any, TypeVar

from fathoms.errors import StoreError, UsageError
from fathoms.paths import cache_dir, file_state, sha256_file, sweep
from fathoms.runs.events import happened
from fathoms.runs.folder import inflated
from fathoms.runs.sharing import SharedStore, address_of_environment, shared_store

T = TypeVar("T")
Forget = tuple[int, int, Callable[[], object]]
"""Something that `prune` can remove: its size in bytes, the day it was last used, and how to remove it."""

_TABLES = {
    "sealed": "CREATE TABLE sealed"
    " (kind TEXT, key TEXT, value BLOB, sha256 BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID",
    "used": "CREATE TABLE used (kind TEXT, key TEXT, day INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID",
}
_SIZE = "length(CAST(key AS BLOB)) + coalesce(length(CAST(value AS BLOB)), 0)"
_PAGES = "page_size=8192"
"""The page size of a new file. A vector of 384 numbers takes 2 kB, so that four share a page. It does not fit
into a page of 4,096 bytes, SQLite's default: it would take a further page of its own, 4.7 kB in all."""
_CHECKS = "cell_size_check=ON"
_PATIENCE = 60.0
"""How many seconds a process waits for others that hold the file."""
_OLD_TABLE = "entries"  # of earlier versions, without checksums
INVALID = (ValueError, TypeError, LookupError, RecursionError)
"""The errors that decoding a damaged value raises."""
_BATCH = 500
_SHORT = 500  # bytes of a text
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAY = 86_400
FOLDERS = ("indexes", "images", "parts")
"""The folders beside the file; their subfolders are named by fingerprints."""
LONGEST_TEXT = 1 << 28
"""The most bytes of a text before compression. Longer ones are neither stored nor decompressed, because a few
kilobytes of a damaged or foreign cache could otherwise fill the memory."""
SHARED = frozenset({"document", "native", "chunks", "page-vectors"})
"""The kinds of values that are looked for in the shared cache too, and are stored there. Replies are not
among them, because a measurement asks the model."""
FACTS = {"document": "document-facts", "chunks": "chunk-facts"}
"""The kinds of values with facts, which are stored under the same key, so that a reader of the facts need
not read the values. Facts hold for the very bytes of a value: writing a value removes those of the one
before it."""
_NOUNS = {
    "document": "parsed documents",
    "document-facts": "facts of parsed documents",
    "chunk-facts": "facts of chunks",
    "text": "texts of documents",
    "native": "documents in the form of their parser",
    "chunks": "chunks",
    "embedding": "embeddings",
    "vector-place": "places of vectors of documents",
    "vector-index": "lists of the vectors of a corpus",
    "vector-parts": "lists of the texts of documents",
    "page-vectors": "vectors of page images",
    "question-vectors": "vectors of questions for page images",
    "patches": "places of patches among the vectors of page images",
    "words": "places of words among the vectors of questions",
    "exact-pages": "results of exact searches",
    "page-index": "lists of the pages of an index",
    "reply": "replies",
    "spent": "costs of question sets",
    "file-hash": "hashes of files",
    "sound-file": "notes on files that were verified",
    "document-facts-list": "facts of parsed documents",
    "chunk-facts-list": "facts of chunks",
    "file-hash-list": "hashes of files",
    "sound-file-list": "notes on files that were verified",
}
_LISTS = tuple(kind for kind in _NOUNS if kind.endswith("-list"))
MANY = 500
"""With so many values or more, small ones are stored a second time as one list, see `put_list`."""
_DAMAGED = {
    sqlite3.SQLITE_ERROR,  # our SQL is valid, so a table or column must be missing
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_TOOBIG,
}
_SHORT_READ = sqlite3.SQLITE_IOERR_SHORT_READ  # the file was cut
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


class _ForeignError(sqlite3.DatabaseError):
    """An SQLite file whose tables are not those of a cache."""


@dataclass(frozen=True)
class Share:
    """The number of entries of one kind in the cache, and their bytes."""

    kind: str
    entries: int
    size: int


def tell_damage(what: str, message: str) -> None:
    """Report that something in the cache is damaged, and what is done about it."""
    happened("cache-damaged", level=logging.WARNING, what=what, message=message)


class Cache:
    """Bytes by (kind, key); safe for threads and for several processes.

    With `refresh`, earlier values are ignored and written again. `alone` keeps all values on this machine.
    Raises StoreError where the file cannot be used.
    """

    def __init__(self, folder: Path | None = None, *, refresh: bool = False, alone: bool = False) -> None:
        self.folder = folder or cache_dir()
        self.refresh = refresh
        self._alone = alone
        self._named: tuple[str | None] | None = None
        self._path = self.folder / "cache.sqlite"
        self._lock = threading.RLock()
        self._touched: set[tuple[str, str]] = set()
        self._hashes: dict[str, str] = {}
        self._reported: set[str] = set()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the cache in {self.folder} cannot be used: {error}") from error
        sweep(self.folder, *(self.folder / name for name in FOLDERS))

    def close(self) -> None:
        """Wait for the shared cache, store the day on which entries were used, and release the file."""
        if self.__dict__.get("shared") is not None:
            self.__dict__["shared"].finish()
        with suppress(sqlite3.Error):  # only makes the choice of `prune` less accurate
            self._note_use()
        self._db.close()

    # ----- the file

    def _open(self) -> None:
        """Connect to the file, replacing it where it is damaged. Raises OSError and sqlite3.Error."""
        self._connect()
        try:
            self._prepare()
        except sqlite3.Error as error:
            if not _is_damage(error):
                self._db.close()
                raise
            self._opened = self._identity()
            self._begin_afresh()
        else:
            self._opened = self._identity()

    def _connect(self) -> None:
        """Open a connection without reading the file."""
        self._db = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False)
        self._db.text_factory = lambda data: data.decode("utf-8", "replace")  # the checksum fails later

    def _identity(self) -> tuple[int, int] | None:
        """Identify the file by device and inode, to notice a replacement; `None` if missing."""
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _prepare(self) -> None:
        """Configure the connection, and create missing tables. A file that has triggers or views counts as
        damaged, because they would run when the file is read."""
        for setting in (_PAGES, "journal_mode=WAL", "synchronous=NORMAL", "trusted_schema=OFF", _CHECKS):
            self._set(setting)
        query = "SELECT name, type, sql FROM sqlite_master WHERE type <> 'index'"
        found = {name: (kind, sql) for name, kind, sql in self._db.execute(query)}
        if any(kind != "table" or sql != _TABLES.get(name, sql) for name, (kind, sql) in found.items()):
            raise _ForeignError("its tables are not those of a cache")
        if found.keys() >= _TABLES.keys():
            return
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for statement in _TABLES.values():
                self._db.execute(statement.replace("TABLE", "TABLE IF NOT EXISTS", 1))
            if _OLD_TABLE in found:
                self._db.execute(f"DROP TABLE IF EXISTS {_OLD_TABLE}")
                self._db.execute("DELETE FROM used")

    def _set(self, setting: str) -> None:
        """Make a setting of the connection. Where several processes open a new file at once, SQLite does not
        wait for the one that changes its journal, so this asks again. Raises sqlite3.Error."""
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute(f"PRAGMA {setting}")
                return
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > ends:
                    raise
            time.sleep(0.02)

    def _begin_afresh(self) -> None:
        """Rename the damaged file and create an empty one. Raises OSError and sqlite3.Error.

        Where another process has already done so, its file is opened. The old connection is closed only after
        that, so that no new file gets the inode of the old one.
        """
        from filelock import FileLock

        aside = self._path.with_name(self._path.name + ".damaged")
        with FileLock(self.folder / ".cache.lock"):
            mine = self._identity() == self._opened
            if mine:
                with suppress(FileNotFoundError):
                    self._path.replace(aside)
                for suffix in ("-wal", "-shm"):  # SQLite would apply the old ones to the new file
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            with suppress(sqlite3.Error):
                self._db.close()
            self._connect()
            self._prepare()
            self._opened = self._identity()
        self._touched.clear()
        if mine:
            tell_damage(
                "cache",
                f"the cache file {self._path} is damaged: it was renamed to {aside.name}, and its content"
                " will be recomputed",
            )

    def _do(self, how: str, action: Callable[[], T]) -> T:
        """Run `action`, once more on a new file if the old one turns out to be damaged. Raises StoreError,
        and sqlite3.Error where the disk is full."""
        try:
            with self._lock:
                try:
                    return action()
                except sqlite3.Error as error:
                    if not _is_damage(error):
                        raise
                self._begin_afresh()
                return action()
        except (OSError, sqlite3.Error) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if isinstance(error, sqlite3.Error) and code in _NO_ROOM:  # or at a limit on file sizes
                raise
            raise StoreError(f"the cache in {self.folder} cannot be {how}: {error}") from error

    # ----- the shared cache

    def share(self, address: str | None) -> None:
        """Use the shared cache at this address, by default that of `$FATHOMS_SHARED_CACHE` if there is one.

        Raises UsageError if this object used another one before, so that nothing of one configuration is
        stored where only another one said so, UsageError where the extra for it was deleted, and
        MissingExtraError where the package for it is missing. The place is asked when the first value is
        missing here; where it refuses, StoreError is raised then.
        """
        wanted = address or address_of_environment()
        if self._named is None:
            self._named = (wanted,)
            _ = self.shared  # a missing package is reported now
        elif self._named != (wanted,) and not self._alone:
            first, second = (name or "none" for name in (*self._named, wanted))
            raise UsageError(
                f"one command uses one shared cache, and its configurations name two ({first}, {second}): run"
                " them by separate commands, or give the same `cache:` to all"
            )

    @functools.cached_property
    def shared(self) -> SharedStore | None:
        """The shared cache, `None` without one."""
        if self._named is None:
            self._named = (address_of_environment(),)
        (address,) = self._named
        return None if self._alone or address is None else shared_store(address, refresh=self.refresh)

    def _share_of(self, kind: str) -> SharedStore | None:
        """The shared cache for values of a kind; `None` without one, or if they stay on this machine."""
        if kind not in SHARED or self.shared is None:
            return None
        self.shared.check()
        return self.shared

    def push(self) -> int:
        """Store in the shared cache what this machine holds of the kinds that are shared; returns the number
        of values, those that could not be stored included."""
        pushed = 0
        for kind in sorted(SHARED):
            keys = self.keys(kind)
            for start in range(0, len(keys), _BATCH):
                if (store := self._share_of(kind)) is not None:
                    store.put_many(kind, values := self._get_here(kind, keys[start : start + _BATCH]))
                    pushed += len(values)
        return pushed

    def keys(self, kind: str) -> list[str]:
        """Return the keys of all values of a kind on this machine."""
        query = "SELECT key FROM sealed WHERE kind = ?"
        return [key for (key,) in self._do("read", partial(self._select, query, (kind,)))]

    def _select(self, query: str, values: tuple[str, ...]) -> list[Any]:
        """Return the rows of a query."""
        return self._db.execute(query, values).fetchall()

    # ----- values

    def get(self, kind: str, key: str) -> bytes | None:
        """Read one value; `None` where there is none."""
        return self.get_many(kind, [key]).get(key)

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Read the values that exist and whose checksum fits; those of the shared cache are stored here."""
        found = self._get_here(kind, keys)
        if len(found) == len(set(keys)) or (store := self._share_of(kind)) is None:
            return found
        more = store.get_many(kind, [key for key in dict.fromkeys(keys) if key not in found])
        self._put_here({kind: more})
        return found | more

    def _get_here(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Read values of this machine."""
        rows = self._rows(kind, keys, "coalesce(CAST(value AS BLOB), x''), sha256")
        found = {key: value for key, value, stored in rows if stored == seal(kind, key, value)}
        if len(found) < len(rows):
            self.damaged(kind)
        self._touched.update((kind, key) for key in found)
        return found

    def holds(self, kind: str, keys: Sequence[str]) -> bool:
        """Whether there is a value under each of these keys; no value of this machine is read or checked.
        Those that only the shared cache holds are fetched, which all at once takes least time."""
        there = self.stored_keys(kind, keys)
        missing = [key for key in dict.fromkeys(keys) if key not in there]
        if missing and self._share_of(kind) is not None:
            parts = [missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH)]
            return sum(len(self.get_many(kind, part)) for part in parts) == len(missing)
        return not missing

    def stored_keys(self, kind: str, keys: Sequence[str]) -> set[str]:
        """Return those keys under which this machine has a value; no value is read or checked."""
        return {key for (key, *_) in self._rows(kind, keys, "key")}

    def _rows(self, kind: str, keys: Sequence[str], columns: str) -> list[Any]:
        """Read the keys that exist and other columns, without checking them."""
        if self.refresh:
            keys = [key for key in keys if (kind, key) in self._touched]
        keys = sorted(keys)  # in the order of the table: of 20,000, a third of the time

        def select() -> list[Any]:
            rows = []
            for start in range(0, len(keys), _BATCH):
                part = keys[start : start + _BATCH]
                placeholders = ",".join("?" * len(part))
                query = f"SELECT key, {columns} FROM sealed WHERE kind = ? AND key IN ({placeholders})"
                rows += self._db.execute(query, (kind, *part)).fetchall()
            return rows

        try:
            return self._do("read", select)
        except sqlite3.Error as error:
            raise StoreError(f"the cache in {self.folder} cannot be read: {error}") from error

    def damaged(self, kind: str) -> None:
        """Report, once per kind, that values are damaged; they are not used and are computed again."""
        if kind not in self._reported:
            self._reported.add(kind)
            noun = _NOUNS.get(kind, kind)
            tell_damage(kind, f"some {noun} in the cache in {self.folder} are damaged and will be recomputed")

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store one value under its kind and key."""
        self.put_many(kind, {key: value})

    def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Store many values of a kind in one transaction, see `put_all`."""
        self.put_all({kind: values})

    def put_all(self, values: Mapping[str, Mapping[str, bytes]]) -> bool:
        """Store values by kind and key in one transaction; facts of one of them (`FACTS`) that are not among
        them are removed. Returns whether they are stored: on a full disk none is, which is reported once."""
        for kind, some in values.items():
            if (store := self._share_of(kind)) is not None:
                store.put_many(kind, some)
        self._put_here(values)
        return not self.is_full

    def _put_here(self, values: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store values on this machine."""
        rows = [
            (kind, key, value, seal(kind, key, value))
            for kind, some in values.items()
            for key, value in some.items()
        ]
        outdated = [
            (about, key)
            for kind, some in values.items()
            if (about := FACTS.get(kind)) is not None
            for key in some
            if key not in values.get(about, {})
        ]
        lists = [(f"{FACTS[kind]}-list",) for kind, some in values.items() if kind in FACTS and some]

        def insert() -> None:
            with self._db:
                if outdated:
                    self._db.executemany("DELETE FROM sealed WHERE kind = ? AND key = ?", outdated)
                if lists:
                    self._db.executemany("DELETE FROM sealed WHERE kind = ?", lists)
                self._db.executemany("INSERT OR REPLACE INTO sealed VALUES (?, ?, ?, ?)", rows)

        try:
            self._do("written", insert)
        except sqlite3.Error as error:
            self.full(error)
        else:
            self._touched.update((kind, key) for kind, key, *_ in rows)

    def note_facts(self, kind: str, key: str, value: bytes, facts: str) -> None:
        """Store the facts of a value that was read, unless another process has written another value under
        its key since."""
        about, data = FACTS[kind], compressed(facts.encode())
        row = (about, key, data, seal(about, key, data))
        query = (
            "INSERT OR REPLACE INTO sealed SELECT ?, ?, ?, ?"
            " WHERE EXISTS (SELECT 1 FROM sealed WHERE kind = ? AND key = ? AND sha256 = ?)"
        )

        def insert() -> None:
            with self._db:
                self._db.execute(query, (*row, kind, key, seal(kind, key, value)))

        try:
            self._do("written", insert)
        except sqlite3.Error as error:
            self.full(error)
        else:
            self._touched.add((about, key))

    @property
    def is_full(self) -> bool:
        """Whether something could not be stored."""
        return "full" in self._reported

    def full(self, error: Exception) -> None:
        """Report once that the disk is full; new values are not stored and must be computed again."""
        if "full" not in self._reported:
            self._reported.add("full")
            message = f"the cache in {self.folder} cannot be written ({error}): new results are not stored"
            happened("cache-full", level=logging.WARNING, message=message)

    def get_text(self, kind: str, key: str) -> str | None:
        """Read a text that `put_text` stored; `None` where there is none."""
        return self.load(kind, key, lambda text: text)

    def load(self, kind: str, key: str, decode: Callable[[str], T]) -> T | None:
        """Decode a text that `put_text` stored; `None` where there is none.

        `decode` raises one of `INVALID` for an invalid text, which then counts as damaged.
        """
        return self.load_many(kind, {key: decode}).get(key)

    def load_many(self, kind: str, decoders: Mapping[str, Callable[[str], T]]) -> dict[str, T]:
        """Decode the texts that there are, each by the decoder of its key, as `load` does. A shared cache is
        asked for many at once, and no more of them are in memory before they are decoded."""
        keys, found = sorted(decoders), {}
        for start in range(0, len(keys), _BATCH):
            for key, value in self.get_many(kind, keys[start : start + _BATCH]).items():
                try:
                    found[key] = decoders[key](text_of(value))
                except INVALID:
                    self.damaged(kind)
        return found

    def put_text(self, kind: str, key: str, text: str, facts: str | None = None) -> bool:
        """Store a text, compressed, with what is known of it (`FACTS`); returns whether it is stored. One
        longer than `LONGEST_TEXT` is not, nor is anything on a full disk."""
        data = text.encode("utf-8")
        if len(data) > LONGEST_TEXT:
            return False
        values = {kind: {key: compressed(data)}}
        if facts is not None:
            values[FACTS[kind]] = {key: compressed(facts.encode())}
        return self.put_all(values)

    def load_list(self, kind: str, keys: Sequence[str], decode: Callable[[str], T]) -> T | None:
        """Decode what `put_list` stored for these keys in this order, as `load` does: of 20,000 documents,
        one value is read in place of 20,000. `None` where there is none, as for few keys."""
        return self.load(f"{kind}-list", _joined(keys), decode) if len(keys) >= MANY else None

    def put_list(self, kind: str, keys: Sequence[str], text: str) -> None:
        """Store what is known of many keys of a kind as one text. Lists of facts (`FACTS`) are removed as
        soon as one of their values is written, and all lists by `prune`: they are made again of single
        values."""
        if len(keys) >= MANY:
            self.put_text(f"{kind}-list", _joined(keys), text)

    def file_hash(self, path: Path) -> str:
        """The sha256 of a file, stored as long as its inode, size and times stay the same.

        The time of the inode's last change (ctime) is included, because programs can reset the modification
        time.
        """
        key = _file_key(path, path.stat())
        known = self._hashes.get(key) or self._known_hashes([key]).get(key)
        if known is not None:
            return known
        value = sha256_file(path)
        self.put("file-hash", key, value.encode())
        return value

    def file_hashes(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return what `file_hash` does for many files, read and stored together, which takes half the time.
        Left out are those that are no files or that nobody may read."""
        keys: dict[Path, str] = {}
        for path in paths:
            with suppress(OSError, ValueError):
                if S_ISREG((state := os.stat(path)).st_mode):  # noqa: PTH116 - of thousands, half the time
                    keys[path] = _file_key(path, state)
        wanted = list(dict.fromkeys(keys.values()))

        def listed(text: str) -> dict[str, str]:
            return dict(zip(wanted, filter(_SHA256.fullmatch, text.split()), strict=True))

        if (known := self.load_list("file-hash", wanted, listed)) is None:
            known, new = self._known_hashes(wanted), {}
            for path, key in keys.items():
                if key not in known:
                    with suppress(OSError):
                        known[key] = sha256_file(path)
                        new[key] = known[key].encode()
            if new:
                self.put_many("file-hash", new)
            if len(known) == len(wanted):
                self.put_list("file-hash", wanted, " ".join(known[key] for key in wanted))
        self._hashes.update(known)
        return {path: known[key] for path, key in keys.items() if key in known}

    def _known_hashes(self, keys: Sequence[str]) -> dict[str, str]:
        """The stored hashes of files, by their keys."""
        found = self.get_many("file-hash", keys)
        texts = {key: value.decode("ascii", "replace") for key, value in found.items()}
        return {key: text for key, text in texts.items() if _SHA256.fullmatch(text)}

    def sound_files(self, states: Mapping[str, os.stat_result]) -> set[str]:
        """Return those files, given their present states by their absolute paths, that `note_sound_files`
        recorded in the same state since the machine started."""
        keys = _sound_keys(states)
        if self.load_list("sound-file", list(keys), lambda _: True):
            return set(keys.values())
        found = self.get_many("sound-file", list(keys))
        if len(found) == len(keys):
            self.put_list("sound-file", list(keys), "sound")
        return {keys[key] for key in found}

    def note_sound_files(self, states: Mapping[str, os.stat_result]) -> None:
        """Remember that files are not damaged, in the states that they had when they were written, or just
        before they were read and verified."""
        if keys := _sound_keys(states):
            self.put_many("sound-file", dict.fromkeys(keys, b"sound"))

    # ----- its size

    def shares(self) -> list[Share]:
        """What the cache holds per kind, the largest first."""
        query = f"SELECT kind, count(*), sum({_SIZE}) FROM sealed GROUP BY kind"
        rows = self._do("read", lambda: self._db.execute(query).fetchall())
        found = [Share(str(kind), entries, size) for kind, entries, size in rows]
        for name in FOLDERS:
            sizes = [size for size, _, _ in self._removable_folders(name)]
            found += [Share(name, len(sizes), sum(sizes))] if sizes else []
        return sorted(found, key=lambda share: -share.size)

    def prune(self, max_size: int) -> int:
        """Remove the entries unused for longest until at most `max_size` bytes are left; returns the bytes
        freed.

        Do not call it while a run is using the cache. Raises StoreError.
        """
        try:
            freed = self._do("pruned", partial(self._prune, max_size))
        except sqlite3.Error as error:
            raise StoreError(f"the cache in {self.folder} cannot be pruned: {error}") from error
        return freed + self._forget_damaged()

    def _prune(self, max_size: int) -> int:
        """Prune the entries and the folders."""
        self._note_use()
        self._db.executemany("DELETE FROM sealed WHERE kind = ?", [(kind,) for kind in _LISTS])
        freed, over = 0, sum(share.size for share in self.shares()) - max_size
        for size, _, forget in sorted(self._removable(), key=lambda entry: entry[1]):
            if freed >= over:
                break
            forget()
            freed += size
        self._db.commit()
        if freed:
            self._db.execute("VACUUM")
        return freed

    def _forget_damaged(self) -> int:
        """Delete a damaged file that was set aside; returns its bytes."""
        path = self._path.with_name(self._path.name + ".damaged")
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreError(f"{path} cannot be deleted: {error.strerror}") from error
        return size

    def _removable(self) -> Iterator[Forget]:
        """Yield every entry and folder that can be removed."""
        query = (
            f"SELECT kind, key, {_SIZE}, CAST(coalesce(day, 0) AS INTEGER)"
            " FROM sealed LEFT JOIN used USING (kind, key)"
        )
        for kind, key, size, day in self._db.execute(query).fetchall():
            yield size, day, partial(self._forget, kind, key)
        for name in FOLDERS:
            yield from self._removable_folders(name)

    def _forget(self, kind: str, key: str) -> None:
        """Remove one entry; other processes see it after the next commit."""
        for table in _TABLES:
            self._db.execute(f"DELETE FROM {table} WHERE kind = ? AND key = ?", (kind, key))

    def _removable_folders(self, name: str) -> Iterator[Forget]:
        """Yield the subfolders of one folder."""
        for path in sorted((self.folder / name).glob("*/")):
            files = [file.stat() for file in path.rglob("*") if file.is_file()]
            last = max((int(max(stat.st_atime, stat.st_mtime)) for stat in files), default=0)
            yield sum(stat.st_size for stat in files), last // _DAY, partial(shutil.rmtree, path)

    def _note_use(self) -> None:
        """Store today as the last day of use of all entries read or written by this process."""
        today = int(time.time()) // _DAY
        with self._lock, self._db:
            # in the order of the table, and without writing what stands there: a sixth of the time
            rows = ((kind, key, today) for kind, key in sorted(self._touched))
            self._db.executemany(
                "INSERT INTO used VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET day = excluded.day WHERE day IS NOT excluded.day",
                rows,
            )


def seal(kind: str, key: str, value: bytes) -> bytes:
    """The checksum of a value with its kind and key, so that a value under another key does not match."""
    digest = hashlib.sha256(f"{kind}\0{key}\0".encode())
    digest.update(value)
    return digest.digest()


def _joined(keys: Iterable[str]) -> str:
    """The key of a list of what is known of these keys."""
    return hashlib.sha256("\n".join(keys).encode("utf-8", "surrogatepass")).hexdigest()


def compressed(text: bytes) -> bytes:
    """Return a text in UTF-8 as it is stored. A short one, such as facts, is not made shorter: that takes ten
    times as long as storing it."""
    return zlib.compress(text, 1 if len(text) > _SHORT else 0)


def text_of(value: bytes) -> str:
    """The text of a value that `put_text` stored; raises ValueError for any other."""
    return inflated(value, LONGEST_TEXT, wbits=zlib.MAX_WBITS).decode("utf-8")


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite reports a damaged file, rather than one that cannot be used at the moment."""
    code = getattr(error, "sqlite_errorcode", 0)  # missing on errors that Python itself raises
    return isinstance(error, _ForeignError) or code & 0xFF in _DAMAGED or code == _SHORT_READ


def _file_key(path: Path, state: os.stat_result) -> str:
    """The key of a file's hash, which changes when the file does."""
    # `path.absolute()` takes most of the time of a run on many documents that are known
    return _key_of(os.fsencode(os.path.join(os.getcwd(), path)), state)  # noqa: PTH109, PTH118


def _sound_keys(states: Mapping[str, os.stat_result]) -> dict[str, str]:
    """The paths of the regular files among these, by keys that change when the file does."""
    boot = _boot()
    return {
        f"{_key_of(os.fsencode(path), state)}|{boot}": path
        for path, state in states.items()
        if S_ISREG(state.st_mode)
    }


@functools.cache
def _boot() -> str:
    """Identify this start of the machine, after which files can have lost what was written before a power
    cut; empty where the system does not tell (other than Linux)."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _key_of(path: bytes, stat: os.stat_result) -> str:
    """The path and state of a file; its name need not be valid text."""
    device, inode, size, modified, changed = file_state(stat)
    return f"{path.hex()}|{device}|{inode}|{size}|{modified}|{changed}"
