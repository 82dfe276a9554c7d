"""Asking again where that can help, and no faster than a provider allows."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from fathoms.errors import ModelError, NoAnswerError, RateLimitError
from fathoms.models.calling.outage import Outage
from fathoms.models.calling.stop import Stop
from fathoms.runs.events import happened
from fathoms.safety.limits import LONGEST_WAIT

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
MINUTE = 60.0
_AGAIN = {408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
"""Statuses of a server that may do better the next time; 429 is RateLimitError where waiting helps."""


class Patience(BaseModel):
    """How often and how fast a provider is asked. Nothing here changes an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    max_attempts: int = Field(default=5, ge=1, le=100)
    """Calls for one reply in all: again after no answer at all, 408, 429 and 5xx, and after nothing else."""
    first_wait: float = Field(default=1.0, gt=0, le=LONGEST_WAIT)
    """Seconds before the second call. They double every time, and up to as many again are added by chance."""
    longest_wait: float = Field(default=60.0, gt=0, le=LONGEST_WAIT)
    """Seconds that a wait lasts at most. Where a server asks for a longer one, it is not asked again."""
    give_up_after: float = Field(default=600.0, gt=0, le=LONGEST_WAIT)
    """Seconds without any answer from a provider after which every question left to it fails unasked."""
    requests_per_minute: float | None = Field(default=None, gt=0, le=1e12)
    """Of one provider, all pipelines of the command together; no limit if not given."""
    tokens_per_minute: float | None = Field(default=None, gt=0, le=1e12)
    """As above, of prompts and replies: as counted beforehand, or else a token for four characters."""


class Lane:
    """The way to one provider, shared by all that ask it; for one event loop.

    Once a call has given up for want of any answer, one call at a time goes on, with growing waits before,
    until one is answered: an outage costs few questions, and one for good is found out (`give_up_after`).
    """

    def __init__(self, patience: Patience | None = None, stop: Stop | None = None) -> None:
        self.stop = stop or Stop()
        self._requests, self._tokens = Window(math.inf, self.stop), Window(math.inf, self.stop)
        self._outage = Outage(self.stop)
        self._open_at = 0.0
        self.follow(patience or Patience())

    def follow(self, patience: Patience) -> None:
        """Ask by these rules from now on; what was asked in the last minute counts still."""
        self.patience = patience
        self._requests.limit = patience.requests_per_minute or math.inf
        self._tokens.limit = patience.tokens_per_minute or math.inf

    async def ask(
        self, call: Callable[[], Awaitable[T]], tokens: int = 0, deadline: asyncio.Timeout | None = None
    ) -> T:
        """The reply of `call`, which is called again where that may help; the last error comes out as it is.

        `tokens` are counted against the limit, for every attempt. `deadline` is put off for as long as the
        provider may not be asked: waiting for one's turn is no failure to answer. Raises Stopped where a wait
        was ended by the stop.
        """

        async def attempt() -> T:
            probes = await self._turn(tokens, deadline)
            try:
                return await self._called(call)
            finally:
                if probes:
                    self._outage.release()

        try:
            try:
                return await attempt()
            except Exception as error:  # most calls succeed, and tenacity costs as much as all else
                return await self._again(attempt, error)
        except (NoAnswerError, asyncio.CancelledError):  # cancelled by the time-out of the question
            self._outage.begin()
            raise

    async def _called(self, call: Callable[[], Awaitable[T]]) -> T:
        """The reply of one call, and what it says of the provider."""
        try:
            reply = await call()
        except (NoAnswerError, asyncio.CancelledError):
            self._outage.unanswered(self.patience.first_wait, self.patience.longest_wait)
            raise
        except ModelError as error:
            if error.status is not None:
                self._outage.answered()
            raise
        self._outage.answered()
        return reply

    async def _again(self, attempt: Callable[[], Awaitable[T]], error: Exception) -> T:
        """The reply after a first attempt that failed."""
        from tenacity import AsyncRetrying, retry_if_exception

        failed: Exception | None = error

        async def next_attempt() -> T:
            nonlocal failed
            if failed is not None:  # the first one, made already
                error, failed = failed, None
                raise error
            return await attempt()

        retrying = AsyncRetrying(
            retry=retry_if_exception(self._can_help),
            stop=self._is_enough,
            wait=self._wait,
            before_sleep=_told,
            sleep=self.stop.sleep,
            reraise=True,
        )
        reply: T = await retrying(next_attempt)
        return reply

    def _is_enough(self, state: RetryCallState) -> bool:
        """Whether this attempt was the last."""
        hopeless = self._outage.is_hopeless(self.patience.give_up_after)
        return hopeless or state.attempt_number >= self.patience.max_attempts

    async def _turn(self, tokens: int, deadline: asyncio.Timeout | None) -> bool:
        """Wait until the provider may be asked; whether this call is the probe of an outage.

        Raises NoAnswerError where there is no hope for an answer.
        """
        loop, after = asyncio.get_running_loop(), self.patience.give_up_after
        ends, since = deadline and deadline.when(), loop.time()
        if deadline is not None:
            deadline.reschedule(None)
        probes = await self._outage.take_turn(after)
        try:
            if self._outage.is_hopeless(after):
                raise NoAnswerError(f"not asked: for {after:g} s nothing had any answer from its provider")
            while (pause := self._open_at - loop.time()) > 0:
                await self.stop.sleep(pause)
            await self._requests.take()
            await self._tokens.take(tokens)
        except BaseException:
            if probes:
                self._outage.release()
            raise
        if deadline is not None and ends is not None:
            deadline.reschedule(ends + loop.time() - since)
        return probes

    def _can_help(self, error: BaseException) -> bool:
        """Whether asking again may end better."""
        if not is_transient(error):
            return False
        wait = error.retry_after if isinstance(error, ModelError) else None
        return wait is None or wait <= self.patience.longest_wait

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt; what a server asks for holds for everybody in the lane."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, ModelError) and error.retry_after is not None:
            self._open_at = max(self._open_at, asyncio.get_running_loop().time() + error.retry_after)
            return error.retry_after
        doubled = self.patience.first_wait * 2.0 ** (state.attempt_number - 1)
        return float(min(self.patience.longest_wait, doubled * (1 + random.random())))


