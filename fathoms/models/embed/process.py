"""Embedding in a worker process: a local encoder's memory, threads and crashes are not those of the run."""

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
"""The kinds that load a model. The others ask a server, or count words."""

_TARGET = ["-m", "fathoms.models.embed.worker"]
_PLACES = ("FATHOMS_", "HF_", "CUDA_")
"""What the variables begin with that say where weights are found and what computes."""
_POLITE = 5.0  # seconds to end by itself


def embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
    """Vectors of documents or questions, shape (n, d): what the embedder's own methods give.

    Raises what they raise, and ModelError where the process ended, whoever ended it.
    """
    import numpy as np

    if not isinstance(embedder, APART):
        return embedder.embed_queries(texts) if query else embedder.embed(texts)
    told, data = _WORKER.ask({"embedder": _options(embedder), "texts": list(texts), "query": query})
    return np.frombuffer(data, dtype=np.float32).reshape(told["shape"])


def check(embedder: Embedder) -> None:
    """The embedder's own `check`, made where it will work: so no model is loaded in two processes."""
    if not isinstance(embedder, SentenceTransformersEmbedder):  # the others load nothing for it
        embedder.check()
    else:
        _WORKER.ask({"embedder": _options(embedder)})


def _options(embedder: Embedder) -> dict[str, Any]:
    """What the worker makes the same embedder of."""
    return embedder.model_dump(mode="json")


class Worker:
    """One lasting process that serves requests in turn, started when it is first needed, and again where it
    has died or would now look for weights in other places."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place: Any = None
        self._running: list[subprocess.Popen[bytes]] = []  # one at most
        weakref.finalize(self, _end, self._running)  # at the latest when this process ends

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The answer to one request, and the bytes that follow it. Raises the errors of the worker."""
        with self._lock:
            process = self._process()
            try:
                told, data = self._exchange(process, json.dumps(request).encode())
            except BaseException:  # interrupted: what still comes would be taken for the next answer
                process.kill()
                _end(self._running)
                raise
        if "error" in told:
            raise _raised(*told["error"])
        return told, data

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for what comes of it."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it has died: there is no answer then
            process.stdin.write(request + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        told: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        data = process.stdout.read(told.get("bytes", 0))
        if not told or len(data) < told.get("bytes", 0):
            raise ModelError(_death(process))
        return told, data

    def _process(self) -> subprocess.Popen[bytes]:
        """The process as it must be now."""
        shell = sorted(pair for pair in os.environ.items() if pair[0].startswith(_PLACES))
        place = (os.getpid(), Path.cwd(), shell)  # a forked process has one of its own
        if self._place != place or not self._running or self._running[0].poll() is not None:
            _end(self._running)
            self._place = place
            self._running.append(start_child(_TARGET, stdout=subprocess.PIPE))
        return self._running[0]


def _death(process: subprocess.Popen[bytes]) -> str:
    """What to say of a process that ended in the middle."""
    code = process.wait()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    guess = ", for want of memory?" if code == -signal.SIGKILL else ""
    return f"embedding broke off: its process ended ({how}){guess}"


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    """End the processes: by themselves, when their input ends, or else by force."""
    while running:
        process = running.pop()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was still to be written
                pipe.close()
        try:
            process.wait(_POLITE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _raised(name: str, message: str) -> FathomsError:
    """An error of the worker, as it was raised there."""
    kind = getattr(errors, name)
    if issubclass(kind, ModelError):
        return ModelError(message)
    error: FathomsError = kind.__new__(kind, message)  # its message is made already
    return error


_WORKER = Worker()
