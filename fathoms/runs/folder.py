"""Access to the files of a run folder. A folder may come from anybody, so its files are opened only here.

- No link is followed when writing, and none that leads out of the folder when reading.
- Only regular files are read: reading a FIFO or a device could block or never end.
- Every size is limited, and that of compressed data is checked during decompression.
- JSON carries its own CRC-32, so that damage on the disk is noticed. It protects from accidents only:
  whoever changes a file on purpose can change the checksum too. A file without one is read as well.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from fathoms.errors import StoreError
from fathoms.paths import unfinished, write_all, write_atomic
from fathoms.safety.inputs import READ_ONLY
from fathoms.types.run.part import FILE, SCHEMA, Part, misfit

LARGEST_TEXT = 128 * 2**20
"""The most bytes of a journal line or of a text in a blob. An answer of a model server has at most 16 MiB,
which become 96 MiB where every byte is escaped in JSON."""
LARGEST_FILE = 512 * 2**20
"""The most bytes of any other file."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has neither
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_LINE_SEAL = re.compile(rb', "crc": "([0-9a-f]{8})"}')
_FILE_SEAL = re.compile(rb',\n  "crc": "([0-9a-f]{8})"\n}\n')
_LINE_SEAL_SIZE, _FILE_SEAL_SIZE = 20, 24


class TooLongError(StoreError):
    """A text that is too long to be read again if it were written."""


def open_file(root: Path, name: str) -> BinaryIO:
    """Open the file `name` in the folder `root` for reading.

    Raises FileNotFoundError where there is none, and StoreError where it is not a regular file, is outside
    the folder or cannot be opened.
    """
    path = os.path.join(root, name)  # noqa: PTH118 - of a thousand runs, pathlib takes as long as reading
    try:
        if _first_link(root, name) is not None:
            real = os.path.realpath(path)
            if not Path(real).is_relative_to(os.path.realpath(root)):
                raise StoreError(f"{path} is a link that leads out of the run's folder: it is not read")
            path = real
        descriptor = os.open(path, READ_ONLY | _NO_FOLLOW)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {_why(error)}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} cannot be read: it is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_file(root: Path, name: str, limit: int = LARGEST_FILE) -> bytes:
    """Read a file; raises the errors of `open_file`, and StoreError for a file of more than `limit` bytes."""
    with open_file(root, name) as file:
        try:
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)
        except OSError as error:
            raise StoreError(f"{root / name} cannot be read: {_why(error)}") from error
    if len(data) > limit:
        raise StoreError(f"{root / name} cannot be read: it is larger than {limit >> 20} MiB")
    return data


def read_json(root: Path, name: str) -> Any:
    """Read a JSON file of a run; raises StoreError, also where the file is missing or its checksum fails."""
    return _read_json(root, name)[0]


def _read_json(root: Path, name: str) -> tuple[Any, bool]:
    """Read a JSON file as `read_json` does; returns whether it has a checksum, too."""
    try:
        data = read_file(root, name)
    except FileNotFoundError:
        raise StoreError(f"{root / name} is missing: the run is incomplete") from None
    seal = _FILE_SEAL.fullmatch(data, len(data) - _FILE_SEAL_SIZE) if len(data) >= _FILE_SEAL_SIZE else None
    if seal and zlib.crc32(memoryview(data)[: seal.start()]) != int(seal[1], 16):
        raise StoreError(f"{root / name} is damaged: its checksum does not match; {_remedy(name)}")
    try:
        return _from_json(data), seal is not None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{root / name} cannot be read: {_why(error)}") from error


def _from_json(data: bytes) -> Any:
    """Parse JSON with the fast parser of pydantic. What it refuses, such as half of a surrogate pair, is
    parsed by Python's, which also explains errors in better known words."""
    from pydantic_core import from_json

    try:
        return from_json(data, cache_strings="keys")
    except ValueError:
        return json.loads(data)


def read_object(root: Path, name: str) -> dict[str, Any]:
    """Read a JSON object; raises StoreError as `read_json` does, and for any other JSON value."""
    return _object(read_json(root, name), root / name)


def _object(value: Any, place: Path | str) -> dict[str, Any]:
    """A JSON object without its checksum; raises StoreError for any other JSON value."""
    if not isinstance(value, dict):
        raise StoreError(f"{place} cannot be read: a JSON object is needed")
    value.pop("crc", None)
    return value


