"""The worker process that `process` starts: it embeds texts.

Each request has `embedder` (its options), `texts`, and `query` (whether the texts are questions). Without
`texts`, only the embedder's `check` is run. The answer is `{"shape": [n, d]}` with the vectors (float32) as
the bytes that follow it, `{}` after a check, or `{"error": [class, message]}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from fathoms.errors import FathomsError
from fathoms.models import Embedder

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess


def serve(process: ThisProcess) -> None:
    """Answer requests until the parent closes the pipe."""
    adapter: TypeAdapter[Embedder] = TypeAdapter(Embedder)
    for request in process.requests():
        process.answer(*answer(adapter, request))


def answer(adapter: TypeAdapter[Embedder], request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the answer to one request, and the bytes that follow it."""
    try:
        embedder = adapter.validate_python(request["embedder"])
        if "texts" not in request:
            embedder.check()
            return {}, b""
        embed = embedder.embed_queries if request["query"] else embedder.embed
        vectors = embed(request["texts"])
    except FathomsError as error:
        return {"error": [type(error).__name__, str(error)]}, b""
    except Exception as error:  # otherwise the parent would only see that the worker died
        return {"error": ["ModelError", f"embedding failed: {type(error).__name__}: {error}"]}, b""
    return {"shape": vectors.shape}, vectors.tobytes()
