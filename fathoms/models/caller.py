"""The one way to call a model: rate limits, retries, outages, time limit, reply cache and cost of every call.

Answering, reranking and judging call their models through a `Caller`. What it does for one request to one
provider is in `fathoms.models.calling`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from fathoms.component import Component
from fathoms.errors import ContentFilterError, ModelError, TimedOutError
from fathoms.models.caching import ReplyCache
from fathoms.models.calling.deadline import call_under, wait_under
from fathoms.models.calling.provider_calls import ProviderCalls
from fathoms.models.protocols import ChatModel
from fathoms.safety.masking import without_known
from fathoms.safety.transport import await_in_thread
from fathoms.types import Call, Failure, Prompt, Purpose, Reply, Round

T = TypeVar("T")

CHARACTERS = 4
"""Estimated characters per token of English text."""


@dataclass
class _Called:
    """A model that is called, the control of its provider, and its places by purpose, which all models of
    that name at the provider share."""

    model: ChatModel  # kept, so that no other model gets its id
    calls: ProviderCalls
    places: dict[Purpose, asyncio.Semaphore]


class Caller:
    """Calls models, and says of every call what it took. It belongs to one event loop.

    `calls` controls the requests to the provider, and `others` those to other providers, by their name
    (`provider_of`). `replies` is the cache of replies; without it, every call is made. `timeout` limits a
    call that has no deadline of its own, in seconds, all attempts included; `None` means no limit. `on_part`
    is called with a question and its repeat when a document that is asked by itself has been asked.
    """

    def __init__(
        self,
        calls: ProviderCalls | None = None,
        *,
        replies: ReplyCache | None = None,
        timeout: float | None = None,
        others: Mapping[str, ProviderCalls] | None = None,
        on_part: Callable[[str, int], None] = lambda question, repeat: None,
    ) -> None:
        self.calls = calls or ProviderCalls()
        self.on_part = on_part
        self.replies = replies
        self.timeout = timeout
        self.retried = 0
        """How many calls took more than one request."""
        self.retries: Counter[str] = Counter()
        """The requests that were sent again, by cause."""
        self._others = others or {}
        self._called: dict[int, _Called] = {}
        self._places: dict[tuple[str, str], dict[Purpose, asyncio.Semaphore]] = {}
        self._keys: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def reply(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        purpose: Purpose,
        repeat: int = 0,
        deadline: asyncio.Timeout | None = None,
        calls: list[Call] | None = None,
        cache: ReplyCache | None = None,
        again: bool = False,
    ) -> tuple[Reply, Call]:
        """Return the model's reply with its cost, from the cache where possible, and a description of the
        call.

        At most `model.max_concurrency` calls to a model for one purpose are made at once, further ones wait.
        `repeat` (from 0) is added to the model's seed. `deadline` is the time limit of the block around this
        call; it is extended by waits that are not the provider's delay: for a free place, for rate limits,
        and for the end of an outage. The call is also appended to `calls`, even where it fails. `cache` is a
        cache of replies that is used in any case: for what is made once, such as a description, and is no
        measurement. Equal calls of this kind wait for one another, and only the first is made. `again` asks
        although the cache has a reply, unless that was stored since it was opened.

        Raises the model's ModelError after the last attempt, TimedOutError after `timeout`, and Stopped if a
        stop is requested during a wait.
        """
        calls = [] if calls is None else calls
        replies = self.replies if cache is None else cache
        if replies is None:
            async with self._place(model, purpose, deadline):
                return await self._call(model, prompt, purpose, repeat, deadline, calls)
        key = replies.key(model, prompt, repeat)
        async with nullcontext() if cache is None else self._alone(key, deadline):
            if (known := replies.get(key, again=again)) is not None:
                calls.append(call := _described(purpose, model, known, attempts=0, seconds=0.0))
                return known, call
            async with self._place(model, purpose, deadline):
                reply, call = await self._call(model, prompt, purpose, repeat, deadline, calls)
            replies.put(key, reply)
        return reply, call

    async def counted(
        self, model: ChatModel, count: Callable[[], T], deadline: asyncio.Timeout | None = None
    ) -> T:
        """Return the result of `count`, which counts tokens by `model.count_tokens`.

        Where a server counts them, `count` runs in a thread and is retried as a reply would be, but a stop
        interrupts it, because the model has not been asked anything yet. Raises ModelError and Stopped.
        """
        if not model.counting_waits:
            return count()
        calls = self.calls_to(model)

        async def attempt() -> T:
            with calls.stop.waiting():
                return await await_in_thread(count)

        return await calls.make(attempt, 0, deadline)

    def calls_to(self, model: ChatModel) -> ProviderCalls:
        """The control of the requests to the provider of a model."""
        return self._known(model).calls

    def _known(self, model: ChatModel) -> _Called:
        """Return what is known of a model, which is recorded from its first call on."""
        if (known := self._called.get(id(model))) is None:
            provider = provider_of(model)
            places = self._places.setdefault((provider, str(getattr(model, "model", ""))), {})
            known = _Called(model, self._others.get(provider, self.calls), places)
            self._called[id(model)] = known
        return known

    async def _call(
        self,
        model: ChatModel,
        prompt: Prompt,
        purpose: Purpose,
        repeat: int,
        deadline: asyncio.Timeout | None,
        calls: list[Call],
    ) -> tuple[Reply, Call]:
        """Ask the model, and append the call to `calls`."""
        seeded, _ = for_repeat(model, repeat)
        # this size counts against `execution.tokens_per_minute`
        size = prompt_size(prompt) + (model.max_tokens or 0)
        attempts, started = 0, time.perf_counter()
        retries: list[str] = []
        described = partial(_described, purpose, model)

        async def attempt() -> Reply:
            nonlocal attempts
            attempts += 1
            sent = time.perf_counter()
            try:
                return await seeded.reply(prompt)
            except ContentFilterError as error:
                return Reply(text="", refusal=error.refusal, latency=time.perf_counter() - sent)

        try:
            async with asyncio.timeout(self.timeout if deadline is None else None) as own:
                reply = without_known(
                    await self.calls_to(model).make(attempt, size, deadline or own, retries)
                )
            reply = reply.model_copy(update={"cost": model.cost(reply.usage, reply.model)})
        except BaseException as error:
            failure = error
            if own.expired():
                failure = TimedOutError(f"no reply within {self.timeout:g} s")
            seconds = time.perf_counter() - started
            self._count(retries)
            problem = to_failure(failure)
            calls.append(described(None, attempts=attempts, seconds=seconds, error=problem, retries=retries))
            if failure is error:
                raise
            raise failure from None
        seconds = time.perf_counter() - started
        self._count(retries)
        call = described(reply, attempts=attempts, seconds=seconds, retries=retries)
        calls.append(call)
        return reply, call

    def _count(self, retries: Sequence[str]) -> None:
        """Count what one call was retried for."""
        self.retried += bool(retries)
        self.retries.update(retries)

    @asynccontextmanager
    async def _alone(self, key: str, deadline: asyncio.Timeout | None) -> AsyncIterator[None]:
        """Wait until no other call with this key is made."""
        lock = self._keys.setdefault(key, asyncio.Lock())
        if lock.locked():
            with call_under(deadline), wait_under(deadline):
                await lock.acquire()
        else:
            await lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @asynccontextmanager
    async def _place(
        self, model: ChatModel, purpose: Purpose, deadline: asyncio.Timeout | None
    ) -> AsyncIterator[None]:
        """Wait until fewer than `max_concurrency` calls to the model are made for this purpose."""
        places = self._known(model).places
        if purpose not in places:
            places[purpose] = asyncio.Semaphore(model.max_concurrency)
        if places[purpose].locked():
            with call_under(deadline), wait_under(deadline):
                await places[purpose].acquire()
        else:
            await places[purpose].acquire()
        try:
            yield
        finally:
            places[purpose].release()


@dataclass(frozen=True)
class ModelCalls:
    """The calls of models for one question: by which caller, in which repeat, until when, and what they were.

    The fields are the options of `Caller.reply`. Each call is appended to `done`, even where it fails, and
    each search with a text of its own to `rounds`.
    """

    caller: Caller
    repeat: int = 0
    deadline: asyncio.Timeout | None = None
    done: list[Call] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)

    async def reply(
        self, model: ChatModel, prompt: Prompt, purpose: Purpose, cache: ReplyCache | None = None
    ) -> tuple[Reply, Call]:
        """Return the model's reply and a description of the call; see `Caller.reply`."""
        return await self.caller.reply(
            model,
            prompt,
            purpose=purpose,
            repeat=self.repeat,
            deadline=self.deadline,
            calls=self.done,
            cache=cache,
        )

    async def counted(self, model: ChatModel, count: Callable[[], T]) -> T:
        """Return the result of `count`, which counts tokens; see `Caller.counted`."""
        return await self.caller.counted(model, count, self.deadline)


