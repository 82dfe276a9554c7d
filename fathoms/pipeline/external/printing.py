"""What a pipeline prints, kept apart from what we print."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Aside:
    """A stdout that is stderr to all threads but those that ask."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout
        self._asking: list[int] = []

    def __getattr__(self, name: str) -> Any:
        is_ours = not self._asking or threading.get_ident() in self._asking
        return getattr(self._stdout if is_ours else sys.stderr, name)

    def enter(self) -> None:
        """A block begins in this thread."""
        self._asking.append(threading.get_ident())

    def leave(self) -> None:
        """A block ends; after the last, stdout is as it was."""
        self._asking.remove(threading.get_ident())
        if not self._asking and sys.stdout is self:
            sys.stdout = self._stdout


_lock = threading.Lock()
_made: list[_Aside] = []
"""One for every stdout that there was, never freed: `print` of Python 3.11 holds no reference to the stdout
that it writes to, and a thread that prints while a block ends would crash the process."""


def _aside_of(stdout: Any) -> _Aside:
    """The one for a stdout."""
    found = next((aside for aside in _made if aside._stdout is stdout), None)
    if found is None:
        _made.append(found := _Aside(stdout))
    return found


@contextmanager
def printed_aside() -> Iterator[None]:
    """What other threads print goes to stderr for as long as the block lasts; blocks may overlap."""
    with _lock:
        aside = sys.stdout if isinstance(sys.stdout, _Aside) else _aside_of(sys.stdout)
        sys.stdout = aside
        aside.enter()
    try:
        yield
    finally:
        with _lock:
            aside.leave()
