"""Strict reading of files from users: limited in size, UTF-8 only, and strictly parsed."""

from __future__ import annotations

import codecs
import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, MissingFileError, UsageError

READ_ONLY = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_BINARY", "O_NOCTTY", "O_NOINHERIT", "O_NONBLOCK")
)
"""Opens a file to read its bytes. Without O_NONBLOCK, opening a pipe would wait for somebody to write to it;
Windows has no such files, but changes line ends without O_BINARY."""
LARGEST = 256 * 2**20
"""The most bytes of a question file, a label file or a saved baseline."""
LARGEST_IMPORT = 2**30
"""Largest accepted answer file in bytes; such a file may contain all retrieved context."""
DEEPEST = 64
"""The most levels of nested JSON: more than any format here has, and few enough for recursive functions."""
_LONGEST_NUMBER = 400
"""The most digits of an integer; the largest float has 309."""
_DISGUISES = {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF-": "a PDF",
}
"""What a file that should be text often is instead, by its first bytes."""


def read_file(path: Path, largest: int = LARGEST) -> bytes:
    """Read a regular file; raises DataError, and MissingFileError where there is no file.

    A pipe or a device is refused before reading, because reading it could wait for a writer or never end.
    """
    with _opened(path) as file:
        size = _size(file, largest)
        data = file.read(largest + 1)  # read beyond the size, which is 0 for files in /proc
        if max(len(data), size) > largest:
            raise _too_large(largest)
        return data


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a file to read it; what fails meanwhile is raised as DataError or MissingFileError."""
    try:
        with os.fdopen(os.open(path, READ_ONLY), "rb") as file:
            yield file
    except OSError as error:
        kind = MissingFileError if isinstance(error, FileNotFoundError) else DataError
        raise kind(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: cannot be read: this is not a valid file name") from error


def _too_large(largest: int) -> OSError:
    return OSError(errno.EFBIG, f"it holds more than {largest // 2**20} MB, the most that is read")


def _size(file: BufferedReader, largest: int) -> int:
    """Return the size of an open file; raises OSError where it is not regular or too large."""
    found = os.fstat(file.fileno())
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device: save its content to a file")
    if found.st_size > largest:
        raise _too_large(largest)
    return found.st_size


def read_text(path: Path, largest: int = LARGEST) -> str:
    """Read a UTF-8 file; raises DataError as `read_file` and `decode` do."""
    return decode(read_file(path, largest), path)


def decode(data: bytes, path: Path, line: int = 1, head: bytes | None = None) -> str:
    """Decode UTF-8, with or without a byte-order mark; raises DataError with the line of any other bytes.

    The first line of `data` is number `line` of the file, and `head` is how the file begins, if `data` is a
    later part of it.
    """
    try:
        return data.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        looks = next(
            (f" (it is {what})" for start, what in _DISGUISES.items() if (head or data).startswith(start)), ""
        )
        raise DataError(f"{path}:{line}: not UTF-8{looks}: save it as UTF-8") from error


def decode_table(data: bytes, path: Path) -> tuple[str, str | None]:
    """Decode a table as spreadsheets save it, and return a warning where the encoding was guessed.

    UTF-8 and, by its byte-order mark, UTF-16 are certain; anything else is read as Windows-1252. Raises
    DataError for other kinds of files, and for bytes that Windows-1252 does not have.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16"), None
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not valid UTF-16: save it as UTF-8") from error
    try:
        return decode(data, path), None
    except DataError as error:
        if data.startswith(tuple(_DISGUISES)) or b"\0" in data:
            raise
        try:
            return data.decode("cp1252"), f"{path}:1: not UTF-8, so read as Windows-1252: check its accents"
        except UnicodeDecodeError:
            raise error from None


def parse_json(text: str, name: str, first_line: int = 1, *, nan_as_null: bool = False) -> Any:
    """Parse JSON strictly; raises DataError with file:line:col, or with the name of a duplicate key.

    `nan_as_null` reads NaN and infinities, which are not JSON but which Python writes, as null.
    """
    constant = _null if nan_as_null else _no_constant
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        place = f"{name}:{first_line + error.lineno - 1}:{error.colno}"
        raise DataError(f"{place}: not valid JSON: {error.msg}") from error
    except RecursionError as error:
        raise DataError(f"{name}:{first_line}: nested too deeply") from error
    except ValueError as error:
        raise DataError(f"{name}:{first_line}: {error}") from error
    if _too_deep(data):
        raise DataError(f"{name}:{first_line}: nested too deeply: at most {DEEPEST} levels are allowed")
    return data


def json_lines(path: Path, *, nan_as_null: bool = False) -> tuple[list[tuple[int, Any]], list[str]]:
    """Return the values of a file with their line numbers, and a message for each line that is not JSON."""
    found = list(each_line(path, nan_as_null=nan_as_null))
    values = [one for one in found if not isinstance(one, DataError)]
    return values, [str(one) for one in found if isinstance(one, DataError)]


def each_line(path: Path, *, nan_as_null: bool = False) -> Iterator[tuple[int, Any] | DataError]:
    """Yield the value of each line of a file with its number, or an error in the place of a line that is not
    JSON. The file is read as it is needed, and neither it nor its values have to fit into memory.

    Raises DataError for a file that cannot be read, and at the first line that is not UTF-8.
    """
    with _opened(path) as file:
        _size(file, LARGEST_IMPORT)
        head = file.peek()[:8]
        for number, data in enumerate(file, start=1):
            line = decode(data, path, number, head).removesuffix("\n")
            if line.strip():
                try:
                    yield number, parse_json(line, str(path), number, nan_as_null=nan_as_null)
                except DataError as error:
                    yield error


def _too_deep(data: Any) -> bool:
    """Whether JSON is nested deeper than recursive functions can safely handle."""
    level = [data]
    for _ in range(DEEPEST):
        inner = [value for value in level if isinstance(value, dict | list)]
        level = [child for value in inner for child in (value.values() if isinstance(value, dict) else value)]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raises ValueError for a duplicate key, because JSON would silently drop the first."""
    data = dict(pairs)
    if len(data) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key '{twice}' occurs twice in one object")
    return data


def _no_constant(constant: str) -> Any:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(f"not valid JSON: {constant}")


def _null(constant: str) -> None:
    """Return `None` for NaN and infinities."""


def _integer(digits: str) -> int:
    """Convert an integer; raises ValueError for one with too many digits."""
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} characters is too long")
    return int(digits)


def expanded(path: Path) -> Path:
    """A path with its `~` expanded; raises UsageError where no home folder is known."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: no home folder is known for '{path.parts[0]}'") from error