def provider_of(component: object) -> str:
    """Identify the server or the target of a model or an external pipeline by its kind and its address."""
    names = ("address", "base_url", "url", "target")
    parts = (getattr(component, name, None) for name in ("kind", *names))
    return " ".join(str(part) for part in parts if part)


def for_repeat(model: ChatModel, repeat: int) -> tuple[ChatModel, int | None]:
    """Return the model for a repeat (counted from 0), and its seed: the configured seed plus the repeat. The
    seed is `None` where the model has none or none is set."""
    seed: int | None = getattr(model, "seed", None)
    if seed is None or not isinstance(model, Component):
        return model, None
    return model.model_copy(update={"seed": seed + repeat}) if repeat else model, seed + repeat


def prompt_size(prompt: Prompt) -> int:
    """Tokens of a prompt, estimated from its characters where they are not counted; files and images count
    0."""
    if prompt.tokens is not None:
        return prompt.tokens
    return sum(len(message.text) for message in prompt.messages) // CHARACTERS


def to_failure(error: BaseException) -> Failure:
    """Convert an exception into the failure that is stored."""
    if isinstance(error, asyncio.CancelledError):
        return Failure(kind="Timeout", message="ended by a time limit before there was a reply")
    status = error.status if isinstance(error, ModelError) else None
    retry_after = error.retry_after if isinstance(error, ModelError) else None
    kind = "Timeout" if isinstance(error, TimedOutError) else type(error).__name__
    return Failure(kind=kind, message=str(error), status=status, retry_after=retry_after)


def _described(
    purpose: Purpose,
    model: ChatModel,
    reply: Reply | None,
    *,
    attempts: int,
    seconds: float,
    error: Failure | None = None,
    retries: Sequence[str] = (),
) -> Call:
    """Describe a call by its reply, or by its failure."""
    reply = reply or Reply(text="")
    named = reply.model or getattr(model, "model", None)
    return Call(
        purpose=purpose,
        model=None if named is None else str(named),
        attempts=attempts,
        retries=tuple(retries),
        usage=reply.usage,
        cost=reply.cost,
        seconds=seconds,
        cached=reply.cached,
        error=error and without_known(error),
    )
