"""The child process that reads one PDF. Run by its path, so that nothing of fathoms is imported.

A request comes as JSON on stdin: `reader` (the path of a module with `read(path, options)`), `path`,
`options`, `timeout` in seconds, `memory_mb`, `output_mb`. The reading goes as JSON to stdout. Limits are
set by the process on itself, before the PDF is opened: the parent, which has threads, cannot do it
between fork and exec.
"""

from __future__ import annotations

import json
import math
import os
import runpy
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import resource
except ImportError:  # Windows: the parent's time-out is the only limit
    resource = None  # type: ignore[assignment]

MIB = 1024 * 1024
UNUSED = ("pymupdf.layout", "pymupdf4llm")
"""Packages that PyMuPDF 2 imports where they are installed: neural layout analysis, which no reader asks
for. Without them it starts in half the time and with a quarter of the memory."""


def main() -> None:
    """Serve the one request."""
    request = json.load(sys.stdin)
    output = take_stdout()
    limit_time(request["timeout"])
    limit("RLIMIT_CORE", 0)
    limit("RLIMIT_FSIZE", request["output_mb"] * MIB)
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    read = runpy.run_path(request["reader"])["read"]
    silence_stderr()
    limit("RLIMIT_AS", address_space() + request["memory_mb"] * MIB)
    output.write(_answer(read, request))
    output.flush()
    os._exit(0)


def take_stdout() -> BinaryIO:
    """Keep stdout for the reading; what native libraries print there goes nowhere."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return output


def silence_stderr() -> None:
    """What native libraries say about the file goes nowhere.

    The parent waits for the end of stderr, so a copy of it stays open as long as the process lives.
    """
    os.dup(2)
    os.dup2(1, 2)


def limit_time(seconds: float) -> None:
    """End this process a second after its parent should have, should the parent be gone."""
    whole = math.ceil(seconds) + 1
    if hasattr(signal, "alarm"):
        signal.alarm(whole)
    limit("RLIMIT_CPU", whole)


def limit(name: str, amount: int) -> None:
    """Lower a soft limit, as far as the platform knows it and the hard one allows."""
    if resource is None:
        return
    with suppress(ValueError, OSError):
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        bounded = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (bounded, hard))


def address_space() -> int:
    """Bytes of address space that this process has now; 0 where the platform does not tell."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _answer(read: Any, request: dict[str, Any]) -> bytes:
    """The reading as JSON, or the error that came instead of one."""
    try:
        reading = json.dumps(read(request["path"], request["options"])).encode()
    except MemoryError:
        return json.dumps({"error": ("memory", "")}).encode()
    except Exception as error:
        detail = f"cannot be read ({type(error).__name__}: {error}); fetch it again, or try another kind"
        return json.dumps({"error": ("damaged", detail)}).encode()
    if len(reading) > request["output_mb"] * MIB:
        detail = f"holds more than {request['output_mb']} MiB of text; split it"
        return json.dumps({"error": ("memory", detail)}).encode()
    return reading


if __name__ == "__main__":
    main()
