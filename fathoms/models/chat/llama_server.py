"""llama.cpp's own server, with xllamacpp, on a loopback port protected by a random key: in this process, or
in a child process (`llama_worker`), so that a crash does not end the run.
"""

from __future__ import annotations

import os
import secrets
import threading
from dataclasses import asdict, dataclass
from typing import Any

from fathoms.errors import MissingExtraError, ModelError
from fathoms.safety.children import Child, ChildEndedError

_BATCH = 256  # after this many prompt tokens the server checks whether the request was cancelled


@dataclass(frozen=True)
class Settings:
    """The settings of a server, which processes one request at a time.

    `projector` is the path of the file that converts images to input of the model; `None` for text models.
    """

    model: str
    projector: str | None
    n_ctx: int
    threads: int


class OwnServer:
    """A server that runs in threads of this process."""

    def __init__(self, settings: Settings) -> None:
        self.key = secrets.token_hex()
        self._server = start(settings, self.key)

    @property
    def address(self) -> str:
        """The address of the server."""
        return str(self._server.listening_address)

    def why_it_broke(self) -> str:
        """Return an empty text: if the server had crashed, this process would have ended with it."""
        return ""


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


def start(settings: Settings, key: str) -> Any:
    """Load the model and start its server; raises MissingExtraError or ModelError."""
    package = library()
    try:
        server = package.Server(_parameters(package, settings, key))
    except RuntimeError as error:
        files = settings.model if settings.projector is None else f"{settings.model} or {settings.projector}"
        raise ModelError(
            f"{files} could not be loaded: not a GGUF model, or damaged, or too large"
        ) from error
    _wait_for_loop(server, key)
    return server


def _wait_for_loop(server: Any, key: str) -> None:
    """Return once the server works on requests.

    Its constructor returns before the loop of its thread begins. An end that is asked for before then is
    forgotten when the loop begins, and whoever frees the server waits for its thread forever.
    """
    import httpx

    # the slots are looked up by the loop, so there is no answer before it runs
    address, headers = f"{server.listening_address}/slots", {"Authorization": f"Bearer {key}"}
    httpx.get(address, headers=headers, timeout=None, trust_env=False, verify=False).raise_for_status()


def library() -> Any:
    """Import xllamacpp; raises MissingExtraError if it is not installed."""
    # The threads synchronise hundreds of times per token. By default OpenMP lets them spin for long while
    # they wait, which made replies 2 to 10 times slower beside one other busy process. Now they sleep after a
    # short spin.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise MissingExtraError("xllamacpp", "embedded", "the embedded model") from error
    return xllamacpp


def _parameters(package: Any, settings: Settings, key: str) -> Any:
    """Return llama.cpp's parameters: no log, a free loopback port, and no cache of old prompts."""
    parameters = package.CommonParams()
    parameters.model.path = settings.model
    if settings.projector is not None:
        parameters.mmproj.path = settings.projector
    parameters.n_ctx = settings.n_ctx
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = settings.threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.verbosity = 0
    parameters.ui = False
    parameters.fit_params = (
        False  # skips a search for settings that fit a GPU, which takes a second at every start
    )
    parameters.cache_ram_mib = 0  # the default keeps up to 8 GB of old prompts in memory
    return parameters
