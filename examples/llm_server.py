"""Serves a small language model with OpenAI's API for the examples, using llama.cpp's own server.

fathoms models pull smollm2-135m
python examples/llm_server.py          # http://127.0.0.1:8080/v1, until Ctrl-C
python examples/llm_server.py 9000     # on another port; 0 selects a free port
"""

from __future__ import annotations

import sys
import threading

from fathoms.models.chat.llama_server import library
from fathoms.models.weights.weights import locate


def main(port: int) -> None:
    """Serve until interrupted."""
    xllamacpp = library()
    settings = xllamacpp.CommonParams()
    settings.model.path = str(locate("smollm2-135m"))
    settings.model_alias = {"smollm2-135m"}
    settings.n_ctx = 2048
    settings.n_parallel = 1
    settings.port = port
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8080)
