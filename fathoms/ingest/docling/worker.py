"""The child process that converts documents with Docling, one after another, until its stdin ends.

JSON lines both ways. First the settings come, and `{"ready": true}` goes back once the models are loaded,
or `{"unusable": ...}`. Then for each request `{path, first, last}` a `{"page": [done, total]}` when
it is open and as its pages are done, and in the end an answer, or an `{"error": [reason, detail]}`.
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
OUTPUT_MB = 256
TOO_LONG = {"error": ["memory", f"holds more than {OUTPUT_MB} MiB of text and tables; split it"]}


def main() -> None:
    """Serve requests until stdin ends."""
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
    """Send one message."""
    output.write(json.dumps(message).encode() + b"\n")
    output.flush()


def _converter(settings: dict[str, Any], output: BinaryIO) -> Converter | None:
    """The converter with its models; where it cannot be made, the parent is told why."""
    from fathoms.ingest.docling.convert import Converter

    try:
        return Converter(settings)
    except Exception as error:
        names = [cls.__module__ + "." + cls.__name__ for cls in _causes(error)]
        _say(output, {"unusable": {"classes": names, "said": f"{type(error).__name__}: {error}"}})
        return None


def _causes(error: BaseException | None) -> list[type]:
    """The classes, with their bases, of an error and of what it was raised from."""
    found: list[type] = []
    while error is not None:
        found += type(error).__mro__
        error = error.__cause__ or error.__context__
    return found


def _set_limits(settings: dict[str, Any]) -> None:
    """Bound what a document may take beyond what the libraries and models took, and what they may log.

    A GPU's driver maps its memory into the address space, which then says nothing.
    """
    limit("RLIMIT_FSIZE", LOG_MB * MIB)
    import torch

    if not torch.cuda.is_available():
        limit("RLIMIT_AS", address_space() + settings["memory_mb"] * MIB)


def _serve(converter: Converter, request: dict[str, Any], output: BinaryIO) -> None:
    """Convert some pages of one document and send what came of it."""
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
    """About how many bytes an answer has: Docling's form is the larger part of it."""
    return len(answer.get("native", ""))


if __name__ == "__main__":
    main()
