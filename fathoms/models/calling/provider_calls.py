"""Calls to one provider: retries, rate limits, and waiting for the end of an outage."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fathoms import hooks
from fathoms.errors import ModelError, NoAnswerError, RateLimitError
from fathoms.executors import Cluster, Executor, LocalExecutor
from fathoms.models.calling.deadline import call_under, wait_under
from fathoms.models.calling.outage import Outage
from fathoms.models.calling.stop import Stop
from fathoms.runs.events import happened
from fathoms.safety.option_limits import LONGEST_WAIT

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
_AGAIN = {408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
"""HTTP statuses after which a call is retried. A 429 where waiting helps is a RateLimitError instead."""


class ExecutionSettings(BaseModel):
    """Where the work on a corpus is done, and the retries, waits and rate limits of a provider. They do not
    change the results.

    Documents are parsed, rendered, chunked and embedded by local models where `kind` says, and answers are
    scored there, and judged by local models. Language models and servers are always asked by the machine of
    the command, by one event loop: it only waits for them, and the limits of a provider hold for all of its
    requests together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: Literal["local", "ray"] = "local"
    """Who works on the corpus and scores answers: `local`, the processes of this machine (for documents as
    many as `--workers` says), or `ray`, one worker per processor of a Ray cluster."""
    address: str = "auto"
    """The Ray cluster, as HOST:PORT of its head; `auto` is the one that runs on this machine, or that of the
    environment variable RAY_ADDRESS. This machine must be one of the cluster."""

    max_attempts: int = Field(default=5, ge=1, le=100)
    """Maximum number of calls for one reply. A call is retried only if there was no answer or if the status
    was 408, 429, or a temporary server error (500, 502, 503, 504, 520-524, 529)."""
    first_wait: float = Field(default=1.0, gt=0, le=LONGEST_WAIT)
    """Seconds to wait before the second call. The wait doubles with each further call, and a random extra of
    up to the same length is added."""
    longest_wait: float = Field(default=60.0, gt=0, le=LONGEST_WAIT)
    """Longest wait before a retry, in seconds. If a server asks for a longer one, the call is not retried."""
    give_up_after: float = Field(default=600.0, gt=0, le=LONGEST_WAIT)
    """Seconds without any answer from a provider after which all remaining questions fail unasked."""
    requests_per_minute: float | None = Field(default=None, gt=0, le=1e12)
    """Limit of requests per minute to one provider, for all pipelines together; none if not given."""
    tokens_per_minute: float | None = Field(default=None, gt=0, le=1e12)
    """Limit of tokens per minute to one provider, prompts and replies together, for all pipelines of the
    command; no limit if not given. Tokens are counted before the call, or estimated as one per four
    characters."""

    @field_validator("address")
    @classmethod
    def _of_a_head(cls, address: str) -> str:
        found = re.fullmatch(r"[^\s/:]+:(\d{1,5})", address)
        if address != "auto" and not (found and 0 < int(found[1]) < 65536):
            raise ValueError(
                "expected 'auto' or HOST:PORT of the head of a Ray cluster, such as 10.0.0.5:6379, which"
                " 'ray start --head' prints; no scheme such as ray://, whose port 10001 is another one"
            )
        return address

    @property
    def inert(self) -> bool:
        """Whether nobody else is asked to work."""
        return self.kind == "local"

    def executor(self, workers: int) -> Executor:
        """Return what works on the corpus; `workers` is the number of workers of this machine."""
        return LocalExecutor(workers) if self.kind == "local" else self.cluster()

    def cluster(self) -> Cluster:
        """Return the Ray cluster at the address; raises UsageError where the extra for it was deleted."""
        cluster: Cluster = hooks.needed("execution kind 'ray'")(self.address)
        return cluster