def read_checked(root: Path, name: str, *, is_own: bool = False) -> dict[str, Any]:
    """Read the JSON object of a question file and check it. What has a checksum in a run of this user's own
    was written by fathoms, and is not compared with its format again.

    Raises StoreError that names the file and the place in it.
    """
    value, is_sealed = _read_json(root, name)
    return _checked(_object(value, root / name), root / name, is_known=is_own and is_sealed)


_File = TypeVar("_File", bound=Part)


def read_part(root: Path, name: str, kind: type[_File]) -> _File:
    """Read the manifest or the summary of a run as a value of its type.

    Raises StoreError that names the file and the place in it.
    """
    value = read_object(root, name)
    _require_version(value, root / name)
    return typed(kind, value, root / name)


def typed(kind: type[_File], value: Mapping[str, Any], place: Path | str, *, whole: bool = True) -> _File:
    """Convert a JSON object to a file's type; raises StoreError where it does not fit, or where it is to be
    `whole` and lacks a key that a file must have."""
    try:
        return kind.model_validate(value, context=FILE if whole else None)
    except ValidationError as error:
        raise StoreError(f"{place} cannot be used: {misfit(error)}") from None


def _checked(value: dict[str, Any], place: Path | str, *, is_known: bool) -> dict[str, Any]:
    """The object if it is that of a question file, or `is_known` to be one; raises StoreError."""
    _require_version(value, place)
    if not is_known and (wrong := complaint(value)):
        raise StoreError(f"{place} cannot be used: {wrong}")
    return value


def complaint(value: Mapping[str, Any]) -> str | None:
    """What is wrong with the JSON value of a question file, and where in it; `None` if it is valid."""
    from fathoms.types.run.rows import QuestionFile  # a list of runs does without it

    try:
        QuestionFile.model_validate(value)
    except ValidationError as error:
        return misfit(error)
    return None


def _require_version(value: Mapping[str, Any], place: Path | str) -> None:
    """Raise StoreError for a file of a later version of the format."""
    version = value.get("schema", SCHEMA)
    if not isinstance(version, int):
        raise StoreError(f"{place} cannot be used: its schema {str(version)[:40]!r} is unknown")
    if version > SCHEMA:
        raise StoreError(f"{place} was written by a newer fathoms (schema {version}): update fathoms")


def checked_line(line: bytes, place: str, *, is_own: bool = False) -> dict[str, Any]:
    """Return the JSON object of one line of a file of questions, checked as `read_checked` checks a file.

    Raises StoreError that names the `place`, which is the file with the number of the line.
    """
    if len(line) > LARGEST_FILE:
        raise StoreError(f"{place} cannot be read: it is longer than {LARGEST_FILE >> 20} MiB")
    if not is_intact(line):
        raise StoreError(f"{place} is damaged: its checksum does not match; 'fathoms score' writes it again")
    try:
        value = _from_json(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place} cannot be read: {_why(error)}") from error
    return _checked(_object(value, place), place, is_known=is_own and _seal_of(line) is not None)


def write_file(root: Path, name: str, data: bytes) -> None:
    """Write a file atomically; a link in its place is replaced, not followed. A file that holds the same
    already is left as it is: to replace one, some file systems wait for the disk. Raises StoreError."""
    path = root / name
    _refuse_long(path, len(data))
    with writing(path):
        _refuse_links(root, name)
        if not _holds(path, data):
            write_atomic(path, data)


