"""The worker process that `process` starts: `python -m fathoms.models.embed.worker`.

Each request is a line of JSON with `embedder` (its options), `texts`, and `query` (whether the texts are
questions). Without `texts`, only the embedder's `check` is run. The answer is a line of JSON: `{"shape": [n,
d], "bytes": N}` followed by the N bytes of the vectors (float32), `{"bytes": 0}` after a check, or `{"error":
[class, message]}`. The process ends when its standard input or output is closed.
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
    """Answer requests until standard input or output is closed."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # sends what libraries print to stderr, so that it does not mix with the answers
    adapter: TypeAdapter[Embedder] = TypeAdapter(Embedder)
    for line in sys.stdin.buffer:
        told, data = answer(adapter, json.loads(line))
        try:
            output.write(json.dumps(told).encode() + b"\n" + data)
            output.flush()
        except BrokenPipeError:  # the parent process has ended
            os._exit(0)


def answer(adapter: TypeAdapter[Embedder], request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the answer to one request, and the bytes that follow it."""
    try:
        embedder = adapter.validate_python(request["embedder"])
        if "texts" not in request:
            embedder.check()
            return {"bytes": 0}, b""
        embed = embedder.embed_queries if request["query"] else embedder.embed
        vectors = embed(request["texts"])
    except FathomsError as error:
        return {"error": [type(error).__name__, str(error)]}, b""
    except Exception as error:  # otherwise the parent would only see that the worker died
        return {"error": ["ModelError", f"embedding failed: {type(error).__name__}: {error}"]}, b""
    data = vectors.tobytes()
    return {"shape": vectors.shape, "bytes": len(data)}, data


if __name__ == "__main__":
    main()
