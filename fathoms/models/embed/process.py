"""Embedding in a worker process, so that a local model's memory and crashes do not affect the run."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.errors import ModelError, error_of
from fathoms.models.embed.pages import HubPageModel
from fathoms.models.embed.patches import Patches, Words
from fathoms.safety.children import Child, ChildEndedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import Embedder, ImageTextEmbedder, MultiVectorEmbedder, PageEmbedder
    from fathoms.models.embed.served.spent import EmbeddingCalls

    Vectors = NDArray[np.float32]

APART = ("onnx", "sentence-transformers")
"""The kinds of embedders that load a model and therefore run in the worker process. Others ask a server or
count words."""

_PLACES = ("FATHOMS_", "HF_", "CUDA_")
"""Prefixes of the environment variables that determine where weights are found and which device is used."""


def embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
    """Return the vectors of documents, or of questions with `query`, float32 of shape (n, d).

    Local models run in the worker process. Raises the errors of the embedder's own methods, and ModelError if
    the worker process ended.
    """
    import numpy as np

    if embedder.kind not in APART:
        return embedder.embed_queries(texts) if query else embedder.embed(texts)
    head, data = _WORKER.ask({"embedder": _options(embedder), "texts": list(texts), "query": query})
    return np.frombuffer(data, dtype=np.float32).reshape(head["shape"])


def embed_pages(
    embedder: PageEmbedder, pictures: Sequence[Path], how: EmbeddingCalls | None = None
) -> list[Vectors]:
    """Return the vectors of each picture of a page, float32 of shape (vectors, width), as the embedder's own
    method does; raises its errors, and ModelError if the worker process ended. Local models run in the worker
    process; `how` says how a server is called, and counts what that took."""
    from fathoms.models.embed.served.served_model import ServedPageModel

    if isinstance(embedder, ServedPageModel):
        return embedder.embed_pages(pictures, how)
    return _matrices(embedder, {"pages": [str(picture.absolute()) for picture in pictures]})


def embed_questions(
    embedder: PageEmbedder, texts: Sequence[str], how: EmbeddingCalls | None = None
) -> list[Vectors]:
    """Return the vectors of each question, float32 of shape (vectors, width), as the embedder's own method
    does; raises its errors, and ModelError if the worker process ended. `how` is that of `embed_pages`."""
    from fathoms.models.embed.served.served_model import ServedPageModel

    if isinstance(embedder, ServedPageModel):
        return embedder.embed_questions(texts, how)
    return _matrices(embedder, {"questions": list(texts)})


def patches_and_words(
    embedder: MultiVectorEmbedder, sizes: Sequence[tuple[int, int]], questions: Sequence[str]
) -> tuple[list[Patches | None], list[Words]]:
    """Return which vectors of pictures of these sizes stand for which patches, and which vectors of each
    question for its words; raises the errors of the embedder, and ModelError if the worker process ended."""
    request = {"embedder": _options(embedder), "sizes": sizes, "words_of": questions}
    head, _ = _WORKER.ask(request)
    return [one and Patches(*one) for one in head["patches"]], [Words(*one) for one in head["words"]]


def runs_on(embedder: MultiVectorEmbedder | ImageTextEmbedder) -> str:
    """Return the device and the precision of a local model, as its own method does; raises its errors, and
    ModelError if the worker process ended."""
    head, _ = _WORKER.ask({"embedder": _options(embedder), "runs_on": True})
    return str(head["runs_on"])


def _matrices(embedder: PageEmbedder, request: dict[str, Any]) -> list[Vectors]:
    """Ask the worker process for matrices of vectors."""
    import numpy as np

    head, data = _WORKER.ask({"embedder": _options(embedder), **request})
    rows = np.frombuffer(data, dtype=np.float32).reshape(-1, head["width"])
    ends = np.cumsum(head["lengths"])
    return np.split(rows, ends[:-1]) if len(ends) else []


def check(embedder: Embedder | PageEmbedder) -> None:
    """Run the embedder's `check` in the process where it will be used, so that no model is loaded twice."""
    # the checks of the others load no model
    if embedder.kind != "sentence-transformers" and not isinstance(embedder, HubPageModel):
        embedder.check()
    else:
        _WORKER.ask({"embedder": _options(embedder)})


def _options(embedder: Embedder | PageEmbedder) -> dict[str, Any]:
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
        self.child: Child | None = None

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request, and return the answer and the bytes that follow it.

        Raises the errors of the worker, and ModelError if it ended.
        """
        with self._lock:
            child = self._running()
            try:
                child.send(request)
                head, data = child.receive()
            except ChildEndedError as ended:
                guess = ", perhaps because memory ran out" if ended.cause == "killed" else ""
                raise ModelError(f"embedding broke off: its process ended ({ended.how}){guess}") from None
            except BaseException:
                child.end()  # after an interruption, this answer would be taken for the next one
                raise
        if "error" in head:
            raise error_of(*head["error"])
        return head, data

    def _running(self) -> Child:
        """Return a running process with the current environment; starts one if necessary."""
        shell = sorted(pair for pair in os.environ.items() if pair[0].startswith(_PLACES))
        place = (os.getpid(), Path.cwd(), shell)  # the process id, because a fork must start its own worker
        if self.child is None or self._place != place or not self.child.alive:
            if self.child is not None:
                self.child.end()
            self._place = place
            self.child = Child("fathoms.models.embed.worker", stderr="inherit")
        return self.child


_WORKER = Worker()
