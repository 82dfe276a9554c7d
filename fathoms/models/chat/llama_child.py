"""llama.cpp's server in a child process (`llama_worker`), so that a crash does not end the run."""

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
    """A server in a child process, which is started again if it has died."""

    def __init__(self, settings: Settings) -> None:
        library()  # raises the error of a missing package here, not in the child
        self.key = secrets.token_hex()
        self._settings = settings
        self._lock = threading.Lock()
        self._address = ""
        self._running: list[subprocess.Popen[str]] = []  # one at most
        # ends the child when this object is collected, at the latest when this process ends
        weakref.finalize(self, _end, self._running)

    @property
    def address(self) -> str:
        """The address of the server, which is started if needed; raises ModelError if it cannot start."""
        with self._lock:
            if not self._running or self._running[0].poll() is not None:
                _end(self._running)
                self._address = self._start()
            return self._address

    def why_it_broke(self) -> str:
        """Return the end of an error message that says how the process ended; empty if it still runs."""
        for process in list(self._running):
            # a dying process closes its sockets before it has ended, so wait a moment for its exit code
            with suppress(subprocess.TimeoutExpired):
                ended = _ending(process.wait(1))
                return f"; its process ended ({ended}) and is started again for the next question"
        return ""

    def _start(self) -> str:
        """Start the process and return its address once the model is loaded; raises ModelError."""
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
        """Return the error message for a process that ended before it had loaded the model."""
        ended = _ending(process.wait())
        return f"{self._settings.model} could not be loaded: its process ended ({ended}): not enough memory?"


def _end(running: list[subprocess.Popen[str]]) -> None:
    """Kill the processes and close their pipes."""
    while running:
        process = running.pop()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # closing flushes unwritten data, which fails after the process ended
                    pipe.close()


def _ending(code: int) -> str:
    """Describe a return code: the name of the signal, or the exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
