"""The long texts of runs, each stored once in a file named by its sha256: those of one run in its `blobs/`,
and those that the runs of a folder share in `.documents/` beside them."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.errors import StoreError
from fathoms.runs.folder import (
    LARGEST_FILE,
    LARGEST_TEXT,
    TooLongError,
    inflated,
    link_file,
    read_file,
    write_file,
)

if TYPE_CHECKING:
    from fathoms.runs.cache import Cache

SHARED = ".documents"
"""The folder, beside the runs, of the parsed documents that they share."""
QUESTIONS = ".questions"
"""The folder, beside the runs, of the versions of question sets that they were made with."""
_LONG = 400
_MANY = 500
"""From so many files on, it is faster to list their folder than to look for each."""
_Known = Sequence[tuple[str, Sequence[Any]]]
"""Texts that others may contain, in the order in which to look for them, each with its stored pieces."""
_NESTED = (dict, list)
"""The types of nested JSON; `dict | list` would be made again at each use."""
_NAME = re.compile(r"[0-9a-f]{64}")


class _Recent:
    """A cache of recently read texts, limited in characters, because many records share the same texts."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._texts: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> str | None:
        """A text, `None` where it is not in the cache."""
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def put(self, key: tuple[str, str], text: str) -> None:
        """Add a text, and remove those unused for longest until the limit holds."""
        with self._lock:
            if key in self._texts or len(text) > self._size:
                return
            self._texts[key] = text
            self._left -= len(text)
            while self._left < 0:
                self._left += len(self._texts.popitem(last=False)[1])


_recent = _Recent(64 * 2**20)


def hash_of(text: str) -> str:
    """The hash under which a text is stored."""
    return hashlib.sha256(_encoded(text)).hexdigest()


def packed_text(text: str) -> bytes:
    """Return the bytes of the file of a text (gzip), made fast rather than small. Raises TooLongError."""
    return gzip.compress(_short_enough(_encoded(text)), 1, mtime=0)


def _encoded(text: str) -> bytes:
    """The bytes of a text as they are stored."""
    return text.encode("utf-8", "replace")


def _short_enough(data: bytes) -> bytes:
    """Return the bytes of a text; raises TooLongError if they could not be read again."""
    if len(data) > LARGEST_TEXT:
        raise TooLongError(f"a text of {len(data) >> 20} MiB is more than a blob of a run can hold")
    return data


