"""Where things that outlive a run are kept, and how files are written so that none is ever half there."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import secrets
from io import FileIO
from pathlib import Path

from platformdirs import user_cache_dir

from fathoms.errors import ConfigError
from fathoms.masking import is_secret_name

_OURS = secrets.token_hex(4)
"""Tells our temporary files from those that a killed process of the same number left."""
_numbers = itertools.count()
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
    temporary = path.with_name(f".{os.getpid()}-{_OURS}-{next(_numbers)}.part")
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


def safe_name(text: str, limit: int = 100, *, unique: bool = False) -> str:
    """A file name made of `text`: no separators or control characters, at most `limit` bytes.

    With `unique`, a name that had to be changed carries a hash, so two texts never share a name.
    """
    name = re.sub(r"[^\w.+=@-]+", "-", text, flags=re.ASCII).strip("-.") or "unnamed"
    if len(name) > limit or (unique and name != text):
        name = name[: limit - 9] + "-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return name
