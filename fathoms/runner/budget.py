"""What a command may spend, in dollars and in tokens, over all its runs together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from fathoms.models.calling.stop import Stop


@dataclass(frozen=True)
class Spending:
    """Tokens of prompts and replies, and dollars."""

    tokens: float = 0
    cost: float = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: Spending) -> Spending:
        return Spending(self.tokens - other.tokens, self.cost - other.cost)


class Budget:
    """The limits, what is spent, and what is on its way; for one event loop.

    A question is begun where what is spent, what is held for the questions in flight and what it needs itself
    stay within both limits. Where they do not, it waits for what is in flight, which may have taken less than
    was held; where nothing is, the budget is exhausted, and nothing is begun any more.
    """

    def __init__(self, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self.max_cost, self.max_tokens = max_cost, max_tokens
        self.spent = Spending()
        self.exhausted = False
        self._held: list[Spending] = []
        self._changed = asyncio.Event()

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.max_cost is not None or self.max_tokens is not None

    async def take(self, need: Callable[[], Spending | None], stop: Stop | None = None) -> Spending | None:
        """Hold what a question needs, once there is room; `None` where there will be none.

        `need` is asked again whenever a question has ended; it gives `None` for "not before another has".
        Raises Stopped.
        """
        stop = stop or Stop()
        while not self.exhausted:
            wanted = need()
            if wanted is not None and self._fits(wanted):
                self._held.append(wanted)
                return wanted
            if self._held:
                with stop.waiting():
                    await self._changed.wait()
            else:
                self.exhausted = True
                self._wake()
        return None

    def settle(self, held: Spending, spent: Spending) -> None:
        """A question has ended, however: what was held for it is free, what it took is spent."""
        self._held.remove(held)
        self.spent += spent
        self._wake()

    def _wake(self) -> None:
        """Let all that wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _fits(self, wanted: Spending) -> bool:
        """Whether it stays within both limits."""
        whole = sum(self._held, self.spent + wanted)
        cost = math.inf if self.max_cost is None else self.max_cost
        tokens = math.inf if self.max_tokens is None else self.max_tokens
        return whole.cost <= cost * (1 + 1e-9) and whole.tokens <= tokens  # a hair for sums of fractions
