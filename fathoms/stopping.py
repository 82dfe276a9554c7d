"""One request to stop, set from anywhere, that ends waits on an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stopped(BaseException):
    """What was waited for did not come, for it was asked to stop. No `except Exception` takes it."""


class Stop:
    """Whether to stop. Set once, by any thread or signal handler; then every wait ends with Stopped, at once.

    What is not inside `waiting` goes on to its end.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Task[Any]] = set()
        self._cut: set[asyncio.Task[Any]] = set()

    def is_set(self) -> bool:
        """Whether it was asked for."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask for it."""
        self._event.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that raises Stopped as soon as it is asked to stop, at its head where it was already."""
        task = asyncio.current_task()
        assert task is not None
        self._loop = asyncio.get_running_loop()
        self._waiting.add(task)
        try:
            if self.is_set():
                raise Stopped
            yield
        except asyncio.CancelledError:
            if task in self._cut and not task.uncancel():  # by this stop, and by nobody else
                raise Stopped from None
            raise
        finally:
            self._waiting.discard(task)
            self._cut.discard(task)

    async def sleep(self, seconds: float) -> None:
        """Wait; raises Stopped."""
        with self.waiting():
            await asyncio.sleep(seconds)

    def _cancel(self) -> None:
        """End the waits, in the thread of the loop."""
        for task in self._waiting - self._cut:
            self._cut.add(task)
            task.cancel()