def link_file(root: Path, name: str, source: Path) -> None:
    """Make a file of a folder a hard link to another file that is never changed, or a copy of it where the
    disk has no such links. Raises StoreError."""
    path = root / name
    with writing(path):
        _refuse_links(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.hardlink_to(source)
        except FileExistsError:
            return
        except OSError:
            write_atomic(path, source.read_bytes())


def _holds(path: Path, data: bytes) -> bool:
    """Whether a path is a regular file, and no link, with this content."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size != len(data):
            return False
        with open(path, "rb", opener=opener) as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


@contextmanager
def writing_file(root: Path, name: str) -> Iterator[Callable[[bytes], None]]:
    """Write a file part by part, by the function that this gives. The file takes its place when the block
    ends without an error; otherwise the one before stays. Raises StoreError."""
    path = root / name
    with writing(path):
        _refuse_links(root, name)
        temporary, file = unfinished(path)

    def write(data: bytes) -> None:
        _refuse_long(path, len(data))
        with writing(path):
            write_all(file, data)

    try:
        with file:
            yield write
        with writing(path):
            os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_sealed(root: Path, name: str, parts: Iterable[bytes]) -> None:
    """Write the indented JSON of an object with its checksum, as `sealed` adds it, so that only one part of
    the file is in memory. The `parts` are everything before the line that closes the object. Raises
    StoreError."""
    crc = size = 0
    with writing_file(root, name) as write:
        for part in parts:
            crc, size = zlib.crc32(part, crc), size + len(part)
            write(part)
        _refuse_long(root / name, size)
        write(_seal(crc))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the errors of the operating system into StoreError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be written: {_why(error)}") from error


def _refuse_long(path: Path, size: int) -> None:
    """Raise TooLongError for what could not be read again."""
    if size > LARGEST_FILE:
        raise TooLongError(f"{path} cannot be written: {size >> 20} MiB is more than fathoms could read back")


def _refuse_links(root: Path, name: str) -> None:
    """Raise StoreError if a folder on the way to a file is a link."""
    if (link := _first_link(root, name.rpartition("/")[0] or ".")) is not None:
        raise StoreError(f"{root / name} cannot be written: {link} is a link, which fathoms does not follow")


def opener(path: str, flags: int) -> int:
    """An `opener` for `open` that neither follows a link nor waits on a FIFO. Raises OSError."""
    descriptor = os.open(path, flags | _NO_FOLLOW | _NO_BLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    return descriptor


def sealed(data: bytes) -> bytes:
    """Add a checksum to the indented JSON of an object, as its last key."""
    if not data.endswith(b"\n}\n"):
        return data  # an empty object has nothing to protect
    body = memoryview(data)[:-3]
    return b"".join([body, _seal(zlib.crc32(body))])


def _seal(crc: int) -> bytes:
    """The end of the indented JSON of an object whose other bytes have this checksum."""
    return b',\n  "crc": "%08x"\n}\n' % crc


def sealed_line(data: bytes) -> bytes:
    """Add a checksum to one line of JSON, a non-empty object, as its last key."""
    body = data[:-1]
    return b'%b, "crc": "%08x"}\n' % (body, zlib.crc32(body))


def is_intact(line: bytes) -> bool:
    """Whether a line's checksum fits. Lines of earlier versions have none and count as intact."""
    seal = _seal_of(line)
    return seal is None or zlib.crc32(memoryview(line)[: seal.start()]) == int(seal[1], 16)


def _seal_of(line: bytes) -> re.Match[bytes] | None:
    """The checksum at the end of a line, `None` where it has none."""
    end = len(line) - line.endswith(b"\n")
    return _LINE_SEAL.fullmatch(line, max(0, end - _LINE_SEAL_SIZE), end)


def inflated(data: bytes, limit: int = LARGEST_TEXT, *, wbits: int = 31) -> bytes:
    """Decompress gzip data (zlib data with `wbits=15`) of at most `limit` bytes; raises ValueError for longer
    or invalid data."""
    decoder = zlib.decompressobj(wbits)
    try:
        text = decoder.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(text) > limit:
        raise ValueError(f"it is larger than {limit >> 20} MiB")
    if not decoder.eof or decoder.unused_data:
        raise ValueError("its compressed data is cut off or followed by other data")
    return text


def _first_link(root: Path, name: str) -> Path | None:
    """The first part of the path below `root` that is a symbolic link; `None` if there is none."""
    path = str(root)  # pathlib would take most of the time of writing a small file
    for part in name.split("/"):
        path = os.path.join(path, part)  # noqa: PTH118
        if os.path.islink(path):  # noqa: PTH114
            return Path(path)
    return None


def _remedy(name: str) -> str:
    """What can be done about a damaged file of a run."""
    if name == "summary.json" or name.startswith("questions/"):
        return "'fathoms score' writes it again"
    if name.startswith("verdicts/"):
        return "delete it, then 'fathoms score' judges again"
    return 'restore it from a copy, or delete its line "crc" if the rest is correct'


def _why(error: Exception) -> str:
    """The message of an error, without the path that precedes it already."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(getattr(error, "strerror", None) or error)


def json_bytes(value: Any, indent: int | None = 2) -> bytes:
    """Readable JSON, or with `None` one line of it; infinities and NaN become null."""
    try:
        return to_json(value, indent=indent, inf_nan_mode="null") + b"\n"
    except PydanticSerializationError:  # a lone surrogate, which a model's tokens can produce
        plain = to_jsonable_python(value, inf_nan_mode="null")
        separators = (",", ":") if indent is None else None
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False, separators=separators)
        return (text + "\n").encode("utf-8", "replace")


def parsed_line(line: bytes) -> Any:
    """Parse a line with the faster of two parsers, or with the other, which allows lone surrogates."""
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)
