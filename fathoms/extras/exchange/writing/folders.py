"""New folders, which appear when everything in them is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathoms.errors import StoreError, UsageError
from fathoms.paths import temporary_folder


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder, which becomes `target` at the end of the block.

    Raises UsageError if `target` exists, and StoreError if something cannot be written.
    """
    if os.path.lexists(target):
        raise UsageError(f"{target} already exists: name another folder")
    try:
        with temporary_folder(target.parent) as unfinished:
            yield unfinished
            unfinished.rename(target)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
