"""A GGUF model inside this process: llama.cpp by xllamacpp, no server to install, no key, no hub."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component
from fathoms.errors import ConfigError, MissingExtraError, ModelError
from fathoms.models.cpus import available_cpus
from fathoms.models.reasoning import split_reasoning
from fathoms.models.weights import Weights, digests, locate
from fathoms.types import Message, Prompt, Reply, Usage

_BATCH = 256  # prompt tokens between two looks at whether the caller is still there


class Embedded(Component):
    """`kind: embedded`: a model from `fathoms models list`, or any GGUF file, run on the CPU.

    At temperature 0 and one request at once, the same prompt gives the same reply, whatever was asked
    before. `cache_prompt` and `max_concurrency` trade that for speed: llama.cpp adds in another order
    when it evaluates another number of tokens together, and where two words are nearly as likely, a
    reply can go another way.
    """

    packages: ClassVar[tuple[str, ...]] = ("xllamacpp",)
    neutral: ClassVar[frozenset[str]] = frozenset({"model", "threads", "max_concurrency"})

    kind: Literal["embedded"] = "embedded"
    model: Weights = "smollm2-135m"
    """The name of an asset, or the path of a .gguf file."""
    n_ctx: int = Field(default=4096, ge=64)
    """Tokens of prompt and reply together, of one request."""
    max_tokens: int = Field(default=256, ge=1)
    """The longest reply, in tokens."""
    temperature: float = Field(default=0.0, ge=0)
    """0 takes the most likely token."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling; 1 is off. Nothing else that samples is on."""
    seed: int = Field(default=0, ge=0, lt=2**32 - 1)
    """Of the sampling; without effect at temperature 0. The largest number, a random seed, is not allowed."""
    cache_prompt: bool = False
    """Do not evaluate again what a prompt has in common with the one before, from its beginning: on many
    questions about one long document, seconds instead of minutes."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads; all that this process may use, if not given."""
    max_concurrency: int = Field(default=1, ge=1)
    """Requests at once; each has `n_ctx` tokens of its own."""

    @property
    def context_window(self) -> int:
        """Tokens of prompt and reply together."""
        return self.n_ctx

    def identity(self) -> dict[str, Any]:
        """The weights count by their hash, not by their name."""
        return {**super().identity(), "weights": digests(self.model)}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, MissingWeightsError, ConfigError or ModelError."""
        _library()  # the package first: weights are of no use without it
        self._engine()

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; raises ModelError, also where the prompt is longer than the context.

        Cancelling the call stops the model within one batch of tokens.
        """
        body = {
            "messages": _chat(prompt.messages),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "cache_prompt": self.cache_prompt,
            # llama.cpp's own defaults (top-k 40, min-p 0.05) would change what top_p says
            "top_k": 0,
            "min_p": 0.0,
        }
        engine = await asyncio.to_thread(self._engine)
        started = time.perf_counter()
        answer = await engine.complete(body)
        return _reply(answer, time.perf_counter() - started)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of the messages in the model's own chat template: what the server will count."""
        return self._engine().count(_chat(messages))

    def _engine(self) -> _Engine:
        """The loaded model; the first call loads it."""
        threads = self.threads or available_cpus()
        with _loading:
            return _load(str(locate(self.model)), self.n_ctx, threads, self.max_concurrency)


class _Engine:
    """One loaded model and its server on a loopback port of its own, closed to other users by a key."""

    def __init__(self, path: str, n_ctx: int, threads: int, slots: int) -> None:
        import httpx

        library = _library()
        key = secrets.token_hex()
        try:
            self._server = library.Server(_parameters(library, path, n_ctx, threads, slots, key))
        except RuntimeError as error:
            raise ModelError(
                f"{path} could not be loaded: not a GGUF model, or damaged, or too large"
            ) from error
        self._settings: dict[str, Any] = {
            "base_url": self._server.listening_address,
            "headers": {"Authorization": f"Bearer {key}"},
            "timeout": None,  # of a reply: the caller sets one
            "trust_env": False,
            "verify": False,  # plain http; making TLS settings would take longer than the call
        }
        with httpx.Client(**self._settings) as client:
            trained = client.get("/props").json()["default_generation_settings"]["n_ctx"]
        if trained < n_ctx:
            raise ConfigError(f"n_ctx is {n_ctx}, the longest context of {path} is {trained}")

    async def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """One chat completion."""
        import httpx

        # a client of one call: it belongs to the event loop of the caller
        async with httpx.AsyncClient(**self._settings) as client:
            try:
                response = await client.post("/v1/chat/completions", json=body)
            except httpx.HTTPError as error:
                raise ModelError(f"the embedded model broke off: {error or type(error).__name__}") from error
        return _checked(response.json())

    def count(self, messages: list[dict[str, str]]) -> int:
        """Tokens of a chat."""
        import httpx

        with httpx.Client(**{**self._settings, "timeout": 60}) as client:
            response = client.post("/v1/chat/completions/input_tokens", json={"messages": messages})
        return int(_checked(response.json())["input_tokens"])


_loading = threading.Lock()


@lru_cache(maxsize=2)
def _load(path: str, n_ctx: int, threads: int, slots: int) -> _Engine:
    """The engine of these settings; two are kept, for a run and its judge."""
    return _Engine(path, n_ctx, threads, slots)


# the server's threads must have ended before the interpreter goes
atexit.register(_load.cache_clear)


def _library() -> Any:
    """xllamacpp, or the command that installs it."""
    # Its threads meet hundreds of times a token. OpenMP lets them spin for long while they wait, and beside
    # one other busy process replies then took 2 to 10 times as long; after a short spin they now sleep.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise MissingExtraError("xllamacpp", "embedded", "the embedded model") from error
    return xllamacpp


def _parameters(library: Any, path: str, n_ctx: int, threads: int, slots: int, key: str) -> Any:
    """llama.cpp's settings: quiet, on a free loopback port, with no memory but the context's."""
    made = library.CommonParams()
    made.model.path = path
    made.n_ctx = n_ctx * slots
    made.n_parallel = slots
    made.n_batch = made.n_ubatch = _BATCH
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = threads
    made.hostnames = ["127.0.0.1"]
    made.port = 0
    made.api_keys = [key]
    made.verbosity = 0
    made.ui = False
    made.fit_params = False  # a search for what fits a GPU: a second at every start
    made.cache_ram_mib = 0  # else up to 8 GB of old prompts
    return made


def _chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as the server takes them."""
    return [{"role": message.role, "content": message.text} for message in messages]


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, unless it is an error."""
    error = answer.get("error")
    if not error:
        return answer
    if error.get("type") == "exceed_context_size_error":
        raise ModelError(
            f"the prompt takes {error['n_prompt_tokens']} tokens and the context holds {error['n_ctx']}:"
            " raise n_ctx or retrieve less"
        )
    raise ModelError(f"the embedded model failed: {error.get('message', error)}")


def _reply(answer: dict[str, Any], seconds: float) -> Reply:
    """The noun."""
    choice, usage = answer["choices"][0], answer["usage"]
    reasoning, text = split_reasoning(choice["message"].get("content") or "")
    return Reply(
        text=text,
        reasoning=choice["message"].get("reasoning_content") or reasoning,
        stop_reason=choice["finish_reason"],
        usage=Usage(
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
            cached_tokens=usage["prompt_tokens_details"]["cached_tokens"],
        ),
        latency=seconds,
    )
