"""Where things that outlive a run are kept, and how files are written so that none is ever half there.

Whatever is not finished has a name that says who is writing it, `.PID-TOKEN-NUMBER.part`, until it is
renamed. A killed process leaves such files and folders behind; the next process that writes beside them
removes them. What has to stay as it was written can be sealed: the hashes of its files stand beside them.
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

from fathoms.errors import ConfigError
from fathoms.safety.masking import is_secret_name

SEAL = "sha256.json"
"""The file in a sealed folder that holds the sha256 of every other file there."""

_PART = re.compile(r"\.(?P<pid>\d{1,10})-(?P<host>[0-9a-f]{8})?(?P<process>[0-9a-f]{8})-\d+\.part")
_ABANDONED_AFTER = 86_400  # seconds without a change: then nobody is writing, whoever it was
_numbers = itertools.count()
_swept: set[Path] = set()
_HASHED = re.compile(r"-([0-9a-f]{8}|[0-9a-f]{32})$", re.IGNORECASE)
"""The end of a name that carries a hash, on file systems that ignore case too."""


def _host() -> str:
    """Eight hex digits for where process ids mean the same: this machine, or this container."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


_HOST = _host()
_PROCESS = secrets.token_hex(4)
"""Tells our temporary files from those that a killed process of the same number left."""
_STEERS = re.compile(r"(PYTHON|LD_|DYLD_|GIT_|FATHOMS_)", re.I)
"""What the names of variables begin with that steer programs, whatever they end with."""


def load_env(folder: Path) -> str | None:
    """Take the keys from the file `.env` in a folder, if there is one; those that are set already win.

    The folder may be somebody else's, so a `.env` sets nothing but secrets, which are known by their names
    (`OPENAI_API_KEY`, `HF_TOKEN`): other variables could steer Python, the loader, or where fathoms sends
    what. Nor is `${NAME}` in a value filled in, which would send one key to the place of another. Returns a
    sentence that names what was left out, or `None`. Raises ConfigError for a file that cannot be read.
    """
    path = folder / ".env"
    if not path.is_file():
        return None
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, interpolate=False)
        keys = {name: value for name, value in found.items() if _is_key(name, value)}
        for name, value in keys.items():
            if value is not None:  # a name alone sets nothing
                os.environ.setdefault(name, value)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from error
    left_out = [name if name.isprintable() else repr(name) for name in found if name not in keys]
    if not left_out:
        return None
    return (
        f"{path} sets keys only (names such as OPENAI_API_KEY or HF_TOKEN, values without ${{...}}); ignored:"
        f" {', '.join(left_out)}. Set them in the shell"
    )


def _is_key(name: str, value: str | None) -> bool:
    """Whether a variable is a secret by its name, and its value is written out."""
    return is_secret_name(name) and not _STEERS.match(name) and "${" not in (value or "")


def cache_dir() -> Path:
    """`$FATHOMS_CACHE_DIR`, or the user's cache folder."""
    return Path(os.environ.get("FATHOMS_CACHE_DIR") or user_cache_dir("fathoms"))


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Write through a temporary file beside `path` and a rename: readers see the old file or the new."""
    temporary = temporary_path(path.parent)
    try:
        file = FileIO(temporary, "x")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = FileIO(temporary, "x")
    try:
        with file:
            write_all(file, data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_all(file: FileIO, data: bytes) -> None:
    """Write to an unbuffered file, which may take less than it is given."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def temporary_path(folder: Path) -> Path:
    """A name in `folder` for a file or folder that is not finished.

    The first call for a folder also removes what killed processes left there.
    """
    if folder not in _swept:
        _swept.add(folder)
        sweep(folder)
    return folder / f".{os.getpid()}-{_HOST}{_PROCESS}-{next(_numbers)}.part"


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A folder inside `folder`, which is made where it is missing, for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(folder)
    temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep(*folders: Path) -> None:
    """Remove the unfinished files and folders of processes that have ended.

    What a running process is writing stays. Where the process cannot be seen because it runs on another
    machine or in another container, its files go a day after their last change. Downloads (`NAME.part`)
    are not touched: they are continued.
    """
    for folder in folders:
        with suppress(OSError):  # no such folder, or not ours to change: nothing depends on it
            for path in list(folder.iterdir()):
                if (match := _PART.fullmatch(path.name)) and _is_abandoned(path, match):
                    _remove(path)


