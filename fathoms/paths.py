"""Where files that outlive a run are kept, and how they are written so that no reader sees a partial file.

Unfinished files and folders are named after the process that writes them, `.PID-TOKEN-NUMBER.part`, until
they are renamed. A killed process leaves such files behind; the next process that writes to the same folder
removes them. A folder can be sealed with the hashes of its files, so that later damage is noticed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_dir

from fathoms.errors import ConfigError, DataError
from fathoms.safety.masking import is_secret_name

SEAL = "sha256.json"
"""The file in a sealed folder that holds the sha256 of every other file in it."""

_PART = re.compile(r"\.(?P<pid>\d{1,10})-(?P<host>[0-9a-f]{8})?(?P<process>[0-9a-f]{8})-\d+\.part")
_ABANDONED_AFTER = 86_400  # seconds without a change after which no process can still be writing
_numbers = itertools.count()
_swept: set[str] = set()
_HASHED = re.compile(r"-([0-9a-f]{8}|[0-9a-f]{32})$", re.IGNORECASE)
"""Matches names that end in a hash, in upper case too because some file systems ignore case."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Matches names that Windows keeps for devices, with any ending."""


def _host() -> str:
    """Eight hex digits that identify the machine or container, within which process ids are comparable."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


_HOST = _host()
_PROCESS = secrets.token_hex(4)
"""Distinguishes the temporary files of this process from those of a killed process with the same id."""
_STEERS = re.compile(r"(PYTHON|LD_|DYLD_|GIT_|FATHOMS_)", re.I)
"""Prefixes of environment variables that control programs and are never taken from a `.env`."""


def load_env(folder: Path) -> str | None:
    """Load API keys from the file `.env` in a folder, if there is one; variables that are set already win.

    Only secrets are loaded, recognised by their names (`OPENAI_API_KEY`, `HF_TOKEN`): the folder may be
    somebody else's, and other variables could control Python, the loader, or where fathoms sends data.
    `${NAME}` in a value is not filled in, because that could send one key to the service of another. Returns
    a sentence that names the variables left out, or `None`. Raises ConfigError for a file that cannot be
    read.
    """
    path = folder / ".env"
    if not path.is_file():
        return None
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, interpolate=False)
        keys = {
            name: value
            for name, value in found.items()
            if is_secret_name(name) and not _STEERS.match(name) and "${" not in (value or "")
        }
        for name, value in keys.items():
            if value is not None:  # a line with a name alone sets nothing
                os.environ.setdefault(name, value)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from error
    left_out = [name if name.isprintable() else repr(name) for name in found if name not in keys]
    if not left_out:
        return None
    return (
        f"{path} may only set keys (names such as OPENAI_API_KEY or HF_TOKEN, values without ${{...}});"
        f" ignored: {', '.join(left_out)}. Set them in the shell"
    )


def cache_dir() -> Path:
    """The cache folder: `$FATHOMS_CACHE_DIR`, or else the user's cache folder of the platform."""
    return Path(os.environ.get("FATHOMS_CACHE_DIR") or user_cache_dir("fathoms"))


def short_name(path: Path) -> str:
    """Return the name that files beside a question set begin with: `set` for `set.json`, `set.csv` for
    `set.csv`, so that sets of other formats have files of their own."""
    return path.stem if path.suffix == ".json" else path.name


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_own_file(path: Path, sha256: str) -> None:
    """Raise DataError if a file of fathoms itself is not the one that belongs to this version."""
    if sha256_file(path) != sha256:
        raise DataError(
            f"{path} is not the file that belongs to this version of fathoms: install fathoms again"
        )


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file atomically, by a temporary file and a rename: readers see the old file or the new."""
    temporary, file = unfinished(path)
    try:
        with file:
            write_all(file, data)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def unfinished(path: Path) -> tuple[str, FileIO]:
    """Open a temporary file beside `path`, to be renamed to it; returns its name and the file."""
    # of a small file, pathlib would take longer than the disk
    temporary = _temporary(os.path.dirname(path) or ".")  # noqa: PTH120
    try:
        return temporary, FileIO(temporary, "x")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return temporary, FileIO(temporary, "x")


def write_all(file: FileIO, data: bytes) -> None:
    """Write all bytes to an unbuffered file, whose `write` may take fewer than it is given."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def temporary_path(folder: Path) -> Path:
    """Return an unused name in `folder` for an unfinished file or folder.

    The first call for a folder also removes what killed processes left in it.
    """
    return Path(_temporary(str(folder)))


def _temporary(folder: str) -> str:
    """Return an unused name in `folder`, as `temporary_path` does."""
    if folder not in _swept:
        _swept.add(folder)
        sweep(Path(folder))
    return f"{folder}/.{os.getpid()}-{_HOST}{_PROCESS}-{next(_numbers)}.part"


