"""One request to stop, set from anywhere, that ends waits on an event loop."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

END_SECONDS = 5.0
"""How long the process may take to close its runs after the second signal."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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


class StopSignals:
    """SIGINT and SIGTERM while an event loop runs: the first asks to stop, the second stops.

    The second always ends the process, whatever the process does at that time:

    - Until the event loop has taken notice of the first, the signals have their default action: a loop that
      does not answer cannot stop anything, and the kernel ends the process.
    - A second signal that the loop can hear cancels what is in flight, so that every run is closed. Should
      that take longer than `END_SECONDS`, a thread of `faulthandler`, which needs no lock of Python, ends
      the process. A third signal has its default action.

    Child processes end by themselves when their standard input does, however this process ends.
    """

    def __init__(self, ask: Callable[[], object], end: Callable[[], object]) -> None:
        self._ask = ask
        self._end = end
        self._heard = 0

    @contextmanager
    def on(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """A block in which they are heard; outside the main thread there are no signals."""
        before = {}
        for number in _SIGNALS:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                handler = signal.getsignal(number)
                loop.add_signal_handler(number, self._in_loop)  # has every signal wake the loop
                before[number] = handler
        self._numbers = tuple(before)
        self._handle(self._first)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler or signal.SIG_DFL)

    def _handle(self, handler: Any) -> None:
        """What Python does at once at the next signal, before the loop hears of it."""
        for number in self._numbers:
            signal.signal(number, handler)

    def _first(self, number: int, frame: object) -> None:
        """The next one is the kernel's, until the loop has shown that it runs."""
        self._handle(signal.SIG_DFL)

    def _second(self, number: int, frame: object) -> None:
        """From now on there are a few seconds."""
        self._handle(signal.SIG_DFL)
        _arm()

    def _in_loop(self) -> None:
        """The loop hears of a signal."""
        self._heard += 1
        if self._heard > 1:
            self._end()
            return
        self._handle(self._second)
        self._ask()


_armed: list[Any] = []


def _arm() -> None:
    """Have the process end in a few seconds, unless `ending_in_time` is left before."""
    _armed.append(nowhere := Path(os.devnull).open("w"))  # noqa: SIM115 - until the thread is off
    faulthandler.dump_traceback_later(END_SECONDS, exit=True, file=nowhere)


@contextmanager
def ending_in_time() -> Iterator[None]:
    """What must be over in `END_SECONDS` after a second signal."""
    try:
        yield
    finally:
        while _armed:
            faulthandler.cancel_dump_traceback_later()
            _armed.pop().close()
