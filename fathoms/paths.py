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

_OURS = secrets.token_hex(4)
"""Tells our temporary files from those that a killed process of the same number left."""
_numbers = itertools.count()
_HASHED = re.compile(r"-([0-9a-f]{8}|[0-9a-f]{32})$", re.IGNORECASE)
"""The end of a name that carries a hash, on file systems that ignore case too."""


def load_env(folder: Path) -> None:
    """Take the environment variables of the file `.env` in a folder, if there is one; those that are set
    already win. Raises ConfigError for a file that cannot be read."""
    path = folder / ".env"
    if not path.is_file():
        return
    from dotenv import load_dotenv

    try:
        load_dotenv(path, override=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from error


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
