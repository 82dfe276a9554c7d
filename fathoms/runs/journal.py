"""Append-only files of JSON lines; what `append` has written is on disk when it returns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
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
        begun = text.startswith(_BEGINNING) or _BEGINNING.startswith(text)
        return begun and not text.endswith(b"}") and b'"crc": "' not in text[-30:]


class Journal:
    """A file with one line per finished answer or rating. Every line ends with its checksum."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: Iterable[bytes]) -> None:
        """Append lines made by `journal_line`; raises StoreError, and then removes what was written."""
        data = b"".join(lines)
        try:
            with FileIO(self.path, "a+", opener=opener) as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    if end:
                        file.seek(-1, os.SEEK_END)
                        if file.read(1) != b"\n":
                            data = b"\n" + data  # end the partial line of a killed writer
                    write_all(file, data)
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(end)  # remove the partial write, for example on a full disk
                    raise
        except OSError as error:
            link = "it is a link" if self.path.is_symlink() else None
            why = link or error.strerror or error
            raise StoreError(f"{self.path} cannot be written: {why}") from error

    def __iter__(self) -> Iterator[Line]:
        """Yield every line in order; none where there is no file yet. Raises StoreError where the file
        cannot be read. A last line without a line feed may be partial: its writer was killed, or is still
        writing."""
        try:
            file = open_file(self.path.parent, self.path.name)
        except FileNotFoundError:
            return
        offset = 0
        with file:
            for number, text in enumerate(iter(partial(file.readline, LARGEST_TEXT), b""), start=1):
                size = len(text)
                if size == LARGEST_TEXT and not text.endswith(b"\n"):
                    while (rest := file.readline(LARGEST_TEXT)) and not rest.endswith(b"\n"):
                        size += len(rest)
                    size += len(rest)
                    yield Line(number, offset, b"", f"it is longer than {LARGEST_TEXT >> 20} MiB")
                elif is_intact(text):
                    yield Line(number, offset, text)
                else:
                    yield Line(number, offset, b"", "its checksum does not match")
                offset += size


def journal_line(value: Mapping[str, Any]) -> bytes:
    """Make a journal line; raises TooLongError for one that could not be read again."""
    line = sealed_line(json.dumps(value).encode())
    if len(line) >= LARGEST_TEXT:
        raise TooLongError(f"{len(line) >> 20} MiB are more than a line of a journal can hold")
    return line
