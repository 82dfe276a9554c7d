"""The child process that `llama_child` starts: `python -m fathoms.models.chat.llama_worker`.

It reads one line of JSON (settings and key), prints one (its address, or what went wrong), and serves until
its standard input ends. `child_main` ends it with its parent.
"""

from __future__ import annotations

import json
import sys

from fathoms.errors import ModelError
from fathoms.models.chat.llama_server import Settings, start


def main() -> None:
    """Serve until nobody listens."""
    request = json.loads(sys.stdin.readline())
    try:
        server = start(Settings(**request["settings"]), request["key"])
    except ModelError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    del server  # its threads must have ended before the interpreter goes


if __name__ == "__main__":
    main()
