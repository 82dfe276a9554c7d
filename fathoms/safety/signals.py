"""How SIGINT (Ctrl-C) and SIGTERM end a command, and waiting in the main thread so that they are handled at
once.

The first signal raises KeyboardInterrupt, or lets an event loop finish what is in flight
(`fathoms.models.calling.stop`). The second ends the process. After SIGTERM, the process ends by itself after
`STOP_TIMEOUT` seconds, whatever it waits for: whoever sent it kills the process otherwise, sooner or later.
Nothing that was answered is lost, because it is on disk as soon as it has come.
"""

from __future__ import annotations

import _thread
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, ClassVar, NoReturn, TypeVar

from fathoms.errors import ExitCode, UsageError

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOP_TIMEOUT = "FATHOMS_STOP_TIMEOUT"
"""The environment variable with the seconds that a command may take to end after SIGTERM."""
_LONGEST = 86_400.0
END_SECONDS = 2.0
"""Seconds that the process may take to close its runs after the second signal."""

_SECONDS = 0.5
"""How long a signal waits at most. Python runs signal handlers in the main thread only, and a lock that this
thread is about to wait for, or a signal that the kernel delivers to another thread, does not wake it up."""
_PAUSE = 0.02

_SHOW_CURSOR = b"\x1b[?25h"


class _Command:
    """What this process knows of its end: which signals have come, and how long it may take after SIGTERM."""

    is_active = False
    came: ClassVar[list[int]] = []
    stop_timeout = 10.0


_armed: dict[object, IO[str]] = {}
"""The deadlines of this process, each with what `faulthandler` writes to."""


def set_stop_timeout() -> None:
    """Take the time that SIGTERM gives a command from the environment; raises UsageError."""
    given = os.environ.get(STOP_TIMEOUT)
    if given is None:
        return
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"{STOP_TIMEOUT} is {given!r}: expected seconds, more than 0 and at most 86400")
    _Command.stop_timeout = seconds


@contextmanager
def ending_command() -> Iterator[None]:
    """Let SIGINT and SIGTERM end the command of a block; one that is ignored, as a shell may start it, is
    still ignored."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    _Command.is_active = True
    _Command.came.clear()
    try:
        for number in SIGNALS:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, _interrupt)
        yield
    finally:
        _Command.is_active = False
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def leave(code: int) -> NoReturn:
    """End the process with the exit code of its command. After a signal, nothing that still runs in a thread
    is waited for."""
    if not _Command.came:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(_after_signal() if code == ExitCode.INTERRUPTED else code)


def note_signal(number: int) -> float | None:
    """Take note of a signal that ends a command; returns in how many seconds the process ends, if that is
    certain. Outside of commands, in somebody else's program, only the second signal ends the process."""
    if _Command.is_active:
        _Command.came.append(number)
        if len(_Command.came) == 1 and number == signal.SIGTERM:
            _end_within(_Command.stop_timeout)
            return _Command.stop_timeout
    return None


def end_soon() -> None:
    """Make the process end within `END_SECONDS`, unless it leaves a block of `ending_in_time` before and is
    not a command."""
    _end_within(END_SECONDS)


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Wrap code that must finish within `END_SECONDS` of a second signal. Leaving it lifts the limit where
    fathoms is part of another program; a command ends anyway."""
    try:
        yield
    finally:
        if _armed and not _Command.is_active:
            faulthandler.cancel_dump_traceback_later()
            while _armed:
                _armed.popitem()[1].close()


def _interrupt(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt at the first signal, and end the process at the second."""
    note_signal(number)
    if len(_Command.came) > 1:
        _end("stopped")
    raise KeyboardInterrupt


def _end_within(seconds: float) -> None:
    """Make the process end after some seconds."""
    said = f"stopped after {seconds:g} s; whatever was answered by then is stored"
    nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - the thread of faulthandler keeps using it
    _armed[token := object()] = nowhere

    def end() -> None:
        time.sleep(seconds)
        if token in _armed:
            _end(said)

    # not of `threading`, whose locks the code that a signal interrupts may hold
    _thread.start_new_thread(end, ())
    # for code in C that never releases Python's lock: this needs none, but cannot choose the exit code
    faulthandler.dump_traceback_later(seconds + 0.5, exit=True, file=nowhere)


def _end(said: str) -> NoReturn:
    """End the process at once, without a word from the interpreter."""
    with suppress(OSError):
        os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + f"fathoms: {said}\n".encode())
    os._exit(_after_signal())


def _after_signal() -> int:
    """The exit code after the first signal that came."""
    terminated = _Command.came[:1] == [signal.SIGTERM]
    return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED


def result_of(future: Future[T]) -> T:
    """Wait for a future and return its result, or raise its exception. Signals are handled meanwhile."""
    while not wait([future], timeout=_SECONDS).done:
        pass
    return future.result()


def next_of(queue: SimpleQueue[T], on_pause: Callable[[], None] | None = None) -> T:
    """Wait for the next item of a queue. Signals are handled meanwhile, and where no item comes for a moment,
    `on_pause` is called once."""
    if on_pause is not None:
        try:
            return queue.get(timeout=_PAUSE)
        except Empty:
            on_pause()
    while True:
        try:
            return queue.get(timeout=_SECONDS)
        except Empty:
            continue
