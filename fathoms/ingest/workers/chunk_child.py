"""The child process that splits documents into chunks, one after another.

The first request has the options of the chunker. Each of the others has `document`, as JSON, and `native`.
The answer is `{}` with the chunks as JSON in the bytes that follow it, or `{"error": [class, message]}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from fathoms.errors import FathomsError
from fathoms.ingest import Chunker
from fathoms.types import Document

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess


def serve(process: ThisProcess) -> None:
    """Answer requests until the parent closes the pipe."""
    requests = process.requests()
    adapter: TypeAdapter[Chunker] = TypeAdapter(Chunker)
    chunker = adapter.validate_python(next(requests))
    for request in requests:
        process.answer(*_answer(chunker, request))


def _answer(chunker: Chunker, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the answer to one request, and the bytes that follow it."""
    document = Document.model_validate_json(request["document"])
    try:
        chunks = chunker.chunk(document.model_copy(update={"native": request["native"]}))
    except FathomsError as error:
        return {"error": [type(error).__name__, str(error)]}, b""
    return {}, json.dumps([chunk.model_dump(mode="json") for chunk in chunks]).encode()
