"""The child process that converts documents with Docling, one after another.

The parent first sends the settings; the child answers `{"ready": true}` once the models are loaded, or
`{"unusable": ...}`. For each request `{path, first, last}` the child answers `{"page": [done, total]}` when
the file is open and after each page, and finally what `Converter.read` returns, or
`{"error": [reason, detail]}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.ingest.docling.convert import Converter, RefusedError
from fathoms.ingest.docling.imports import import_what_is_used, no_random_weights, uses_torch

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess

LOG_MB = 16
"""Limit, in MiB, of any file that the process writes, its log on stderr in particular."""
OUTPUT_MB = 256
"""Limit, in MiB, of one answer."""
TOO_LONG = {"error": ["memory", f"holds more than {OUTPUT_MB} MiB of text and tables; split it"]}


def serve(process: ThisProcess) -> None:
    """Load the models, then convert what the parent asks for."""
    process.silence(1)
    requests = process.requests()
    settings = next(requests)
    try:
        import_what_is_used(settings)
        with no_random_weights(settings):
            converter = Converter(settings)
    except Exception as error:
        process.answer({"unusable": described_error(error)})
        return
    process.limit_files(LOG_MB)
    # A GPU driver maps GPU memory into the address space, so the limit would be meaningless there.
    if not (uses_torch(settings) and _has_gpu()):
        process.limit_memory(settings["memory_mb"])  # beyond what libraries and models have taken
    process.answer({"ready": True})
    for request in requests:
        process.answer(_converted(converter, request, process))


def _has_gpu() -> bool:
    """Return whether torch finds a GPU with a driver for CUDA."""
    import torch

    return bool(torch.cuda.is_available())


def described_error(error: BaseException) -> dict[str, Any]:
    """Return an error for the parent process: its classes with those of its causes, and what it says."""
    names = [f"{cls.__module__}.{cls.__name__}" for cls in _causes(error)]
    return {"classes": names, "said": f"{type(error).__name__}: {error}"}


def _causes(error: BaseException | None) -> list[type]:
    """Return the classes, bases included, of an error and of all its causes."""
    found: list[type] = []
    while error is not None:
        found += type(error).__mro__
        error = error.__cause__ or error.__context__
    return found


def _converted(converter: Converter, request: dict[str, Any], process: ThisProcess) -> Any:
    """Convert the pages of one request; return the result or the error."""

    def tell(done: int, total: int) -> None:
        process.answer({"page": [done, total]})

    try:
        found = converter.read(Path(request["path"]), request["first"], request["last"], tell)
    except RefusedError as refusal:
        return {"error": [refusal.reason, refusal.detail]}
    except MemoryError:
        return {"error": ["memory", ""]}
    except Exception as error:
        detail = f"cannot be converted ({type(error).__name__}: {error}); fetch it again, or try another kind"
        return {"error": ["damaged", detail]}
    # Docling's own JSON is the larger part of the answer
    return found if len(found["native"]) <= OUTPUT_MB * 1024 * 1024 else TOO_LONG
