"""Limits of requests and tokens per minute."""

from __future__ import annotations

import asyncio
import math
from collections import deque

from fathoms.models.calling.stop import Stop

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
