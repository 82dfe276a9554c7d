"""A request to stop, which any thread or signal handler can make and which ends waits on an event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from fathoms.safety.signals import END_SECONDS, SIGNALS, end_soon, note_signal


class Stopped(BaseException):
    """Raised when a wait is ended by a request to stop.

    It is a BaseException so that `except Exception` does not catch it.
    """


class Stop:
    """A flag that requests a stop. Any thread or signal handler can set it; it is never reset.

    As soon as it is set, every block inside `waiting` ends with Stopped. All other code runs to its end.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Task[Any]] = set()
        self._cut: set[asyncio.Task[Any]] = set()

    def is_set(self) -> bool:
        """Return whether a stop was requested."""
        return self._event.is_set()

    def set(self) -> None:
        """Request a stop, which also ends the blocks under `waiting`; safe from any thread."""
        self._event.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Make a block that raises Stopped as soon as a stop is requested, or at its start."""
        task = asyncio.current_task()
        assert task is not None
        self._loop = asyncio.get_running_loop()
        self._waiting.add(task)
        try:
            if self.is_set():
                raise Stopped
            yield
        except asyncio.CancelledError:
            if task in self._cut and not task.uncancel():  # cancelled by this stop only
                raise Stopped from None
            raise
        finally:
            self._waiting.discard(task)
            self._cut.discard(task)

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds; raises Stopped if a stop is requested."""
        with self.waiting():
            await asyncio.sleep(seconds)

    def _cancel(self) -> None:
        """Cancel all waiting tasks; runs in the thread of the event loop."""
        for task in self._waiting - self._cut:
            self._cut.add(task)
            task.cancel()


class StopSignals:
    """Handles SIGINT and SIGTERM while an event loop runs: the first requests a stop, the second ends the
    process.

    The second signal ends the process whatever it is doing:

    - Until the event loop has processed the first signal, further signals have their default action. So if
      the loop is blocked, the kernel ends the process.
    - If the loop has processed the first signal, the second cancels the requests in flight, so that every run
      is closed. If that takes longer than `END_SECONDS`, the process ends. A third signal has its default
      action.
    - After a single SIGTERM, the same is done when the time of a command for its end is nearly over.

    Child processes end on their own when their standard input is closed, however this process ends.
    """

    def __init__(self, ask: Callable[[], object], end: Callable[[], object]) -> None:
        self._ask = ask
        self._end = end
        self._heard = 0
        self._ends_in: float | None = None

    @contextmanager
    def on(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Handle the signals within a block. Outside the main thread, signals are left as they are."""
        before = {}
        self._tell: Callable[[], object] = lambda: None
        for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
            before[number] = signal.getsignal(number)
            try:
                loop.add_signal_handler(number, self._in_loop)  # makes every signal wake the loop
            except NotImplementedError:  # on Windows, where the handlers of Python wake it
                self._tell = partial(loop.call_soon_threadsafe, self._in_loop)
        self._numbers = tuple(before)
        self._handle(self._first)
        try:
            yield
        finally:
            for number, handler in before.items():
                with suppress(NotImplementedError):
                    loop.remove_signal_handler(number)
                signal.signal(number, handler or signal.SIG_DFL)

    def _handle(self, handler: Any) -> None:
        """Set the handler that Python calls at the next signal, before the event loop is notified."""
        for number in self._numbers:
            signal.signal(number, handler)

    def _first(self, number: int, frame: object) -> None:
        """Restore the default action for the next signal, until the event loop has processed this one."""
        self._handle(signal.SIG_DFL)
        self._ends_in = note_signal(number)
        self._tell()

    def _second(self, number: int, frame: object) -> None:
        """Restore the default action, and end the process after `END_SECONDS`."""
        self._handle(signal.SIG_DFL)
        note_signal(number)
        end_soon()
        self._tell()

    def _in_loop(self) -> None:
        """Process a signal on the event loop: the first requests a stop, each further one calls `end`."""
        self._heard += 1
        if self._heard > 1:
            self._end()
            return
        self._handle(self._second)
        if (seconds := self._ends_in) is not None:
            asyncio.get_running_loop().call_later(max(seconds - END_SECONDS, seconds / 2), self._end)
        self._ask()
