"""Redirecting what a pipeline under test prints to stderr, so that it does not mix with our own output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Aside:
    """A stdout that sends all output to stderr, except that of threads inside a `printed_aside` block."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout
        self._threads: list[int] = []

    def __getattr__(self, name: str) -> Any:
        is_ours = not self._threads or threading.get_ident() in self._threads
        return getattr(self._stdout if is_ours else sys.stderr, name)

    def enter(self) -> None:
        """Begin a block in this thread."""
        self._threads.append(threading.get_ident())

    def leave(self) -> None:
        """End a block; after the last one, the original stdout is restored."""
        self._threads.remove(threading.get_ident())
        if not self._threads and sys.stdout is self:
            sys.stdout = self._stdout


_lock = threading.Lock()
_made: list[_Aside] = []
"""One wrapper per stdout that ever existed, never freed: `print` of Python 3.11 holds no reference to the
stdout that it writes to, and a thread that prints while a block ends would crash the process."""


@contextmanager
def printed_aside() -> Iterator[None]:
    """Send what other threads print to stderr while the block lasts; blocks may overlap."""
    with _lock:
        aside = next((aside for aside in _made if sys.stdout in (aside, aside._stdout)), None)
        if aside is None:
            _made.append(aside := _Aside(sys.stdout))
        sys.stdout = aside
        aside.enter()
    try:
        yield
    finally:
        with _lock:
            aside.leave()
