"""The child process that `llama_child` starts: `python -m fathoms.models.chat.llama_worker`.

It reads one line of JSON (settings and key), prints one line of JSON (its address or an error), and serves
until its standard input is closed. `child_main` ends it when its parent process ends.
"""

from __future__ import annotations

import json
import sys

from fathoms.errors import ModelError
from fathoms.models.chat.llama_server import Settings, start


def main() -> None:
    """Start the server, and serve until standard input is closed."""
    request = json.loads(sys.stdin.readline())
    try:
        server = start(Settings(**request["settings"]), request["key"])
    except ModelError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    del server  # its threads must end before the interpreter shuts down


if __name__ == "__main__":
    main()
