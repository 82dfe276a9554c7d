"""A provider that gives no answer at all, and how it is found out that it does again: a circuit breaker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fathoms.models.calling.stop import Stop


class Outage:
    """Of one provider, on one event loop.

    It begins where a question has used up its attempts, or its time, without any answer. While it lasts, one
    question at a time is asked, with growing waits before; all others wait for what becomes of it. Any answer
    ends it. Once the provider has been silent for too long it is over for good: whoever waits is to fail.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._silent_since: float | None = None
        self._began = False
        self._wait = self._next = 0.0
        self._probe = asyncio.Lock()
        self._over = asyncio.Event()

    def answered(self) -> None:
        """The provider gave an answer, good or bad."""
        self._silent_since, self._began, self._wait, self._next = None, False, 0.0, 0.0
        self._over.set()

    def unanswered(self, first_wait: float, longest_wait: float) -> None:
        """A call got no answer: the next probe is to wait for twice as long as the last, in seconds."""
        now = asyncio.get_running_loop().time()
        if self._silent_since is None:
            self._silent_since = now
        if self._began:
            self._wait = min(longest_wait, max(first_wait, 2 * self._wait))
            self._next = now + self._wait

    def begin(self) -> None:
        """A question has used up its attempts, or its time."""
        if self._silent_since is not None and not self._began:
            self._began, self._over = True, asyncio.Event()

    def is_hopeless(self, after: float) -> bool:
        """Whether it has lasted for more than `after` seconds."""
        now = asyncio.get_running_loop().time()
        return self._began and self._silent_since is not None and now - self._silent_since >= after

    async def take_turn(self, after: float) -> bool:
        """Wait for the end of the outage, or to be its probe: whether it is one, which then has to `release`.

        Returns at once where there is no outage, or no hope after `after` seconds of it. Raises Stopped.
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
        """The probe has its answer, or has none."""
        self._probe.release()
