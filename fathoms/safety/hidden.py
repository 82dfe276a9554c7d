"""Importing a library without what it would only import to offer more."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


class _Hidden(MetaPathFinder):
    """Finds some modules for nobody in this thread."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Raise ModuleNotFoundError for a module that is hidden; any other is found as ever."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Hide modules from what this thread imports in the block, as if they were not installed.

    It is for libraries that try to import large ones and do without them. Modules that are imported already
    stay, other threads import as ever, and so does everybody after the block.
    """
    finder = _Hidden(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
