"""A GGUF model on this machine: llama.cpp by xllamacpp, no server to install, no key, no hub."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ConfigError, ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion, chat_messages
from fathoms.models.chat.llama_child import ChildServer
from fathoms.models.chat.llama_server import OwnServer, Settings, library
from fathoms.models.cpus import available_cpus
from fathoms.models.prices import Priced
from fathoms.models.weights.weights import Weights, digests, locate
from fathoms.models.wire import Request, exchange
from fathoms.safety.limits import MOST_AT_ONCE, MOST_TOKENS
from fathoms.types import Message, Prompt, Reply

_CHECK_SECONDS = 60


class Embedded(Priced):
    """`kind: embedded`: a model from `fathoms models list`, or any GGUF file, run on the CPU.

    At temperature 0 and one request at once, the same prompt gives the same reply, whatever was asked
    before. `cache_prompt` and `max_concurrency` trade that for speed: llama.cpp adds in another order
    when it evaluates another number of tokens together, and where two words are nearly as likely, a
    reply can go another way.
    """

    packages: ClassVar[tuple[str, ...]] = ("xllamacpp",)
    neutral: ClassVar[frozenset[str]] = frozenset(
        {"model", "mmproj", "threads", "max_concurrency", "process"}
    )

    kind: Literal["embedded"] = "embedded"
    model: Weights = "smollm2-135m"
    """The name of an asset, or the path of a .gguf file."""
    mmproj: Weights | None = None
    """The path of the projector (a .gguf file of its own) of a vision model, which is then shown images."""
    n_ctx: int = Field(default=4096, ge=64, le=MOST_TOKENS)
    """Tokens of prompt and reply together, of one request."""
    max_tokens: int = Field(default=256, ge=1, le=MOST_TOKENS)
    """The longest reply, in tokens."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """0 takes the most likely token."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling; 1 is off. Nothing else that samples is on."""
    seed: int = Field(default=0, ge=0, lt=2**32 - 1)
    """Of the sampling; without effect at temperature 0. The largest number, a random seed, is not allowed."""
    cache_prompt: bool = False
    """Do not evaluate again what a prompt has in common with the one before, from its beginning: on many
    questions about one long document, seconds instead of minutes."""
    threads: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    """CPU threads; all that this process may use, if not given."""
    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """Requests at once; each has `n_ctx` tokens of its own."""
    process: Literal["own", "child"] = "own"
    """Where it runs: in this process, or in a child. A child that dies (a model too large for the memory)
    costs one question, and is started again."""

    @property
    def context_window(self) -> int:
        """Tokens of prompt and reply together."""
        return self.n_ctx

    def identity(self) -> dict[str, Any]:
        """The weights count by their hash, not by their name."""
        weights = digests(self.model) | (digests(self.mmproj) if self.mmproj else {})
        return {**super().identity(), "weights": weights}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, MissingWeightsError, ConfigError or ModelError."""
        library()  # the package first: weights are of no use without it
        self._engine()

    def check_images(self) -> None:
        """Raise ConfigError where there is no projector."""
        if self.mmproj is None:
            raise ConfigError(self._sees_nothing())

    @property
    def file_limits(self) -> None:
        """PDFs are not attached: their pages can be shown as images or text."""

    def _sees_nothing(self) -> str:
        """What to say to images without a projector."""
        return (
            f"{self.model} sees no images: set mmproj to the projector of a vision model,"
            " or take chunks without images"
        )

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; raises ModelError, also where the prompt is longer than the context, and where an
        image is put to a model without a projector.

        Cancelling the call stops the model within one batch of tokens.
        """
        if self.mmproj is None and any(message.images for message in prompt.messages):
            raise ModelError(self._sees_nothing())
        body = {
            "messages": chat_messages(prompt.messages),
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
        reply = await engine.complete(body)
        return reply.model_copy(update={"prompt_cut": False})  # a prompt that does not fit is refused

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Tokens of the messages in the model's own chat template: what the server will count.

        `None` with images, which are counted only as they are read.
        """
        if any(message.images for message in messages):
            return None
        return self._engine().count(chat_messages(messages))

    @property
    def counting_waits(self) -> bool:
        """It asks its server."""
        return True

    def _engine(self) -> _Engine:
        """The loaded model; the first call loads it."""
        settings = Settings(
            model=str(locate(self.model)),
            projector=None if self.mmproj is None else str(locate(self.mmproj)),
            n_ctx=self.n_ctx,
            threads=self.threads or available_cpus(),
            slots=self.max_concurrency,
        )
        with _loading:
            return _load(settings, self.process)


class _Engine:
    """A loaded model, asked through its server."""

    def __init__(self, server: OwnServer | ChildServer, settings: Settings) -> None:
        import httpx

        self._server = server
        with httpx.Client(**{**self._connection(), "timeout": _CHECK_SECONDS}) as client:
            trained = client.get("/props").json()["default_generation_settings"]["n_ctx"]
        if trained < settings.n_ctx:
            raise ConfigError(
                f"n_ctx is {settings.n_ctx}, the longest context of {settings.model} is {trained}"
            )

    def _connection(self) -> dict[str, Any]:
        """How its server is reached, which is started where it does not run."""
        return {
            "base_url": self._server.address,
            "headers": {"Authorization": f"Bearer {self._server.key}"},
            "timeout": None,  # of a reply: the caller sets one
            "trust_env": False,
            "verify": False,  # plain http; making TLS settings would take longer than the call
        }

    async def complete(self, body: dict[str, Any]) -> Reply:
        """One chat completion, streamed."""
        connection = await asyncio.to_thread(self._connection)
        sender = Sender("the embedded model", None, self._server.key, timeout=None)
        address = f"{connection['base_url']}/v1/chat/completions"
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        request = Request(address, streamed, sender, connection["headers"], local=True)
        completion = Completion(sender)
        try:
            await exchange(request, completion.hear)
            return completion.reply()
        except NoAnswerError as error:
            raise await asyncio.to_thread(self._broken, error) from error

    def count(self, messages: list[dict[str, Any]]) -> int:
        """Tokens of a chat."""
        import httpx

        with httpx.Client(**{**self._connection(), "timeout": 60}) as client:
            try:
                response = client.post("/v1/chat/completions/input_tokens", json={"messages": messages})
                return int(response.raise_for_status().json()["input_tokens"])
            except httpx.HTTPError as error:
                raise self._broken(error) from error

    def _broken(self, error: Exception) -> ModelError:
        """The error for a connection that broke."""
        reason = str(error) or type(error).__name__
        return ModelError(f"the embedded model broke off: {reason}{self._server.why_it_broke()}")


_loading = threading.Lock()


@lru_cache(maxsize=2)
def _load(settings: Settings, process: Literal["own", "child"]) -> _Engine:
    """The engine of these settings; two are kept, for a run and its judge."""
    server = OwnServer(settings) if process == "own" else ChildServer(settings)
    return _Engine(server, settings)


# the server's threads must have ended before the interpreter goes
atexit.register(_load.cache_clear)
