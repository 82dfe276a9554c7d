"""A reader that does what the name of its PDF says: every way in which a child process can go wrong."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE", "RLIMIT_FSIZE")


def read(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Act, and give one page of text where that is survived."""
    deed = Path(path).stem.partition("-")[0]
    text = DEEDS[deed](Path(path))
    page = {"text": text, "pictures": 0}
    return {"page_count": 1, "pages": [page], "warnings": []}


def _sleep(path: Path) -> str:
    path.with_suffix(".pid").write_text(str(os.getpid()))
    time.sleep(60)
    return "rested"


def _nap(path: Path) -> str:
    time.sleep(float(path.stem.partition("-")[2]))
    return "rested"


def _die(number: int) -> str:
    os.kill(os.getpid(), number)
    return "survived"


def _noise(path: Path) -> str:
    for stream in (1, 2):
        for _ in range(100):
            os.write(stream, b"noise" * 10_000)
    return "noise made"


def _write(path: Path) -> str:
    with path.with_suffix(".out").open("wb") as file:
        for _ in range(80):
            file.write(bytes(1024 * 1024))
    return "written"


def _raise(path: Path) -> str:
    raise ValueError("no such colour \x1b[31m")


def _steal(path: Path) -> str:
    """Look for the requests of other files, and for another pipe to write to than that of its own answer."""
    found = os.read(0, 1)
    writable = []
    for descriptor in range(3, 256):
        with suppress(OSError):  # it is not open
            is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
            if is_pipe and fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                writable.append(descriptor)
    return f"stolen: {found!r} {writable}" if found or len(writable) > 1 else "nothing to steal"


DEEDS: dict[str, Any] = {
    "sleep": _sleep,
    "nap": _nap,
    "segv": lambda path: _die(signal.SIGSEGV),
    "kill": lambda path: _die(signal.SIGKILL),
    "abort": lambda path: _die(signal.SIGABRT),
    "exit": lambda path: os._exit(3),
    "noise": _noise,
    "steal": _steal,
    "parent": lambda path: str(os.getppid()),
    "write": _write,
    "raise": _raise,
    "hoard": lambda path: str(len(bytearray(4 * 1024**3))),
    "flood": lambda path: "x" * (65 * 1024**2),
    "limits": lambda path: json.dumps(
        {name: resource.getrlimit(getattr(resource, name))[0] for name in LIMITS}
    ),
    "modules": lambda path: json.dumps(sorted(sys.modules)),
    "odd": lambda path: "a\x00b\ud800c\r\nd\ufffee\x1b[31m",
}