class ProviderCalls:
    """Controls all calls to one provider: retries, rate limits and outages. It belongs to one event loop.

    After a question has failed for lack of any answer, only one call at a time is made, after growing waits,
    until the provider answers again. So a temporary outage costs few questions, and a permanent one is
    detected after `give_up_after` seconds.
    """

    def __init__(self, settings: ExecutionSettings | None = None, stop: Stop | None = None) -> None:
        self.stop = stop or Stop()
        self._requests, self._tokens = RateLimit(math.inf, self.stop), RateLimit(math.inf, self.stop)
        self._outage = Outage(self.stop)
        self._open_at = 0.0
        self.configure(settings or ExecutionSettings())

    def configure(self, settings: ExecutionSettings) -> None:
        """Use these settings from now on; requests of the last minute still count towards the rate limits."""
        self.settings = settings
        self._requests.limit = settings.requests_per_minute or math.inf
        self._tokens.limit = settings.tokens_per_minute or math.inf

    def reset_outage(self) -> None:
        """Forget an outage, as a new command does: the provider may answer again by now. The rate limits
        hold on."""
        self._outage.answered()

    async def make(
        self,
        call: Callable[[], Awaitable[T]],
        tokens: int = 0,
        deadline: asyncio.Timeout | None = None,
        retries: list[str] | None = None,
    ) -> T:
        """Return the result of `call`, which is retried after temporary errors; the last error is raised
        unchanged.

        `tokens` are counted against the rate limit in every attempt. `deadline` is extended by the time that
        all calls under it wait for the rate limits or the end of an outage, because that is not the
        provider's delay. The cause of each retry is appended to `retries`. Raises Stopped if a stop is
        requested during a wait.
        """

        async def attempt() -> T:
            probes = False
            if not self._is_free(tokens):
                with wait_under(deadline):
                    probes = await self._turn(tokens)
            try:
                reply = await call()
            except (NoAnswerError, asyncio.CancelledError) as error:
                if _is_silence(error, deadline):
                    self._outage.unanswered(self.settings.first_wait, self.settings.longest_wait)
                raise
            except ModelError as error:
                if error.status is not None:
                    self._outage.answered()
                raise
            else:
                self._outage.answered()
                return reply
            finally:
                if probes:
                    self._outage.release()

        try:
            with call_under(deadline):
                try:
                    return await attempt()
                # tenacity is used only after a failure, as it costs as much CPU time as the rest of a call
                except Exception as error:
                    return await self._retry(attempt, error, [] if retries is None else retries)
        except (NoAnswerError, asyncio.CancelledError) as error:
            if _is_silence(error, deadline):
                self._outage.begin()
            raise

    async def _retry(self, attempt: Callable[[], Awaitable[T]], error: Exception, retries: list[str]) -> T:
        """Retry after a first attempt that failed with `error`, and append the causes to `retries`."""
        from tenacity import AsyncRetrying, retry_if_exception

        last, is_first = error, True

        async def next_attempt() -> T:
            nonlocal last, is_first
            if is_first:  # hands the error of the first attempt to tenacity
                is_first = False
                raise last
            retries.append(cause_of(last))
            try:
                return await attempt()
            except Exception as error:
                last = error
                raise

        def is_enough(state: RetryCallState) -> bool:
            hopeless = self._outage.is_hopeless(self.settings.give_up_after)
            return hopeless or state.attempt_number >= self.settings.max_attempts

        retrying = AsyncRetrying(
            retry=retry_if_exception(self._can_help),
            stop=is_enough,
            wait=self._wait,
            before_sleep=_log_retry,
            sleep=self.stop.sleep,
            reraise=True,
        )
        reply: T = await retrying(next_attempt)
        return reply

    def _is_free(self, tokens: int) -> bool:
        """Return whether a call may be made at once because there is no limit, no outage and no wait that the
        provider asked for; most calls need not wait, and this is much faster than `_turn`."""
        is_open = not self._outage.is_ongoing and self._open_at <= asyncio.get_running_loop().time()
        if not is_open or self._requests.limit != math.inf or self._tokens.limit != math.inf:
            return False
        self._requests.take_now()
        self._tokens.take_now(tokens)
        return True

    async def _turn(self, tokens: int) -> bool:
        """Wait until the provider may be called, and return whether this call is the probe during an outage.
        Raises NoAnswerError if the outage has lasted for `give_up_after` seconds."""
        loop, after = asyncio.get_running_loop(), self.settings.give_up_after
        probes = await self._outage.take_turn(after)
        try:
            if self._outage.is_hopeless(after):
                raise NoAnswerError(f"not asked: the provider has not answered for {after:g} s")
            while (pause := self._open_at - loop.time()) > 0:
                await self.stop.sleep(pause)
            # every attempt counts, because providers count failed requests too
            await self._requests.take()
            await self._tokens.take(tokens)
        except BaseException:
            if probes:
                self._outage.release()
            raise
        return probes

    def _can_help(self, error: BaseException) -> bool:
        """Return whether the call is worth a retry, and the wait that the server asks for is not too long."""
        if not is_transient(error):
            return False
        wait = error.retry_after if isinstance(error, ModelError) else None
        return wait is None or wait <= self.settings.longest_wait

    def _wait(self, state: RetryCallState) -> float:
        """Return the seconds before the next attempt; a wait that a server asks for delays all calls."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, ModelError) and error.retry_after is not None:
            self._open_at = max(self._open_at, asyncio.get_running_loop().time() + error.retry_after)
            return error.retry_after
        doubled = self.settings.first_wait * 2.0 ** (state.attempt_number - 1)
        return float(min(self.settings.longest_wait, doubled * (1 + random.random())))


def _is_silence(error: BaseException, deadline: asyncio.Timeout | None) -> bool:
    """Return whether a call ended for lack of an answer: by its own error, or because the time limit of the
    question cancelled it. If the caller cancels it, that says nothing about the provider."""
    return isinstance(error, NoAnswerError) or (deadline is not None and deadline.expired())


def _log_retry(state: RetryCallState) -> None:
    """Log an event that a call is retried, with the reason."""
    error = state.outcome.exception() if state.outcome else None
    happened(
        "question-retried",
        level=logging.WARNING,
        attempt=state.attempt_number,
        wait=round(state.upcoming_sleep, 3),
        kind=type(error).__name__,
        error=str(error),
    )


def cause_of(error: BaseException) -> str:
    """Name why a call is made again: the status of the response, `timeout`, or `no answer`."""
    if isinstance(error, ModelError) and error.status is not None:
        return str(error.status)
    if isinstance(error, RateLimitError):
        return "rate limit"
    causes = (type(each).__name__.lower() for each in (error, error.__cause__))
    return "timeout" if any("time" in name and "out" in name for name in causes) else "no answer"


def is_transient(error: BaseException) -> bool:
    """Return whether a retry can help: after no answer, a rate limit, or a temporary server error."""
    if isinstance(error, NoAnswerError | RateLimitError):
        return True
    return isinstance(error, ModelError) and error.status in _AGAIN


MINUTE = 60.0


class RateLimit:
    """A rate limit over a sliding window: at most `limit` units in any 60 seconds, first come, first served.

    A single amount above the limit counts as `limit`.
    """

    def __init__(self, limit: float, stop: Stop | None = None) -> None:
        self.limit = limit
        self._stop = stop or Stop()
        self._taken: deque[tuple[float, float]] = deque()
        self._lock = asyncio.Lock()

    async def take(self, amount: float = 1) -> None:
        """Wait until `amount` is within the limit, and take it; raises Stopped if stopped meanwhile."""
        amount = min(amount, self.limit)
        async with self._lock:
            clock = asyncio.get_running_loop().time
            while (pause := self._pause(amount, clock())) > 0:
                await self._stop.sleep(pause)
            self._taken.append((clock(), amount))

    def take_now(self, amount: float = 1) -> None:
        """Take `amount` without waiting, which is right where there is no limit."""
        now = asyncio.get_running_loop().time()
        self._forget(now)
        self._taken.append((now, amount))

    def _pause(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is within the limit, 0 if it is now."""
        self._forget(now)
        if self.limit == math.inf:
            return 0.0
        # a leaky bucket would let up to twice the limit through in the first minute
        over = sum(taken for _, taken in self._taken) + amount - self.limit
        pause = 0.0
        for when, taken in self._taken:
            if over <= 0:
                break
            over -= taken
            pause = when + MINUTE - now
        return pause

    def _forget(self, now: float) -> None:
        """Remove what was taken more than a minute ago."""
        while self._taken and self._taken[0][0] + MINUTE <= now:
            self._taken.popleft()
