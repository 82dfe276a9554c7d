"""llama.cpp's server in a child process (`llama_worker`), so that a crash does not end the run."""

from __future__ import annotations

import secrets
import threading
from dataclasses import asdict

from fathoms.errors import ModelError
from fathoms.models.chat.llama_server import Settings, library
from fathoms.safety.children import Child, ChildEndedError


class ChildServer:
    """A server in a child process, which is started again if it has died."""

    def __init__(self, settings: Settings) -> None:
        library()  # raises the error of a missing package here, not in the child
        self.key = secrets.token_hex()
        self._settings = settings
        self._lock = threading.Lock()
        self._address = ""
        self.child: Child | None = None

    @property
    def address(self) -> str:
        """The address of the server, which is started if needed; raises ModelError if it cannot start."""
        with self._lock:
            if self.child is None or not self.child.alive:
                self._address = self._start()
            return self._address

    def why_it_broke(self) -> str:
        """Return the end of an error message that says how the process ended; empty if it still runs."""
        # a dying process closes its sockets before it has ended, so wait a moment
        ended = None if self.child is None else self.child.ended(1)
        if ended is None:
            return ""
        return f"; its process ended ({ended.how}) and is started again for the next question"

    def _start(self) -> str:
        """Start the process and return its address once the model is loaded; raises ModelError."""
        if self.child is not None:
            self.child.end()
        self.child = Child("fathoms.models.chat.llama_worker", stderr="discard")
        self.child.send({"settings": asdict(self._settings), "key": self.key})
        try:
            answer, _ = self.child.receive()
        except ChildEndedError as ended:
            model = self._settings.model
            raise ModelError(
                f"{model} could not be loaded: its process ended ({ended.how}): not enough memory?"
            ) from None
        except BaseException:
            self.child.end()  # after an interruption, `address` would take it for a server that has started
            raise
        if "error" in answer:
            self.child.end()
            raise ModelError(answer["error"])
        address: str = answer["address"]
        return address
