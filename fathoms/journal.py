"""Lines of JSON, appended: what is on the disk when `append` returns is there for good."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import StoreError
from fathoms.paths import write_all


class Line(NamedTuple):
    """A whole line: its number, from 1, the byte where it begins, and what it says."""

    number: int
    offset: int
    value: Any


class Journal:
    """One file, one line a finished answer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: bytes) -> None:
        """Add whole lines; raises StoreError, and then no part of them stays."""
        try:
            with FileIO(self.path, "a+") as file:
                end = file.seek(0, os.SEEK_END)
                try:
                    if end and not _ends_line(file):
                        lines = b"\n" + lines  # a killed writer left half a line: close it off
                    write_all(file, lines)
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(end)  # a full disk
                    raise
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def __iter__(self) -> Iterator[Line]:
        """Every whole line, in order; none where there is no file yet."""
        if not self.path.exists():
            return
        offset = 0
        with self.path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                with suppress(ValueError):  # half a line of a writer that was killed: never counted as done
                    yield Line(number, offset, json.loads(text))
                offset += len(text)


def _ends_line(file: FileIO) -> bool:
    """Whether the last byte is a line feed."""
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")
