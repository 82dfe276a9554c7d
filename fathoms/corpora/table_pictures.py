"""Pictures that a table of questions holds: they are written beside it, once, and quotes name their files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fathoms.corpora.vidore import picture_of
from fathoms.errors import DataError
from fathoms.paths import write_atomic

FOLDER = "pictures"
"""The folder beside the table."""
_SUFFIXES = {b"\xff\xd8\xff": ".jpg", b"\x89PNG\r\n\x1a\n": ".png", b"RIFF": ".webp", b"GIF8": ".gif"}
"""The suffix of each format by the first bytes of its files."""


def unpacked(value: Any, folder: Path) -> str | None:
    """Write a picture, which is bytes or an image column's `{bytes, path}`, below a folder, and return its
    path from there; `None` if it is no picture of a known format.

    The name is the hash of the picture, so equal pictures share a file. Raises DataError if it cannot be
    written, or would lie outside of the folder.
    """
    data = picture_of(value) or b""
    suffix = next((suffix for start, suffix in _SUFFIXES.items() if data.startswith(start)), None)
    if suffix is None:
        return None
    name = f"{FOLDER}/{hashlib.sha256(data).hexdigest()[:32]}{suffix}"
    path = folder / name
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{path.parent}: is a link to a place outside of the folder of the table: remove it")
    try:
        if not (path.is_file() and path.stat().st_size == len(data)):
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, data)
    except OSError as error:
        raise DataError(
            f"{path}: the pictures of the table cannot be written beside it: {error.strerror or error};"
            " copy the table into a folder where you may write"
        ) from error
    return name
