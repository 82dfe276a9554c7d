"""The worker process that `process` starts: it embeds texts and pictures of pages.

Each request has `embedder` (its options), and either `texts` and `query` (whether the texts are questions),
or, for an embedder of page pictures, `pages` (paths of pictures) or `questions` (texts), or `sizes` (of
pictures in pixels) and `words_of` (texts of questions), or `runs_on`. Without any of these, only the
embedder's `check` is run. The answer is `{"shape": [n, d]}` with the vectors (float32) as the bytes that
follow it, `{"lengths": [...], "width": d}` with the vectors of each page or question one after another,
`{"patches": [...], "words": [...]}` for sizes, `{"runs_on": DEVICE}`, `{}` after a check, or `{"error":
[class, message]}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from fathoms.errors import FathomsError
from fathoms.models import Embedder, PageEmbedder
from fathoms.models.embed.multi_vector import MultiVectorEmbedder
from fathoms.models.embed.pages import HubPageModel
from fathoms.models.protocols import TextEmbedder

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess

Adapter = TypeAdapter[Embedder | PageEmbedder]


def serve(process: ThisProcess) -> None:
    """Answer requests until the parent closes the pipe."""
    adapter: Adapter = TypeAdapter(Embedder | PageEmbedder)
    for request in process.requests():
        process.answer(*answer(adapter, request))


def answer(adapter: Adapter, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the answer to one request, and the bytes that follow it."""
    try:
        embedder = adapter.validate_python(request["embedder"])
        if not request.keys() & {"texts", "pages", "questions", "sizes", "runs_on"}:
            embedder.check()
            return {}, b""
        if isinstance(embedder, MultiVectorEmbedder) and "sizes" in request:
            sizes = [(width, height) for width, height in request["sizes"]]
            return {"patches": embedder.patches(sizes), "words": embedder.words(request["words_of"])}, b""
        if isinstance(embedder, HubPageModel):
            return _of_pages(embedder, request)
        assert isinstance(
            embedder, TextEmbedder
        )  # page embedders of servers run in the process that needs them
        embed = embedder.embed_queries if request["query"] else embedder.embed
        vectors = embed(request["texts"])
    except FathomsError as error:
        return {"error": [type(error).__name__, str(error)]}, b""
    except Exception as error:  # otherwise the parent would only see that the worker died
        return {"error": ["ModelError", f"embedding failed: {type(error).__name__}: {error}"]}, b""
    return {"shape": vectors.shape}, vectors.tobytes()


def _of_pages(embedder: HubPageModel, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the matrices of vectors of pages or questions, one after another, or where the model runs."""
    if "runs_on" in request:
        return {"runs_on": embedder.runs_on()}, b""
    if "pages" in request:
        matrices = embedder.embed_pages([Path(path) for path in request["pages"]])
    else:
        matrices = embedder.embed_questions(request["questions"])
    width = matrices[0].shape[1] if matrices else 1
    head = {"lengths": [len(vectors) for vectors in matrices], "width": width}
    return head, b"".join(vectors.tobytes() for vectors in matrices)
