"""Child processes that answer messages over pipes, tell how they died, and end with their parent.

The parent holds the write end of a pipe and never writes to it; every child has the read end. The kernel
closes the write end when the parent is gone, even after `kill -9`, and the child reads the end of the file.
`child_main` is the part of this that runs in the child.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal

from fathoms.safety.child_main import read_message, write_message

Cause = Literal["time", "memory", "killed", "crash"]

_MAIN = str(Path(__file__).with_name("child_main.py"))
_PIPE: list[int] = []  # read end and write end; empty until the first child starts
# C++ libraries and PDFium abort if they get no memory; PDFium's failed checks end in other signals
_CAUSES: dict[str, Cause] = {"SIGALRM": "time", "SIGXCPU": "time", "SIGABRT": "memory", "SIGKILL": "killed"}
_LAST_WORDS = 65_536
"""Bytes at the end of the log in which the last line is looked for."""
_GRACE = 5.0
"""Seconds to wait for a child to exit after it has closed its output."""


class ChildEndedError(Exception):
    """A child process ended before it answered.

    `how` is the name of the signal or the exit code, `cause` what is behind it (of `killed`, the most likely
    reason is that the machine ran out of memory), and `last_line` the last line of its log.
    """

    def __init__(self, how: str, cause: Cause, last_line: str) -> None:
        super().__init__(how)
        self.how = how
        self.cause = cause
        self.last_line = last_line


class Child:
    """A child process that is sent messages and answers them; see `child_main` for its side.

    It ends at the latest when this object is collected, or this process ends. It runs in a session of its
    own, so that Ctrl-C is not sent to it and its whole process group can be killed.
    """

    def __init__(
        self,
        target: str,
        *,
        stderr: Literal["log", "inherit", "discard"],
        env: dict[str, str] | None = None,
        most: int = sys.maxsize,
    ) -> None:
        """Start a process that runs `serve(process)` of `target`, a file or a module.

        `stderr` is kept in a log for `ChildEndedError`, shared with this process, or discarded. `most` is the
        number of bytes that one answer may have.
        """
        self._log = tempfile.TemporaryFile() if stderr == "log" else None  # noqa: SIM115 - closed by `_end`
        # -P keeps the script's own folder out of the search path for modules
        command = [sys.executable, "-P", _MAIN, str(_read_end()), target]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if stderr == "discard" else self._log,
            env=env,
            start_new_session=True,
            pass_fds=[_read_end()] if os.name == "posix" else (),
        )
        self._answers: SimpleQueue[tuple[Any, bytes] | Exception] = SimpleQueue()
        arguments = (self._process.stdout, self._answers, most)
        listener = threading.Thread(target=_listen, args=arguments, daemon=True)
        self._finalizer = weakref.finalize(self, _end, self._process, listener, self._log)
        listener.start()

    @property
    def pid(self) -> int:
        """The id of the child process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs, so that it can take another message."""
        return self._process.poll() is None

    def send(self, message: Any, data: bytes = b"") -> None:
        """Send a message; if the process has died, the next `receive` reports that."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # it has died, or was ended
            write_message(self._process.stdin.fileno(), message, data)

    def receive(self, seconds: float | None = None) -> tuple[Any, bytes]:
        """Return the next answer of the process, and the bytes that follow it.

        Raises TimeoutError if none arrives within `seconds`, ChildEndedError if the process has ended.
        """
        try:
            answer = self._answers.get(timeout=None if seconds is None else max(0.0, seconds))
        except Empty:
            raise TimeoutError from None
        if isinstance(answer, Exception):
            self._answers.put(answer)  # for those who ask again
            raise self._ended(answer)
        return answer

    def ended(self, seconds: float) -> ChildEndedError | None:
        """Return how the process ended, `None` if it still runs after `seconds`; this takes no answer."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return self._ended(EOFError())

    def kill(self) -> None:
        """Kill the process and all that it started."""
        _kill(self._process)

    def end(self) -> None:
        """Kill the process if it still runs, and close its pipes and its log."""
        self._finalizer()

    def _ended(self, error: Exception) -> ChildEndedError:
        """Return how the process ended, after `error` on reading its answers."""
        if not isinstance(error, EOFError):
            self.kill()
            return ChildEndedError(f"an unreadable answer: {error}", "crash", "")
        try:
            code = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            return ChildEndedError("it closed its output", "crash", "")
        how = f"exit code {code}"
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            how = names.get(-code, f"signal {-code}")
        last_line = ""
        if self._log is not None and not self._log.closed:
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LAST_WORDS))
            last_line = "".join(self._log.read().decode(errors="replace").strip().splitlines()[-1:])
        return ChildEndedError(how, _CAUSES.get(how, "crash"), last_line)


class Children:
    """The child processes of one call, so that they can all be ended at once and no new one starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[Child] = weakref.WeakSet()
        self._stopped = False

    def start(self, target: str, **options: Any) -> Child:
        """Start a child process, see `Child`. Raises InterruptedError after `stop`."""
        with self._lock:
            if self._stopped:
                raise InterruptedError("stopped")
            child = Child(target, **options)
            self._started.add(child)
            return child

    def adopt(self, child: Child) -> None:
        """Have a child process that was started before end with the others."""
        with self._lock:
            self._started.add(child)

    def stop(self) -> None:
        """Kill every running child process, and let no new one start."""
        with self._lock:
            self._stopped = True
            for child in list(self._started):
                child.kill()


def _listen(output: IO[bytes], answers: SimpleQueue[Any], most: int) -> None:
    """Put the answers of a process into a queue, at last the error that ended them; runs in a thread.

    `output` is read by its descriptor alone. The lock of its buffer, held by this thread while it waits,
    would block a forked process, or the end of this one.
    """
    with output:
        try:
            while True:
                answers.put(read_message(output.fileno(), most))
        except (EOFError, OSError, ValueError) as error:
            answers.put(error)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and its group."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):  # it ended by itself meanwhile
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _end(process: subprocess.Popen[bytes], listener: threading.Thread, log: IO[bytes] | None) -> None:
    """Kill a process, and close its pipes and its log."""
    _kill(process)
    process.wait()
    if listener.is_alive() and listener is not threading.current_thread():
        listener.join(_GRACE)  # it closes stdout; a process that left the group may hold the other end
    for file in (process.stdin, log):
        if file is not None:
            file.close()


def _read_end() -> int:
    """Return the read end of the pipe, which children inherit; the pipe is created on first use. It is -1 on
    Windows, where descriptors cannot be passed: a child watches its stdin there."""
    if os.name != "posix":
        return -1
    if not _PIPE:
        _PIPE.extend(os.pipe())
    return _PIPE[0]


def _forget() -> None:
    """Close the parent's pipe in a forked process, which would otherwise keep the parent's children alive."""
    while _PIPE:
        os.close(_PIPE.pop())


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget)
