"""llama.cpp's server in a child process (`llama_worker`): whatever a model does to it, it does it there."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import threading
import weakref
from contextlib import suppress
from dataclasses import asdict

from fathoms.errors import ModelError
from fathoms.models.chat.llama_server import Settings, library
from fathoms.safety.children import start_child


class ChildServer:
    """A server in a process of its own, which is started again where it has died."""

    def __init__(self, settings: Settings) -> None:
        library()  # a missing package is told here
        self.key = secrets.token_hex()
        self._settings = settings
        self._lock = threading.Lock()
        self._address = ""
        self._running: list[subprocess.Popen[str]] = []  # one at most
        weakref.finalize(self, _end, self._running)  # when nobody needs it any more, or this process ends

    @property
    def address(self) -> str:
        """Where it listens; starts it where it does not run. Raises ModelError where it cannot start."""
        with self._lock:
            if not self._running or self._running[0].poll() is not None:
                _end(self._running)
                self._address = self._start()
            return self._address

    def why_it_broke(self) -> str:
        """How the process ended, and that it comes back; empty while it runs."""
        for process in list(self._running):
            with suppress(subprocess.TimeoutExpired):  # a dying process closes its sockets before it is gone
                ended = _ending(process.wait(1))
                return f"; its process ended ({ended}) and is started again for the next question"
        return ""

    def _start(self) -> str:
        """Start the process; its address, once the model is loaded."""
        process = start_child(
            ["-m", "fathoms.models.chat.llama_worker"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._running.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"settings": asdict(self._settings), "key": self.key}) + "\n")
            process.stdin.flush()
        told = process.stdout.readline()
        answer: dict[str, str] = json.loads(told) if told else {"error": self._death(process)}
        if "error" in answer:
            _end(self._running)
            raise ModelError(answer["error"])
        return answer["address"]

    def _death(self, process: subprocess.Popen[str]) -> str:
        """What to say of a process that ended before it had loaded the model."""
        ended = _ending(process.wait())
        return f"{self._settings.model} could not be loaded: its process ended ({ended}), for want of memory?"


def _end(running: list[subprocess.Popen[str]]) -> None:
    """End the processes."""
    while running:
        process = running.pop()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was still to be written
                    pipe.close()


def _ending(code: int) -> str:
    """A return code in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