def _is_abandoned(path: Path, match: re.Match[str]) -> bool:
    """Whether nobody is writing this temporary file any more."""
    try:
        if time.time() - path.lstat().st_mtime > _ABANDONED_AFTER:
            return True
    except OSError:  # finished meanwhile
        return False
    if match["host"] not in (None, _HOST):
        return False
    pid = int(match["pid"])
    return match["process"] != _PROCESS if pid == os.getpid() else not _is_running(pid)


def _is_running(pid: int) -> bool:
    """Whether there is a process of this number; yes where that cannot be known."""
    if os.name != "posix":  # elsewhere `os.kill` would end it
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to somebody else
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
    """Seal a finished folder and move it to its place, where it takes the place of what is there.

    If another process publishes at the same moment, one of the two stays; both made the same.
    """
    write_atomic(unfinished / SEAL, json.dumps(_hashes(unfinished), indent=2).encode())
    with suppress(FileNotFoundError), temporary_folder(place.parent) as old:
        place.rename(old / place.name)
    try:
        unfinished.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(unfinished)


def sealed(folder: Path) -> Literal["sound", "damaged", "missing"]:
    """Whether a folder that was published holds what it held then.

    A folder without a seal, as earlier versions made them, is `missing` too. The files are read once
    in a process, and again when the size or a time of one has changed.
    """
    if not (folder / SEAL).is_file():
        return "missing"
    try:
        stats = tuple((path.name, *_state(path)) for path in _files(folder, with_seal=True))
        return "sound" if _is_sound(folder, stats) else "damaged"
    except OSError:
        return "damaged"


@lru_cache(maxsize=4096)
def _is_sound(folder: Path, stats: tuple[tuple[str | int, ...], ...]) -> bool:
    """Whether the hashes of the files are those of the seal; `stats` only say when to look again."""
    try:
        expected = json.loads((folder / SEAL).read_bytes())
    except (ValueError, RecursionError):
        return False
    return bool(expected == _hashes(folder))


def _hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file by name."""
    return {path.name: sha256_file(path) for path in _files(folder)}


def _files(folder: Path, *, with_seal: bool = False) -> list[Path]:
    """The finished files of a folder by name."""
    files = (path for path in folder.iterdir() if path.name[0] != "." and path.is_file())
    return sorted(path for path in files if with_seal or path.name != SEAL)


def _state(path: Path) -> tuple[int, ...]:
    """What changes when a file is written to."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def safe_name(text: str, limit: int = 100, *, unique: bool = False) -> str:
    """A file name made of `text`: no separators or control characters, at most `limit` bytes.

    With `unique`, two texts never share a name. A name that had to be changed carries 128 bits of the text's
    hash; so does one that ends as such a name does, or else a text could be the name of another text.
    """
    name = re.sub(r"[^\w.+=@-]+", "-", text, flags=re.ASCII).strip("-.") or "unnamed"
    digits = 32 if unique else 8
    if len(name) > limit or (unique and (name != text or _HASHED.search(name))):
        name = name[: limit - digits - 1] + "-" + _sha256(text)[:digits]
    return name


def old_unique_name(text: str, limit: int = 100) -> str:
    """What `safe_name` made of `text` before its names were unique: changed names carried 32 bits."""
    name = re.sub(r"[^\w.+=@-]+", "-", text, flags=re.ASCII).strip("-.") or "unnamed"
    return (
        name if name == text and len(name) <= limit else f"{name[: limit - 9]}-{_sha256(text, 'replace')[:8]}"
    )


def _sha256(text: str, errors: str = "surrogatepass") -> str:
    """Hex sha256 of a text, whatever characters it holds."""
    return hashlib.sha256(text.encode("utf-8", errors)).hexdigest()
