"""Reads PDFs in child processes. It is run by its path, so that nothing of fathoms is imported.

A request has `reader` (the path of a module with `read(path, options)`), `path`, `options`, `timeout` in
seconds, `memory_mb` and `output_mb`. The answer is what `read` returns. The process loads the reader once,
and then reads one file after another, each within its own limits.
"""

from __future__ import annotations

import json
import runpy
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess

UNUSED = ("pymupdf.layout", "pymupdf4llm")
"""Packages that PyMuPDF 2 imports where they are installed: neural layout analysis, which no reader asks
for. Without them it starts in half the time and with a quarter of the memory."""


def serve(process: ThisProcess) -> None:
    """Answer requests until the parent closes the pipe."""
    sys.modules.update(dict.fromkeys(UNUSED))  # type: ignore[arg-type]
    read = None
    for request in process.requests():
        process.limit_time(request["timeout"])
        process.limit_files(request["output_mb"])
        if read is None:
            read = runpy.run_path(request["reader"])["read"]
            process.silence(1, 2)  # native libraries print whatever a file makes them say
        process.limit_memory(request["memory_mb"])  # counted from here, so without the library
        process.answer(_answer(read, request))
        process.stop_clock()


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
