"""The child process that converts documents with Docling, one after another, until its stdin is closed.

Parent and child exchange JSON lines. The parent first sends the settings; the child replies `{"ready": true}`
once the models are loaded, or `{"unusable": ...}`. For each request `{path, first, last}` the child sends
`{"page": [done, total]}` when the file is open and after each page, and finally the answer (see
`convert.Answer`) or `{"error": [reason, detail]}`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fathoms.ingest.workers.worker import MIB, address_space, limit, take_stdout

if TYPE_CHECKING:
    from fathoms.ingest.docling.convert import Converter

LOG_MB = 16
"""Limit, in MiB, of any file that the process writes, its log on stderr in particular."""
OUTPUT_MB = 256
"""Limit, in MiB, of one answer."""
TOO_LONG = {"error": ["memory", f"holds more than {OUTPUT_MB} MiB of text and tables; split it"]}


def main() -> None:
    """Serve requests until stdin is closed."""
    output = take_stdout()
    settings = json.loads(sys.stdin.buffer.readline())
    limit("RLIMIT_CORE", 0)
    converter = _converter(settings, output)
    if converter is not None:
        _set_limits(settings)
        _say(output, {"ready": True})
        for line in sys.stdin.buffer:
            _serve(converter, json.loads(line), output)
    os._exit(0)


def _say(output: BinaryIO, message: Any) -> None:
    """Send one message to the parent."""
    output.write(json.dumps(message).encode() + b"\n")
    output.flush()


def _converter(settings: dict[str, Any], output: BinaryIO) -> Converter | None:
    """Build the converter and load its models; on failure, tell the parent why and return `None`."""
    from fathoms.ingest.docling.convert import Converter

    try:
        return Converter(settings)
    except Exception as error:
        names = [cls.__module__ + "." + cls.__name__ for cls in _causes(error)]
        _say(output, {"unusable": {"classes": names, "said": f"{type(error).__name__}: {error}"}})
        return None


def _causes(error: BaseException | None) -> list[type]:
    """Return the classes, bases included, of an error and of all its causes."""
    found: list[type] = []
    while error is not None:
        found += type(error).__mro__
        error = error.__cause__ or error.__context__
    return found


def _set_limits(settings: dict[str, Any]) -> None:
    """Limit the log, and the memory that a document may take beyond what libraries and models have taken."""
    limit("RLIMIT_FSIZE", LOG_MB * MIB)
    import torch

    # A GPU driver maps GPU memory into the address space, so the limit would be meaningless there.
    if not torch.cuda.is_available():
        limit("RLIMIT_AS", address_space() + settings["memory_mb"] * MIB)


def _serve(converter: Converter, request: dict[str, Any], output: BinaryIO) -> None:
    """Handle one request: convert the pages and send the answer or the error."""
    from fathoms.ingest.docling.convert import RefusedError

    def tell(done: int, total: int) -> None:
        _say(output, {"page": [done, total]})

    path = Path(request["path"])
    try:
        answer: Any = converter.read(path, request["first"], request["last"], tell)
    except RefusedError as refusal:
        answer = {"error": [refusal.reason, refusal.detail]}
    except MemoryError:
        answer = {"error": ["memory", ""]}
    except Exception as error:
        detail = f"cannot be converted ({type(error).__name__}: {error}); fetch it again, or try another kind"
        answer = {"error": ["damaged", detail]}
    _say(output, answer if _size(answer) <= OUTPUT_MB * MIB else TOO_LONG)


def _size(answer: Any) -> int:
    """Return the approximate size of an answer in bytes: that of Docling's JSON, the larger part of it."""
    return len(answer.get("native", ""))


if __name__ == "__main__":
    main()
