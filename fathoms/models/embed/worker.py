"""The child process of `embedding`: `python -m fathoms.models.embed.worker`.

A line of JSON comes for each request: `embedder` (its options), and `texts` and `query`, or no texts: then
only its `check` is made. A line goes back, `{"shape": [n, d], "bytes": N}` with the vectors behind it,
`{"bytes": 0}` or `{"error": [class, message]}`. It ends when its standard input does, or nobody hears it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pydantic import TypeAdapter

from fathoms.errors import FathomsError
from fathoms.models import Embedder


def main() -> None:
    """Serve until nobody asks."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not taken for an answer
    adapter: TypeAdapter[Embedder] = TypeAdapter(Embedder)
    for line in sys.stdin.buffer:
        told, data = answer(adapter, json.loads(line))
        try:
            output.write(json.dumps(told).encode() + b"\n" + data)
            output.flush()
        except BrokenPipeError:  # the run has ended meanwhile
            os._exit(0)


def answer(adapter: TypeAdapter[Embedder], request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The answer to one request, and the bytes that follow it."""
    try:
        embedder = adapter.validate_python(request["embedder"])
        if "texts" not in request:
            embedder.check()
            return {"bytes": 0}, b""
        embed = embedder.embed_queries if request["query"] else embedder.embed
        vectors = embed(request["texts"])
    except FathomsError as error:
        return {"error": [type(error).__name__, str(error)]}, b""
    except Exception as error:  # libraries have errors of their own: the run must hear of them
        return {"error": ["ModelError", f"embedding failed: {type(error).__name__}: {error}"]}, b""
    data = vectors.tobytes()
    return {"shape": vectors.shape, "bytes": len(data)}, data


if __name__ == "__main__":
    main()
