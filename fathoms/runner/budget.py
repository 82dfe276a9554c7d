"""The budget of a command in dollars and tokens, shared by all its runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fathoms.errors import UsageError
from fathoms.models.calling.stop import Stop

_OPTIONS = {"tokens": "--max-tokens-total", "cost": "--max-cost"}


@dataclass(frozen=True)
class Amount:
    """An amount of prompt and reply tokens, and of US dollars."""

    tokens: float = 0
    cost: float = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.cost + other.cost)


class Budget:
    """The limits, the amount spent, and the amounts reserved for questions in flight. Use on one event loop
    only.

    A question starts where the amount spent, all reservations and its own need stay within both limits.
    Otherwise it waits for the questions in flight, which may take less than was reserved. If none is in
    flight, the budget is exhausted and no more questions start.
    """

    def __init__(self, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self.max_cost, self.max_tokens = max_cost, max_tokens
        self.spent = Amount()
        self.exhausted = False
        self._reserved: list[Amount] = []
        self._changed = asyncio.Event()

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.max_cost is not None or self.max_tokens is not None

    async def take(self, need: Callable[[], Amount | None], stop: Stop | None = None) -> Amount | None:
        """Reserve what a question needs, waiting for room; `None` where there will be none.

        `need` is called again whenever a question has ended; it returns `None` to wait for another question.
        Raises Stopped.
        """
        stop = stop or Stop()
        while not self.exhausted:
            wanted = need()
            if wanted is not None and self._fits(wanted):
                self._reserved.append(wanted)
                return wanted
            if self._reserved:
                with stop.waiting():
                    await self._changed.wait()
            else:
                self.exhausted = True
                self._wake()
        return None

    def add_embedding(self, times: Mapping[str, Mapping[str, Any]]) -> None:
        """Add what servers took for embedding pages and questions, which `times` of the report of a corpus
        state.

        Raises UsageError where a limit cannot be enforced, because a server reports no tokens.
        """
        for stage, took in times.items():
            if not took.get("calls"):
                continue
            for key, limit in (("tokens", self.max_tokens), ("cost", self.max_cost)):
                if limit is not None and took[key] is None:
                    raise UsageError(
                        f"{stage}: the limit of {key} cannot be enforced, because the server does not report"
                        f" its tokens, or their price is not known: run without {_OPTIONS[key]}"
                    )
            self.spent += Amount(took["tokens"] or 0, took["cost"] or 0)

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """Release the reservation of a question that has ended, and add what it took."""
        self._reserved.remove(reserved)
        self.spent += spent
        self._wake()

    def _wake(self) -> None:
        """Let all waiting questions check again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _fits(self, wanted: Amount) -> bool:
        """Whether an amount fits within both limits."""
        whole = sum(self._reserved, self.spent + wanted)
        cost = math.inf if self.max_cost is None else self.max_cost
        tokens = math.inf if self.max_tokens is None else self.max_tokens
        return whole.cost <= cost * (1 + 1e-9) and whole.tokens <= tokens  # tolerance for rounding errors
