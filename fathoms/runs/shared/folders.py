"""Folders of files as one value of the shared cache: a zip archive in which nothing is compressed."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

LARGEST = 256 << 20
"""The most bytes of the files of a folder that is shared."""
_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_MADE = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


def packed_folder(files: list[Path]) -> bytes | None:
    """Pack files, without the folders that they are in; `None` where they are too large to be shared."""
    if sum(path.stat().st_size for path in files) > LARGEST:
        return None
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path.name, _MADE), path.read_bytes())
    return packed.getvalue()


def unpack_folder(data: bytes, folder: Path) -> bool:
    """Write packed files into a folder; returns False, and may have written some, where the data is no such
    archive. Files are written into the folder itself, and nothing is decompressed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if any(not _NAME.fullmatch(e.filename) or e.compress_type != zipfile.ZIP_STORED for e in entries):
                return False
            for entry in entries:
                (folder / entry.filename).write_bytes(archive.read(entry))
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError):
        return False
    return True
