"""Circuit breaker for a provider that gives no answer at all: detects when it answers again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fathoms.models.calling.stop import Stop


class Outage:
    """The outage state of one provider, on one event loop.

    An outage begins when a question has used up its attempts or its time without any answer. During an outage
    only one question at a time is asked, as a probe, after growing waits, and all others wait for its result.
    Any answer ends the outage. If the provider is silent for too long, the outage counts as permanent and all
    waiting questions fail.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._silent_since: float | None = None
        self._began = False
        self._wait = self._next = 0.0
        self._probe = asyncio.Lock()
        self._over = asyncio.Event()

    @property
    def is_ongoing(self) -> bool:
        """Whether there is an outage."""
        return self._began

    def answered(self) -> None:
        """Record that the provider gave an answer, be it a reply or an error."""
        self._silent_since, self._began, self._wait, self._next = None, False, 0.0, 0.0
        self._over.set()

    def unanswered(self, first_wait: float, longest_wait: float) -> None:
        """Record that a call got no answer, and double the wait before the next probe.

        The wait is between `first_wait` and `longest_wait` seconds.
        """
        now = asyncio.get_running_loop().time()
        if self._silent_since is None:
            self._silent_since = now
        if self._began:
            self._wait = min(longest_wait, max(first_wait, 2 * self._wait))
            self._next = now + self._wait

    def begin(self) -> None:
        """Begin an outage, because a question has used up its attempts or its time."""
        if self._silent_since is not None and not self._began:
            self._began, self._over = True, asyncio.Event()

    def is_hopeless(self, after: float) -> bool:
        """Return whether there is an outage and the provider has been silent for at least `after` seconds."""
        now = asyncio.get_running_loop().time()
        return self._began and self._silent_since is not None and now - self._silent_since >= after

    async def take_turn(self, after: float) -> bool:
        """Wait until the outage ends or this call becomes its probe; returns whether it is the probe.

        A probe must call `release` afterwards. Returns False at once if there is no outage, or if it has
        lasted for `after` seconds. Raises Stopped if a stop is requested.
        """
        if not self._began or self.is_hopeless(after):
            return False
        with self._stop.waiting():
            await self._probe.acquire()
        try:
            while self._began and not self.is_hopeless(after):
                pause = self._next - asyncio.get_running_loop().time()
                if pause <= 0:
                    return True
                with self._stop.waiting(), suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), pause)
        except BaseException:
            self._probe.release()
            raise
        self._probe.release()
        return False

    def release(self) -> None:
        """End the probe, so that another call can become one."""
        self._probe.release()
