"""llama.cpp's own server, by xllamacpp: in this process, on a loopback port that a key closes to others."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Any

from fathoms.errors import MissingExtraError, ModelError

_BATCH = 256  # prompt tokens between two looks at whether the caller is still there


@dataclass(frozen=True)
class Settings:
    """What a server is started with; `slots` requests at once have `n_ctx` tokens each.

    `projector` is the path of the part that turns images into what the model reads.
    """

    model: str
    projector: str | None
    n_ctx: int
    threads: int
    slots: int


class OwnServer:
    """A server on threads of this process."""

    def __init__(self, settings: Settings) -> None:
        self.key = secrets.token_hex()
        self._server = start(settings, self.key)

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self._server.listening_address)

    def why_it_broke(self) -> str:
        """Nothing is known: had it died, so had this process."""
        return ""


def start(settings: Settings, key: str) -> Any:
    """Load the model and start its server; raises MissingExtraError or ModelError."""
    made = library()
    try:
        return made.Server(_parameters(made, settings, key))
    except RuntimeError as error:
        files = settings.model if settings.projector is None else f"{settings.model} or {settings.projector}"
        raise ModelError(
            f"{files} could not be loaded: not a GGUF model, or damaged, or too large"
        ) from error


def library() -> Any:
    """xllamacpp, or the command that installs it."""
    # Its threads meet hundreds of times a token. OpenMP lets them spin for long while they wait, and beside
    # one other busy process replies then took 2 to 10 times as long; after a short spin they now sleep.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise MissingExtraError("xllamacpp", "embedded", "the embedded model") from error
    return xllamacpp


def _parameters(made_by: Any, settings: Settings, key: str) -> Any:
    """llama.cpp's settings: quiet, on a free loopback port, with no memory but the context's."""
    made = made_by.CommonParams()
    made.model.path = settings.model
    if settings.projector is not None:
        made.mmproj.path = settings.projector
    made.n_ctx = settings.n_ctx * settings.slots
    made.n_parallel = settings.slots
    made.n_batch = made.n_ubatch = _BATCH
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = settings.threads
    made.hostnames = ["127.0.0.1"]
    made.port = 0
    made.api_keys = [key]
    made.verbosity = 0
    made.ui = False
    made.fit_params = False  # a search for what fits a GPU: a second at every start
    made.cache_ram_mib = 0  # else up to 8 GB of old prompts
    return made