@contextmanager
def temporary_folder(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """Create a temporary folder with these permissions inside `folder`, created too if needed, and remove it
    after the block."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(folder)
    temporary.mkdir(mode)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep(*folders: Path) -> None:
    """Remove unfinished files and folders whose process has ended.

    Files of running processes stay. Where the process runs on another machine or in another container and
    cannot be seen, its files are removed a day after their last change. Unfinished downloads (`NAME.part`)
    are kept, because they are continued.
    """
    for folder in folders:
        with suppress(OSError):  # missing or not writable: sweeping is optional
            for path in list(folder.iterdir()):
                if (match := _PART.fullmatch(path.name)) and _is_abandoned(path, match):
                    _remove(path)


def _is_abandoned(path: Path, match: re.Match[str]) -> bool:
    """Whether no process is writing this temporary file any more."""
    try:
        if time.time() - path.lstat().st_mtime > _ABANDONED_AFTER:
            return True
    except OSError:  # it was finished and renamed in the meantime
        return False
    if match["host"] not in (None, _HOST):
        return False
    pid = int(match["pid"])
    return match["process"] != _PROCESS if pid == os.getpid() else not is_running(pid)


def is_running(pid: int) -> bool:
    """Return whether a process with this id is running on this machine; true where that cannot be known."""
    if os.name != "posix":  # on Windows `os.kill(pid, 0)` would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it exists but belongs to another user
        return True
    return True


def _remove(path: Path) -> None:
    """Remove a file, or a folder with everything in it; links are removed, not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def publish(unfinished: Path, place: Path) -> None:
    """Seal a finished folder and move it to `place`, replacing what is there.

    If two processes publish at the same moment, one result stays; both hold the same.
    """
    # the seal is written last: a folder with a seal is complete
    write_atomic(unfinished / SEAL, json.dumps(_hashes(unfinished), indent=2).encode())
    # on Windows, a folder in which a process has a file open stays where it is
    with suppress(FileNotFoundError, PermissionError), temporary_folder(place.parent) as old:
        place.rename(old / place.name)
    try:
        unfinished.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(unfinished)


State = Literal["sound", "damaged", "missing"]
"""What is known of a published folder."""


def sealed(folder: Path) -> State:
    """Whether a published folder still holds what was published.

    `missing` means that it has no seal, as in earlier versions. Files are read once per process, and again
    when the size or a time stamp of one has changed.
    """
    if not (folder / SEAL).is_file():
        return "missing"
    try:
        files = _files(folder, with_seal=True)
        stats = tuple((str(path.relative_to(folder)), *file_state(path.stat())) for path in files)
        return "sound" if _is_sound(folder, stats) else "damaged"
    except OSError:
        return "damaged"


@lru_cache(maxsize=4096)
def _is_sound(folder: Path, stats: tuple[tuple[str | int, ...], ...]) -> bool:
    """Whether the files match their seal; `stats` is only a part of the key of this function's cache."""
    try:
        expected = json.loads((folder / SEAL).read_bytes())
    except (ValueError, RecursionError):
        return False
    return bool(expected == _hashes(folder))


def _hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file, by its name, or its path from the folder."""
    return {path.relative_to(folder).as_posix(): sha256_file(path) for path in _files(folder)}


def _files(folder: Path, *, with_seal: bool = False) -> list[Path]:
    """The finished files of a folder and of those in it, sorted by name."""
    files = (path for path in folder.rglob("*") if path.name[0] != "." and path.is_file())
    return sorted(path for path in files if with_seal or path.name != SEAL)


def file_state(stat: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is written to or replaced. Its times alone do not tell: several changes can
    fall into one tick of the clock."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def safe_name(text: str, limit: int = 100, *, unique: bool = False) -> str:
    """Make a file name of `text`, without separators or control characters and at most `limit` bytes long.

    With `unique`, two texts never share a name: a changed name ends in 128 bits of the text's hash, and so
    does a name that already looks as if it did.
    """
    name = re.sub(r"[^\w.+=@-]+", "-", text, flags=re.ASCII).strip("-.") or "unnamed"
    digits = 32 if unique else 8
    if _DEVICE.match(name):
        name = f"_{name}"
    if len(name) > limit or (unique and (name != text or _HASHED.search(name))):
        name = name[: limit - digits - 1] + "-" + _sha256(text)[:digits]
    return name


def old_unique_name(text: str, limit: int = 100) -> str:
    """The name that versions before `unique` gave `text`; changed names carried only 32 bits of the hash."""
    name = re.sub(r"[^\w.+=@-]+", "-", text, flags=re.ASCII).strip("-.") or "unnamed"
    return (
        name if name == text and len(name) <= limit else f"{name[: limit - 9]}-{_sha256(text, 'replace')[:8]}"
    )


def _sha256(text: str, errors: str = "surrogatepass") -> str:
    """Hex sha256 of a text, including texts with lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", errors)).hexdigest()
