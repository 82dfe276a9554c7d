"""Append-only files of JSON lines.

A line that was written is with the operating system: it survives the end of the process, also `kill -9`. A
line that was synced as well is on the disk: it also survives a power cut.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import StoreError
from fathoms.paths import write_all
from fathoms.runs.folder import LARGEST_TEXT, TooLongError, is_intact, open_file, opener, sealed_line

JOURNAL = "journal.jsonl"
"""The name of a run's journal."""
_BEGINNING = b'{"question": '


class Line(NamedTuple):
    """A line: its number from 1, its offset in bytes, and its text. `flaw` says why the text cannot be used,
    where that is known; the text is then empty."""

    number: int
    offset: int
    text: bytes
    flaw: str | None = None

    @property
    def is_half(self) -> bool:
        """Whether a line that is not JSON is only the beginning of one, because its writer was killed or is
        still writing. Any other such line is damaged, and has to be reported."""
        text = self.text.rstrip()
        starts = text.startswith(_BEGINNING) or _BEGINNING.startswith(text)
        return starts and not text.endswith(b"}") and b'"crc": "' not in text[-30:]


class OpenJournal:
    """A journal that is kept open by its only writer. Raises StoreError where it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = FileIO(path, "a+", opener=opener)
            self._end = self._file.seek(0, os.SEEK_END)
            self._gap = b""
            if self._end:
                self._file.seek(-1, os.SEEK_END)
                if self._file.read(1) != b"\n":
                    self._gap = b"\n"  # ends the partial line of a killed writer
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, lines: Iterable[bytes], *, synced: bool = False) -> None:
        """Write lines made by `journal_line`; raises StoreError, and then removes what was written."""
        data = self._gap + b"".join(lines)
        try:
            try:
                write_all(self._file, data)
                if synced:
                    os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(self._end)  # remove the partial write, for example on a full disk
                raise
        except OSError as error:
            raise self._unwritable(error) from error
        self._end += len(data)
        self._gap = b""

    def sync(self) -> None:
        """Have everything that was written put on the disk, and wait for it. Raises StoreError, also where
        the file was moved away or deleted, because what is written to it would be lost."""
        try:
            os.fsync(self._file.fileno())
            if not os.path.samestat(os.fstat(self._file.fileno()), os.lstat(self._path)):
                raise StoreError(f"{self._path} was replaced while the run was written: resume the run")
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the file of the journal."""
        self._file.close()

    def _unwritable(self, error: OSError) -> StoreError:
        """Say why the file cannot be written."""
        link = "it is a link" if self._path.is_symlink() else None
        return StoreError(f"{self._path} cannot be written: {link or error.strerror or error}")


class Journal:
    """A file with one line per finished answer or rating. Every line ends with its checksum."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: Iterable[bytes]) -> None:
        """Append lines made by `journal_line`, and sync them; raises StoreError, and then removes what was
        written."""
        with closing(OpenJournal(self.path)) as journal:
            journal.write(lines, synced=True)

    def __iter__(self) -> Iterator[Line]:
        """Yield every line in order; none where there is no file yet. Raises StoreError where the file
        cannot be read. A last line without a line feed may be partial: its writer was killed, or is still
        writing."""
        offset = 0
        for number, (text, size) in enumerate(self.unchecked(), start=1):
            if text is None:
                yield Line(number, offset, b"", f"it is longer than {LARGEST_TEXT >> 20} MiB")
            elif is_intact(text):
                yield Line(number, offset, text)
            else:
                yield Line(number, offset, b"", "its checksum does not match")
            offset += size

    def unchecked(self) -> Iterator[tuple[bytes | None, int]]:
        """Yield every line with its size, without comparing its checksum; `None` for one that is too long.
        Raises StoreError where the file cannot be read."""
        try:
            file = open_file(self.path.parent, self.path.name)
        except FileNotFoundError:
            return
        with file:
            for text in iter(partial(file.readline, LARGEST_TEXT), b""):
                size = len(text)
                if size < LARGEST_TEXT or text.endswith(b"\n"):
                    yield text, size
                    continue
                while (rest := file.readline(LARGEST_TEXT)) and not rest.endswith(b"\n"):
                    size += len(rest)
                yield None, size + len(rest)


def journal_line(value: Mapping[str, Any]) -> bytes:
    """Make a journal line; raises TooLongError for one that could not be read again."""
    line = sealed_line(json.dumps(value).encode())
    if len(line) >= LARGEST_TEXT:
        raise TooLongError(f"{len(line) >> 20} MiB are more than a line of a journal can hold")
    return line
