"""GGUF models that run on this machine with llama.cpp (xllamacpp), without a separate server or a key."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Loads
from fathoms.errors import ConfigError, ModelError, NoAnswerError
from fathoms.models.chat.chat_component import ChatComponent, refuse_files
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion, chat_messages, with_choice_p
from fathoms.models.chat.forms import form_options
from fathoms.models.chat.llama_server import ChildServer, OwnServer, Settings, library
from fathoms.models.cpus import available_cpus
from fathoms.models.weights.weights import WEIGHTS, Weights, digests, locate
from fathoms.models.wire import Request, exchange
from fathoms.safety.option_limits import MOST_AT_ONCE, MOST_TOKENS
from fathoms.types import Message, Prompt, Reply

_CHECK_SECONDS = 60
_WAIT_SECONDS = 0.005


class Embedded(ChatComponent):
    """`kind: embedded`: a model from `fathoms models list`, or any GGUF file, that runs on the CPU.

    At temperature 0 the same prompt always gives the same reply, whatever is asked before or beside it: each
    of several requests at a time has its own copy of the model. `cache_prompt: true` gives up this property
    for speed: llama.cpp sums in a different order if it evaluates a different number of tokens together,
    which can change a reply where two tokens are almost equally likely. `cache_prompt: context` keeps the
    property.
    """

    packages: ClassVar[tuple[str, ...]] = ("xllamacpp",)
    neutral: ClassVar[frozenset[str]] = frozenset(
        {"model", "mmproj", "threads", "max_concurrency", "process"}
    )

    inert: ClassVar[bool] = True
    loads: ClassVar[Mapping[str, Loads]] = {"model": WEIGHTS, "mmproj": WEIGHTS}
    kind: Literal["embedded"] = "embedded"
    model: Weights = "smollm2-135m"
    """Name of a model from `fathoms models list`, or path of a .gguf file."""
    mmproj: Weights | None = None
    """Path of the projector of a vision model (a separate .gguf file), which lets the model read images."""
    n_ctx: int = Field(default=4096, ge=64, le=MOST_TOKENS)
    """Context window of one request in tokens, prompt and reply together."""
    max_tokens: int = Field(default=256, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """Sampling temperature; 0 always takes the most likely token."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Probability mass of nucleus sampling; 1 turns it off. Top-k and min-p sampling are always off."""
    seed: int = Field(default=0, ge=0, lt=2**32 - 1)
    """Random seed of the sampling, without effect at temperature 0. 2^32 - 1 is not allowed, because
    llama.cpp takes it for a random seed."""
    cache_prompt: bool | Literal["context"] = False
    """Whether to reuse the evaluation of the beginning that a prompt has in common with the previous one.
    With many questions about one long document, this takes seconds instead of minutes. `context` reuses only
    the evaluation of all that stands before the last blank line of the prompt, which in the template
    `default` is everything before the question. It is evaluated separately, so that replies do not depend on
    the order of the questions."""
    threads: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    """Number of CPU threads; all CPUs that this process may use if not given. Requests at the same time share
    them."""
    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time. Each has its own copy of the model, with one context; the copies
    share the memory of the weights. Small models answer faster so, because they gain little from several
    threads."""
    process: Literal["own", "child"] = "own"
    """Whether the model runs in this process (`own`) or in a child process (`child`). If the child dies, for
    example because the memory is not sufficient, only one question fails and the child is started again."""

    @property
    def is_local(self) -> bool:
        """True: the model runs in this process."""
        return True

    @property
    def context_window(self) -> int:
        """Maximum number of tokens of prompt and reply together."""
        return self.n_ctx

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the hashes of the weights, which replace their names."""
        weights = digests(self.model) | (digests(self.mmproj) if self.mmproj else {})
        return {**super().identity(), "weights": weights}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, MissingWeightsError, ConfigError or ModelError."""
        library()  # first, because the user should not download weights before the package is installed
        self._engine()

    def check_images(self) -> None:
        """Raise ConfigError if no projector is configured."""
        if self.mmproj is None:
            raise ConfigError(self._sees_nothing())

    def _sees_nothing(self) -> str:
        """Return the error message for images sent to a model without a projector."""
        return (
            f"{self.model} accepts no images: set mmproj to the projector of a vision model,"
            " or use chunks without images"
        )

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt to the model and return the reply.

        Raises ModelError, also if the prompt is longer than the context, has files, or has images and there
        is no projector. Cancelling the call stops the model within one batch of tokens.
        """
        if self.mmproj is None and any(message.images for message in prompt.messages):
            raise ModelError(self._sees_nothing())
        refuse_files(self.model, prompt)
        # the tokens of images are not known before they are evaluated
        apart = self.cache_prompt == "context" and not any(message.images for message in prompt.messages)
        body = {
            "messages": chat_messages(prompt.messages),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "cache_prompt": apart or self.cache_prompt is True,
            # llama.cpp's defaults (top-k 40, min-p 0.05) would restrict the sampling beyond top_p
            "top_k": 0,
            "min_p": 0.0,
            **form_options(prompt.form),
        }
        copies = await asyncio.to_thread(self._copies)
        reply = await copies.complete(body, apart=apart)
        if prompt.form is not None:
            reply = with_choice_p(reply, prompt.form)
        return reply.model_copy(update={"prompt_cut": False})  # llama.cpp refuses a prompt that does not fit

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Return the number of tokens of the messages in the chat template of the model.

        `None` if there are images or files, whose tokens are not known before they are evaluated.
        """
        if any(message.images or message.files for message in messages):
            return None
        return self._engine().count(chat_messages(messages))

    @property
    def counting_waits(self) -> bool:
        """Always True: tokens are counted by a request to the server."""
        return True

    def _engine(self) -> _Engine:
        """Return the first copy of the loaded model."""
        return self._copies().first

    def _copies(self) -> _Copies:
        """Return the loaded model; the first call loads it."""
        settings = Settings(
            model=str(locate(self.model)),
            projector=None if self.mmproj is None else str(locate(self.mmproj)),
            n_ctx=self.n_ctx,
            threads=max(1, (self.threads or available_cpus()) // self.max_concurrency),
        )
        with _loading:
            return _load(settings, self.process, self.max_concurrency)


class _Copies:
    """Copies of one model, which are loaded when they are first needed at the same time."""

    def __init__(self, settings: Settings, process: Literal["own", "child"], most: int) -> None:
        self._settings, self._process = settings, process
        self._busy = [0] * most
        self._lock = threading.Lock()
        self._loaded: list[_Engine] = []
        self.first = self._at(0)

    async def complete(self, body: dict[str, Any], *, apart: bool) -> Reply:
        """Request one chat completion from the copy that has least to do (`_Engine.complete`)."""
        at, engine = await asyncio.to_thread(self._take)
        try:
            return await engine.complete(body, apart=apart)
        finally:
            with self._lock:
                self._busy[at] -= 1

    def _take(self) -> tuple[int, _Engine]:
        """Return the copy that has least to do, and its number; it is busy from now on."""
        with self._lock:
            at = min(range(len(self._busy)), key=self._busy.__getitem__)
            engine = self._at(at)
            self._busy[at] += 1
            return at, engine

    def _at(self, number: int) -> _Engine:
        """Return a copy, which is loaded if it is the next one."""
        if number == len(self._loaded):
            server = OwnServer(self._settings) if self._process == "own" else ChildServer(self._settings)
            self._loaded.append(_Engine(server, self._settings))
        return self._loaded[number]


class _Engine:
    """A loaded model, which is used through its server."""

    def __init__(self, server: OwnServer | ChildServer, settings: Settings) -> None:
        import httpx

        self._server = server
        self._alone = threading.Lock()
        self._context: list[int] | None = None
        self._n_ctx = settings.n_ctx
        with httpx.Client(**{**self._connection(), "timeout": _CHECK_SECONDS}) as client:
            trained = client.get("/props").json()["default_generation_settings"]["n_ctx"]
        if trained < settings.n_ctx:
            raise ConfigError(
                f"n_ctx is {settings.n_ctx}, the longest context of {settings.model} is {trained}"
            )

    def _connection(self) -> dict[str, Any]:
        """Return the settings of an HTTP client for the server, which is started if it does not run."""
        return {
            "base_url": self._server.address,
            "headers": {"Authorization": f"Bearer {self._server.key}"},
            "timeout": None,  # the caller limits the time of a reply
            "trust_env": False,
            "verify": False,  # it is plain HTTP, and creating a TLS context would take longer than the call
        }

    async def complete(self, body: dict[str, Any], *, apart: bool = False) -> Reply:
        """Request one chat completion as a stream; raises ModelError.

        With `apart`, the context is evaluated before the question and by itself, if the previous request had
        another one. The server has one slot, which no other request may use in between.
        """
        while not self._alone.acquire(blocking=False):  # callers may be in several threads and event loops
            await asyncio.sleep(_WAIT_SECONDS)
        try:
            if not apart:
                self._context = None
            elif not await self._evaluate_context(body["messages"]):
                body = {**body, "cache_prompt": False}
            return await self._complete(body)
        finally:
            self._alone.release()

    async def _evaluate_context(self, messages: list[dict[str, Any]]) -> bool:
        """Bring the slot into the state after the context; returns whether its evaluation can be used.

        The server always evaluates at least one token of a request. Therefore, the state of all tokens but
        the last is kept, and the last one is evaluated alone for each question, the first one too. So every
        question starts from the same state to the bit, whatever was asked before.
        """
        import httpx

        previous, self._context = self._context, None
        connection = await asyncio.to_thread(self._connection)
        try:
            async with httpx.AsyncClient(**connection) as client:

                async def post(path: str, **body: Any) -> dict[str, Any]:
                    found: dict[str, Any] = (await client.post(path, json=body)).raise_for_status().json()
                    return found

                async def tokens(text: str) -> list[int]:
                    found = await post("/tokenize", content=text, add_special=True, parse_special=True)
                    return list(found["tokens"])

                text = str((await post("/apply-template", messages=messages))["prompt"])
                whole = await tokens(text)
                context = _common(whole, await tokens(text[: _question_starts(text, messages)]))
                if not 2 <= len(context) < len(whole) < self._n_ctx:
                    return False  # a prompt that is too long is refused by the request itself
                for known in (previous == context, False):
                    if not known:
                        await post("/completion", prompt=context[:-1], n_predict=0, cache_prompt=False)
                    last = await post("/completion", prompt=context, n_predict=0, cache_prompt=True)
                    # fewer are reused after a restart of the child, whose slot is empty
                    if last["timings"]["cache_n"] == len(context) - 1:
                        self._context = context
                        return True
                return False
        except httpx.HTTPError as error:
            raise await asyncio.to_thread(self._broken, error) from error

    async def _complete(self, body: dict[str, Any]) -> Reply:
        """Send the request of one chat completion."""
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
        """Return the number of tokens of a chat; raises ModelError."""
        import httpx

        with httpx.Client(**{**self._connection(), "timeout": 60}) as client:
            try:
                response = client.post("/v1/chat/completions/input_tokens", json={"messages": messages})
                return int(response.raise_for_status().json()["input_tokens"])
            except httpx.HTTPError as error:
                raise self._broken(error) from error

    def _broken(self, error: Exception) -> ModelError:
        """Make the error for a broken connection."""
        reason = str(error) or type(error).__name__
        return ModelError(f"the embedded model broke off: {reason}{self._server.why_it_broke()}")


def _question_starts(text: str, messages: list[dict[str, Any]]) -> int:
    """Return the position in the rendered prompt after the last blank line of the last message, or where this
    message begins if it has none; 0 if the template changed the message."""
    last = str(messages[-1]["content"]).strip()
    begins = text.rfind(last)
    return 0 if begins < 0 else begins + (last.rfind("\n\n") + 2 if "\n\n" in last else 0)


def _common(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the beginning that two sequences of tokens have in common."""
    return [a for a, b in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))]


_loading = threading.Lock()


@lru_cache(maxsize=2)
def _load(settings: Settings, process: Literal["own", "child"], most: int) -> _Copies:
    """Load a model with these settings. Two models are cached, for the pipeline and its judge."""
    return _Copies(settings, process, most)


# the threads of the servers must end before the interpreter shuts down
atexit.register(_load.cache_clear)
