"""A reader that does what the name of its PDF says: every way in which a child process can go wrong."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

spoilt: list[Path] = []
"""What files have left behind in this process."""
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


def _spoil(path: Path) -> str:
    spoilt.append(path)
    return "spoilt"


def _crash_if_spoilt(path: Path) -> str:
    return _die(signal.SIGSEGV) if spoilt else "sound"


def _forge(path: Path) -> str:
    """Answer in the name of the process, as a file that has taken it over could."""
    process = next(one for one in gc.get_objects() if type(one).__name__ == "ThisProcess")
    process.answer({"facts": 5, "size": 1} if "facts" in path.stem else {} if "empty" in path.stem else [5])
    return _die(signal.SIGKILL)


DEEDS: dict[str, Any] = {
    "forge": _forge,
    "sleep": _sleep,
    "nap": _nap,
    "segv": lambda path: _die(signal.SIGSEGV),
    "kill": lambda path: _die(signal.SIGKILL),
    "abort": lambda path: _die(signal.SIGABRT),
    "exit": lambda path: os._exit(3),
    "noise": _noise,
    "spoil": _spoil,
    "innocent": _crash_if_spoilt,
    "process": lambda path: str(os.getpid()),
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
