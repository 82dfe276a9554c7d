"""The child's side of `children`, and its entry point: `python child_main.py FD TARGET`.

TARGET is the path of a Python file or the name of a module; its function `serve(process)` does the work. This
file is run by its path and imports nothing of fathoms, so that a child starts quickly.

A message is a header of two lengths (8 bytes each, big-endian), then JSON, then bytes of any kind. It is not
a pickle, because unpickling the answer of a child that a hostile file has taken over would run its code.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import queue
import runpy
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
    import resource
except ImportError:  # Windows: the time-out of the parent is the only limit there
    fcntl = resource = None  # type: ignore[assignment]

MIB = 1024 * 1024
_HEADER = struct.Struct("!QQ")


def write_message(descriptor: int, message: Any, data: bytes = b"") -> None:
    """Write one message: an object to encode as JSON, or JSON as bytes, and the bytes that follow it."""
    encoded = message if isinstance(message, bytes) else json.dumps(message).encode()
    for part in (_HEADER.pack(len(encoded), len(data)) + encoded, data):
        left = memoryview(part)
        while left:
            left = left[os.write(descriptor, left) :]


def read_message(descriptor: int, most: int = sys.maxsize) -> tuple[Any, bytes]:
    """Read one message: the decoded JSON and the bytes that follow it.

    Raises EOFError if the pipe was closed, and ValueError for what is not a message, or is longer than `most`
    bytes.
    """
    length, size = _HEADER.unpack(_read(descriptor, _HEADER.size))
    if length + size > most:
        raise ValueError(f"a message of {length + size} bytes")
    return json.loads(_read(descriptor, length)), _read(descriptor, size)


def _read(descriptor: int, size: int) -> bytes:
    """Read exactly `size` bytes; raises EOFError if the pipe is closed before."""
    found = bytearray()
    while len(found) < size:
        part = os.read(descriptor, min(size - len(found), MIB))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _messages() -> Iterator[Any]:
    """Yield the messages that come over stdin until it is closed."""
    with suppress(EOFError):
        while True:
            yield read_message(0)[0]


class ThisProcess:
    """The child process that this code runs in: requests of its parent, answers, and limits on itself.

    The process sets its limits itself, because the parent, which has threads, can run no code between fork
    and exec. They are soft limits: they stop accidents and greedy files, not code that has taken over.
    """

    def __init__(self) -> None:
        self._requests: Iterator[Any] = _messages()
        self._output = os.dup(1)
        os.dup2(2, 1)  # what libraries print must not mix with the answers
        self._limit("RLIMIT_CORE", 0)

    def requests(self) -> Iterator[Any]:
        """Yield the requests of the parent until it closes the pipe."""
        yield from self._requests

    def end_with_stdin(self) -> None:
        """End this process as soon as the parent closes the pipe of requests, even during one.

        For systems on which no other descriptor is passed; see `watch`.
        """
        received: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def read() -> None:
            for request in _messages():
                received.put(request)
            os._exit(0)

        threading.Thread(target=read, daemon=True).start()
        self._requests = iter(received.get, self)

    def answer(self, message: Any, data: bytes = b"") -> None:
        """Send a message to the parent, see `write_message`; ends this process if the parent is gone."""
        try:
            write_message(self._output, message, data)
        except BrokenPipeError:
            os._exit(0)

    def silence(self, *descriptors: int) -> None:
        """Discard what is written to these descriptors from now on: 1 is stdout, 2 is stderr."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in descriptors:
            os.dup2(nowhere, descriptor)

    def limit_time(self, seconds: float) -> None:
        """End this process a second after the parent should have ended it, counted from now."""
        whole = math.ceil(seconds) + 1
        if hasattr(signal, "alarm"):
            signal.alarm(whole)
        self._limit("RLIMIT_CPU", int(time.process_time()) + whole)

    def stop_clock(self) -> None:
        """Stop the clock of `limit_time`, so that the wait for the next request does not count."""
        if hasattr(signal, "alarm"):
            signal.alarm(0)

    def limit_files(self, mb: int) -> None:
        """Limit the size of each file that this process writes, in MiB."""
        self._limit("RLIMIT_FSIZE", mb * MIB)

    def limit_memory(self, mb: int) -> None:
        """Limit the address space to `mb` MiB more than this process has now."""
        now = 0
        with suppress(OSError, AttributeError):  # only Linux has this file
            now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self._limit("RLIMIT_AS", now + mb * MIB)

    def _limit(self, name: str, amount: int) -> None:
        """Lower a soft limit, as far as the platform knows it and the hard limit allows."""
        if resource is None:
            return
        with suppress(ValueError, OSError):
            kind = getattr(resource, name)
            _, hard = resource.getrlimit(kind)
            bounded = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            resource.setrlimit(kind, (bounded, hard))


def main() -> None:
    """Watch the parent, and serve its requests."""
    # As the command line does: looking for cycles among all that is imported is a quarter of a long start.
    gc.set_threshold(100_000)
    parent, target = int(sys.argv[1]), sys.argv[2]
    process = ThisProcess()
    if parent >= 0:
        watch(parent)
    else:
        process.end_with_stdin()
    found = runpy.run_path(target) if target.endswith(".py") else vars(importlib.import_module(target))
    found["serve"](process)
    os._exit(0)  # without waiting for the threads of libraries


def watch(parent: int) -> None:
    """Kill this process group when the file `parent` reaches its end, because the parent is then gone.

    A thread notices it on every system, but cannot act while a library holds the interpreter's lock. On Linux
    the kernel is therefore also asked to send SIGIO, which ends processes that do not handle it.
    """
    os.set_inheritable(parent, False)
    threading.Thread(target=_wait, args=(parent,), daemon=True).start()
    with suppress(OSError, AttributeError):
        # opened again, because all processes that inherited a descriptor share its F_SETOWN
        own = os.open(f"/proc/self/fd/{parent}", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(own, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _wait(parent: int) -> None:
    """Wait for the end of the file, then kill the process group."""
    os.read(parent, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
