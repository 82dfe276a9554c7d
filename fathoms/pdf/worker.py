"""Reads PDFs in child processes. It is run by its path, so that nothing of fathoms is imported.

A request has `reader` (the path of a module with `read(path, options)`), `path`, `options`, `timeout` in
seconds, `memory_mb` and `output_mb`. The answer is what `read` returns. With `finish`, the path of the module
`finishing`, and `document`, the arguments of its `finished`, the answer is a document that is packed: `facts`
and the `size` of the first of the two parts of the bytes that follow. The process loads the reader once, and
then reads one file after another, each within its own limits.
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
    read, finishing = None, {}
    for request in process.requests():
        process.limit_time(request["timeout"])
        process.limit_files(request["output_mb"])
        if read is None:
            read = runpy.run_path(request["reader"])["read"]
            finishing = runpy.run_path(request["finish"]) if "finish" in request else {}
            process.silence(1, 2)  # native libraries print whatever a file makes them say
        process.limit_memory(request["memory_mb"])  # counted from here, so without the library
        process.answer(*_answer(read, finishing, request))
        process.stop_clock()


def _answer(read: Any, finishing: dict[str, Any], request: dict[str, Any]) -> tuple[Any, bytes]:
    """Return what `read` returns, packed where that is asked for, or the error that occurred instead."""
    try:
        found = read(request["path"], request["options"])
        if "finish" in request:
            message, data, size = _packed(finishing, found, request)
        else:
            message, data = json.dumps(found).encode(), b""
            size = len(message)
    except MemoryError:
        return {"error": ("memory", "")}, b""
    except Exception as error:
        detail = f"cannot be read ({type(error).__name__}: {error}); fetch it again, or try another kind"
        return {"error": ("damaged", detail)}, b""
    if size > request["output_mb"] * 1024 * 1024:
        detail = f"holds more than {request['output_mb']} MiB of text; split it"
        return {"error": ("memory", detail)}, b""
    return message, data


def _packed(finishing: dict[str, Any], raw: Any, request: dict[str, Any]) -> tuple[Any, bytes, int]:
    """Return the document of a file that was read, as a message and its bytes, and the size of its JSON; or
    the error that says why it gives no document."""
    if "error" in raw:
        return raw, b"", 0
    complaints = finishing["complaints_about"](request["path"])
    fields = finishing["finished"](raw=raw, complaints=complaints, **request["document"])
    if "error" in fields:
        return fields, b"", 0
    packed = finishing["packed"](fields)
    message = {"facts": packed.facts, "size": len(packed.document)}
    return message, packed.document + packed.text, packed.size
