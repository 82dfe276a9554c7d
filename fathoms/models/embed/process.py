"""Embedding in a worker process, so that a local model's memory and crashes do not affect the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms import errors
from fathoms.errors import FathomsError, ModelError
from fathoms.models.embed.onnx import OnnxEmbedder
from fathoms.models.embed.sentence_transformers import SentenceTransformersEmbedder
from fathoms.safety.children import start_child

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import Embedder

APART = (OnnxEmbedder, SentenceTransformersEmbedder)
"""The embedders that load a model and therefore run in the worker process. Others ask a server or count
words."""

_TARGET = ["-m", "fathoms.models.embed.worker"]
_PLACES = ("FATHOMS_", "HF_", "CUDA_")
"""Prefixes of the environment variables that determine where weights are found and which device is used."""
_POLITE = 5.0  # seconds that the worker has to end on its own before it is killed


def embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
    """Return the vectors of documents, or of questions with `query`, float32 of shape (n, d).

    Local models run in the worker process. Raises the errors of the embedder's own methods, and ModelError if
    the worker process ended.
    """
    import numpy as np

    if not isinstance(embedder, APART):
        return embedder.embed_queries(texts) if query else embedder.embed(texts)
    told, data = _WORKER.ask({"embedder": _options(embedder), "texts": list(texts), "query": query})
    return np.frombuffer(data, dtype=np.float32).reshape(told["shape"])


def check(embedder: Embedder) -> None:
    """Run the embedder's `check` in the process where it will be used, so that no model is loaded twice."""
    if not isinstance(embedder, SentenceTransformersEmbedder):  # the checks of the others load no model
        embedder.check()
    else:
        _WORKER.ask({"embedder": _options(embedder)})


def _options(embedder: Embedder) -> dict[str, Any]:
    """Return the options from which the worker creates the same embedder."""
    return embedder.model_dump(mode="json")


class Worker:
    """A long-lived worker process that serves one request at a time.

    It is started when first needed, and again if it has died or if the working directory or the environment
    variables that determine weights and device have changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place: Any = None
        self._running: list[subprocess.Popen[bytes]] = []  # one at most
        weakref.finalize(self, _end, self._running)  # runs at the latest when this process ends

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request, and return the answer and the bytes that follow it; raises the errors of the
        worker."""
        with self._lock:
            process = self._process()
            try:
                told, data = self._exchange(process, json.dumps(request).encode())
            # after an interruption, the rest of this answer would be taken for the next one
            except BaseException:
                process.kill()
                _end(self._running)
                raise
        if "error" in told:
            raise _raised(*told["error"])
        return told, data

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a request and read its answer; raises ModelError if the process ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # the worker has died; reading its answer reports that
            process.stdin.write(request + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        told: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        data = process.stdout.read(told.get("bytes", 0))
        if not told or len(data) < told.get("bytes", 0):
            raise ModelError(_death(process))
        return told, data

    def _process(self) -> subprocess.Popen[bytes]:
        """Return a running process with the current environment; starts one if necessary."""
        shell = sorted(pair for pair in os.environ.items() if pair[0].startswith(_PLACES))
        place = (os.getpid(), Path.cwd(), shell)  # the process id, because a fork must start its own worker
        if self._place != place or not self._running or self._running[0].poll() is not None:
            _end(self._running)
            self._place = place
            self._running.append(start_child(_TARGET, stdout=subprocess.PIPE))
        return self._running[0]


def _death(process: subprocess.Popen[bytes]) -> str:
    """Return the error message for a worker that ended during a request."""
    code = process.wait()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    guess = ", perhaps because memory ran out" if code == -signal.SIGKILL else ""
    return f"embedding broke off: its process ended ({how}){guess}"


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    """Close the pipes of the processes, which makes them end, and kill those that do not end in time."""
    while running:
        process = running.pop()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):  # closing flushes unwritten data, which fails if the process has ended
                pipe.close()
        try:
            process.wait(_POLITE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _raised(name: str, message: str) -> FathomsError:
    """Recreate an exception that was raised in the worker."""
    kind = getattr(errors, name)
    if issubclass(kind, ModelError):
        return ModelError(message)
    error: FathomsError = kind.__new__(kind, message)  # `__init__` would format the message again
    return error


_WORKER = Worker()
