"""The child process that `llama_server.ChildServer` starts: it runs llama.cpp's server.

The one request holds settings and key, the answer the address of the server or an error. The questions go to
that address by HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.errors import ModelError
from fathoms.models.chat.llama_server import Settings, start

if TYPE_CHECKING:
    from fathoms.safety.child_main import ThisProcess


def serve(process: ThisProcess) -> None:
    """Start the server, and run it until the parent closes the pipe."""
    requests = process.requests()
    request = next(requests)
    try:
        server = start(Settings(**request["settings"]), request["key"])
    except ModelError as error:
        process.answer({"error": str(error)})
        return
    process.answer({"address": server.listening_address})
    next(requests, None)