class Blobs:
    """Texts by hash, in the files `<folder>/<sha256>.gz` below `root`."""

    def __init__(self, root: Path, folder: str = "blobs") -> None:
        self._root = root
        self._folder = folder
        self._place = str(root / folder)
        self._absolute_root = str(root.absolute())
        self._absolute_folder = f"{self._absolute_root}/{folder}"
        self._written: set[str] = set()
        self._sound: dict[str, os.stat_result] = {}

    def __contains__(self, name: str) -> bool:
        return os.path.lexists(self._absolute(name))

    def _file(self, name: str) -> str:
        """Return the path of a text below `root`; raises StoreError for anything but a sha256."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise StoreError(f"{self._root}: '{name}' is not the name of a blob")
        return f"{self._folder}/{name}.gz"

    def there(self, names: Collection[str]) -> set[str]:
        """Return those of some texts that have a file."""
        if len(names) < _MANY:
            return {name for name in names if name in self}
        try:
            files = set(os.listdir(self._absolute_folder))  # noqa: PTH208 - a path for each would be slow
        except OSError:
            return set()
        return {name for name in names if f"{name}.gz" in files}

    def take(self, name: str, other: Blobs) -> None:
        """Have a text of another folder here, too, see `link_file`."""
        if name not in self:
            link_file(self._root, self._file(name), Path(other._absolute(name)))

    def put(self, text: str, *, mend: bool = False) -> str:
        """Store a text under its sha256; returns the hash. With `mend`, a damaged file of this name is
        written again. Raises TooLongError."""
        data = _short_enough(_encoded(text))
        name = hashlib.sha256(data).hexdigest()
        self._put(name, lambda: gzip.compress(data, 6, mtime=0), mend)
        return name

    def put_packed(self, name: str, packed: bytes) -> None:
        """Do the same with `mend` for the text of this hash, given as `packed_text` returned it."""
        self._put(name, lambda: packed, True)

    def _put(self, name: str, packed: Callable[[], bytes], mend: bool) -> None:
        """Write the file of a text unless it is there."""
        if name in self._written:
            return
        if name not in self or (mend and not self._is_sound(name)):
            write_file(self._root, self._file(name), packed())
            if mend:
                with suppress(OSError):
                    self._sound[name] = os.lstat(self._absolute(name))
        self._written.add(name)

    def _is_sound(self, name: str) -> bool:
        """Whether the file of a text can be read."""
        try:
            state = os.lstat(self._absolute(name))
            self._read(name)
        except (StoreError, OSError):
            return False
        self._sound[name] = state
        return True

    def sound(self, names: Iterable[str], cache: Cache) -> set[str]:
        """Return those texts whose file has not changed since `note_sound`."""
        paths, states = {self._absolute(name): name for name in names}, {}
        for path in paths:
            with suppress(OSError):
                states[path] = os.lstat(path)
        return {paths[path] for path in cache.sound_files(states)}

    def note_sound(self, cache: Cache) -> None:
        """Remember the files that `put` has written or verified with `mend`, in the state in which it left or
        found them: what changes afterwards does not count as sound."""
        cache.note_sound_files({self._absolute(name): state for name, state in self._sound.items()})

    def _absolute(self, name: str) -> str:
        """The absolute path of the file of a text."""
        return f"{self._absolute_root}/{self._file(name)}"

    def get(self, name: str) -> str:
        """Read a text by its hash; raises StoreError where it is missing or damaged."""
        text = _recent.get((self._place, str(name)))
        if text is None:
            text = self._read(name)
            _recent.put((self._place, name), text)
        return text

    def stored(self, name: str) -> bytes:
        """Read the file of a text as it is, damaged or not; raises FileNotFoundError and StoreError."""
        return read_file(self._root, self._file(name), LARGEST_TEXT + 2**20)

    def _read(self, name: str) -> str:
        """Read a text from its file; raises StoreError as `get` does."""
        try:
            data = inflated(self.stored(name))
            if hashlib.sha256(data).hexdigest() != name:
                raise ValueError("its content does not match its hash")
            return data.decode("utf-8")
        except (FileNotFoundError, ValueError) as error:
            raise StoreError(f"{self._root}: blob {name[:12]} cannot be read: {error}") from error

    def externalise(self, value: Any) -> Any:
        """Move the long texts inside plain data to blobs, leaving `{"blob": HASH}` in their place."""
        if isinstance(value, str):
            return {"blob": self.put(value)} if len(value) > _LONG else value
        if isinstance(value, dict):
            return {key: self.externalise(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.externalise(item) for item in value]
        return value

    def externalise_prompt(self, prompt: Mapping[str, Any], hits: Sequence[Mapping[str, Any]]) -> Any:
        """Do the same for a prompt, whose texts are made of others: its messages hold the context, which in
        turn holds the texts of the hits. Such a text becomes `{"joined": [...]}`, the list of its pieces, so
        that what many prompts share is stored once, and a prompt that differs from them only by its question
        needs no blob of its own."""
        long = {text for hit in hits if len(text := hit["chunk"].get("text", "")) > _LONG}
        known = [(text, [self.externalise(text)]) for text in sorted(long, key=len, reverse=True)]
        return self._joined(prompt, known)

    def _joined(self, value: Any, known: _Known) -> Any:
        if isinstance(value, str):
            if len(value) <= _LONG:
                return value
            pieces = self._pieces(value, known)
            return pieces[0] if len(pieces) == 1 else {"joined": pieces}
        if isinstance(value, dict):
            context = value.get("context")
            if isinstance(context, str) and len(context) > _LONG:
                known = [(context, self._pieces(context, known)), *known]
            return {key: self._joined(item, known) for key, item in value.items()}
        if isinstance(value, list):
            return [self._joined(item, known) for item in value]
        return value

    def _pieces(self, text: str, known: _Known) -> list[Any]:
        """Divide a text where the known texts first stand in it; other long pieces become blobs, too."""
        pieces: list[Any] = [text]
        for part, stored in known:
            for index, piece in enumerate(pieces):
                if isinstance(piece, str) and part in piece:
                    before, _, after = piece.partition(part)
                    pieces[index : index + 1] = [*filter(None, [before]), *stored, *filter(None, [after])]
                    break
        return [self.externalise(piece) for piece in pieces]

    def internalise(self, value: Any, keys: Collection[str] | None = None) -> Any:
        """Reverse both, in place; with `keys`, only in these values of an object. Raises StoreError, also
        where the texts together are too long, since one small blob can be named any number of times."""
        left = [LARGEST_FILE]
        if keys is None:
            return self._internalise(value, left) if isinstance(value, _NESTED) else value
        for key in keys:
            if isinstance(item := value.get(key), _NESTED):
                value[key] = self._internalise(item, left)
        return value

    def _internalise(self, value: dict[str, Any] | list[Any], left: list[int]) -> Any:
        if type(value) is list:
            for index, item in enumerate(value):
                if type(item) in _NESTED:
                    value[index] = self._internalise(item, left)
            return value
        assert isinstance(value, dict)
        if len(value) == 1:
            if isinstance(joined := value.get("joined"), list):
                pieces = self._internalise(joined, left)
                if not all(isinstance(piece, str) for piece in pieces):
                    raise StoreError(f"{self._root}: a text is joined of something that is not a text")
                return "".join(pieces)
            if "blob" in value:
                text = self.get(value["blob"])
                left[0] -= len(text)
                if left[0] < 0:
                    raise StoreError(f"{self._root}: the texts of one record are longer than 512 MiB")
                return text
        for key, item in value.items():
            # the free values of a question are never in blobs, and may have a key `blob` of their own
            if type(item) in _NESTED and key != "metadata":
                value[key] = self._internalise(item, left)
        return value


class Texts:
    """The long texts of a run by their hashes: its `own`, and those that the runs of its folder share."""

    def __init__(self, root: Path) -> None:
        self.own = Blobs(root)
        self._shared = Blobs(root.parent, SHARED)

    def put_shared(self, text: str) -> str:
        """Store a text beside the runs of this folder, which share it; returns its hash. A damaged file of
        another run is written again. Raises TooLongError."""
        return self._shared.put(text, mend=True)

    def put_shared_packed(self, name: str, packed: bytes) -> None:
        """Do the same for the text of this hash, given as `packed_text` returned it."""
        self._shared.put_packed(name, packed)

    def sound_shared(self, names: Iterable[str], cache: Cache) -> set[str]:
        """Return those texts beside the runs whose file has not changed since `note_sound_shared`."""
        return self._shared.sound(names, cache)

    def note_sound_shared(self, cache: Cache) -> None:
        """Remember which files `put_shared` has written or verified."""
        self._shared.note_sound(cache)

    def put(self, text: str) -> str:
        """Store a text in this run under its sha256; returns the hash. Raises TooLongError."""
        return self.own.put(text)

    def put_list(self, text: str) -> str:
        """Store a text beside the runs of this folder and as a file of this run, too, which is a hard link to
        it where the disk has such: it takes its space once, and a copied run has it. Returns its hash."""
        name = self.put_shared(text)
        self.own.take(name, self._shared)
        return name

    def there(self, names: Collection[str]) -> set[str]:
        """Return those of some texts that are stored in this run or beside it."""
        own = self.own.there(names)
        return own | self._shared.there([name for name in names if name not in own])

    def get(self, name: str) -> str:
        """Read a text by its hash, from this run or else from beside it; raises StoreError."""
        return (self.own if name in self.own else self._shared).get(name)

    def stored(self, name: str) -> bytes | None:
        """Read the file of a text as it is, for another machine; `None` where it cannot be read."""
        try:
            return (self.own if name in self.own else self._shared).stored(name)
        except (FileNotFoundError, StoreError):
            return None
