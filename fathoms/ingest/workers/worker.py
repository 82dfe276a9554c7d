"""Reads PDFs in child processes. It is run by its path, so that nothing of fathoms is imported.

A request has `reader` (the path of a module with `read(path, options)`), `path`, `options`, `timeout` in
seconds, `memory_mb`, `output_mb` and `forks`. The answer is what `read` returns, or `{"ended": CODE}` if the
process that read the file ended without an answer; CODE is negative for a signal.

The process that gets the requests loads the reader's library once. If `forks` is true and the system can, it
then reads each file in a copy of itself. So a file costs a few milliseconds, and still has a process of its
own, which no other file has touched: it inherits the library as it was loaded, and no pipe but its own.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess

UNUSED = ("pymupdf.layout", "pymupdf4llm")
"""Packages that PyMuPDF 2 imports where they are installed: neural layout analysis, which no reader asks
for. Without them it starts in half the time and with a quarter of the memory."""


def serve(process: ThisProcess) -> None:
    """Answer requests; without forks only the first, because every file has a process of its own."""
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    read = None
    for request in process.requests():
        forks = request["forks"] and hasattr(os, "fork")
        if not forks:
            _limit(process, request)
        if read is None:
            read = runpy.run_path(request["reader"])["read"]
            process.silence(1, 2)  # native libraries print whatever a file makes them say
        if not forks:
            process.limit_memory(request["memory_mb"])  # counted from here, so without the library
            process.answer(_answer(read, request))
            return
        process.answer(_forked(process, read, request))


def _forked(process: ThisProcess, read: Any, request: dict[str, Any]) -> bytes:
    """Read one file in a copy of this process; returns its answer."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():  # the one other thread waits for the end of the parent, and holds no lock
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            process.detach()
            os.close(readable)
            _limit(process, request)
            process.limit_memory(request["memory_mb"])
            with os.fdopen(writable, "wb") as file:
                file.write(_answer(read, request))
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as file:
        found = file.read(request["output_mb"] * 1024 * 1024 + 1)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return found if found and code == 0 else json.dumps({"ended": code}).encode()


def _limit(process: ThisProcess, request: dict[str, Any]) -> None:
    """Limit the time and the files of the process that reads a file."""
    process.limit_time(request["timeout"])
    process.limit_files(request["output_mb"])


def _answer(read: Any, request: dict[str, Any]) -> bytes:
    """Return what `read` returns, or the error that occurred instead, as JSON."""
    try:
        found = json.dumps(read(request["path"], request["options"])).encode()
    except MemoryError:
        return json.dumps({"error": ("memory", "")}).encode()
    except Exception as error:
        detail = f"cannot be read ({type(error).__name__}: {error}); fetch it again, or try another kind"
        return json.dumps({"error": ("damaged", detail)}).encode()
    if len(found) > request["output_mb"] * 1024 * 1024:
        detail = f"holds more than {request['output_mb']} MiB of text; split it"
        return json.dumps({"error": ("memory", detail)}).encode()
    return found
