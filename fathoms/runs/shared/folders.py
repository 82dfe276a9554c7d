"""Files of a folder as one value of the shared cache: a zip archive in which nothing is compressed."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

LARGEST = 256 << 20
"""The most bytes of the files of a folder that is shared."""
_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_MADE = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


def packed_files(files: Iterable[Path]) -> bytes | None:
    """Pack files by their names; `None` where they are too large to be shared."""
    paths = sorted(files)
    if sum(path.stat().st_size for path in paths) > LARGEST:
        return None
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_STORED) as archive:
        for path in paths:
            archive.writestr(zipfile.ZipInfo(path.name, _MADE), path.read_bytes())
    return packed.getvalue()


def unpacked_files(data: bytes) -> dict[str, bytes] | None:
    """Return packed files by their names, which name no folder; `None` where the data is no such archive.
    Nothing is decompressed, so the files are no larger than the data."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            plain = all(each.compress_type == zipfile.ZIP_STORED for each in entries)
            names = all(_NAME.fullmatch(each.filename) for each in entries)
            if not plain or not names or sum(each.file_size for each in entries) > len(data):
                return None
            return {each.filename: archive.read(each) for each in entries}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError):
        return None