def _told(state: RetryCallState) -> None:
    """Tell that a call is made again, and why."""
    error = state.outcome.exception() if state.outcome else None
    happened(
        "question-retried",
        level=logging.WARNING,
        attempt=state.attempt_number,
        wait=round(state.upcoming_sleep, 3),
        kind=type(error).__name__,
        error=str(error),
    )


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """What a server says of when to come back: `retry-after-ms`, or `Retry-After` in seconds or as a date.

    `None` where it says nothing that can be read; never negative, never infinite.
    """
    found = {name.lower(): value for name, value in headers.items()}
    milliseconds, wait = found.get("retry-after-ms"), found.get("retry-after")
    if (exact := _number(milliseconds)) is not None:
        return exact / 1000
    if (seconds := _number(wait)) is not None:
        return seconds
    date = email.utils.parsedate_tz(wait) if wait else None
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())


def _number(text: str | None) -> float | None:
    """A number that can be waited for."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def is_transient(error: BaseException) -> bool:
    """No answer at all, too many requests, or a server's own trouble: everything else fails again."""
    if isinstance(error, NoAnswerError | RateLimitError):
        return True
    return isinstance(error, ModelError) and error.status in _AGAIN


class Window:
    """At most `limit` in any 60 seconds, first come first served; more at once counts as `limit`."""

    def __init__(self, limit: float, stop: Stop | None = None) -> None:
        self.limit = limit
        self._stop = stop or Stop()
        self._taken: deque[tuple[float, float]] = deque()
        self._lock = asyncio.Lock()

    async def take(self, amount: float = 1) -> None:
        """Wait until `amount` may be taken, and take it. Raises Stopped."""
        amount = min(amount, self.limit)
        async with self._lock:
            clock = asyncio.get_running_loop().time
            while (pause := self._pause(amount, clock())) > 0:
                await self._stop.sleep(pause)
            self._taken.append((clock(), amount))

    def _pause(self, amount: float, now: float) -> float:
        """Seconds until enough of what was taken is a minute old."""
        while self._taken and self._taken[0][0] + MINUTE <= now:
            self._taken.popleft()
        if self.limit == math.inf:
            return 0.0
        over = sum(taken for _, taken in self._taken) + amount - self.limit
        pause = 0.0
        for when, taken in self._taken:
            if over <= 0:
                break
            over -= taken
            pause = when + MINUTE - now
        return pause
