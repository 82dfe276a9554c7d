"""A time limit over several calls that are made at once: it stands still while all of them only wait."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass
from weakref import WeakKeyDictionary


@dataclass
class _Calls:
    """The calls under one time limit, and how many of them wait for their turn.

    `left` are the seconds that were left when the time limit was stopped, `None` while it runs.
    """

    running: int = 0
    waiting: int = 0
    left: float | None = None


_under: WeakKeyDictionary[asyncio.Timeout, _Calls] = WeakKeyDictionary()


class _Under:
    """Adds to the counts of a time limit during a block, and stops the limit or lets it go on."""

    __slots__ = ("_calls", "_deadline", "_running", "_waiting")

    def __init__(self, deadline: asyncio.Timeout | None, running: int, waiting: int) -> None:
        self._deadline, self._running, self._waiting = deadline, running, waiting
        self._calls = None if deadline is None else _under.setdefault(deadline, _Calls())

    def __enter__(self) -> None:
        self._add(self._running, self._waiting)

    def __exit__(self, *error: object) -> None:
        self._add(-self._running, -self._waiting)

    def _add(self, running: int, waiting: int) -> None:
        if self._deadline is not None and self._calls is not None:
            self._calls.running += running
            self._calls.waiting += waiting
            _update(self._deadline, self._calls)


def call_under(deadline: asyncio.Timeout | None) -> AbstractContextManager[None]:
    """Count the block as a call under the time limit, which runs unless all its calls wait."""
    return _Under(deadline, 1, 0)


def wait_under(deadline: asyncio.Timeout | None) -> AbstractContextManager[None]:
    """Count the block, which is part of a call, as a wait that is not the provider's delay."""
    return _Under(deadline, 0, 1)


def _update(deadline: asyncio.Timeout, calls: _Calls) -> None:
    """Stop the time limit where all calls wait, otherwise let it go on with the seconds that are left."""
    if deadline.expired():
        return
    now, ends = asyncio.get_running_loop().time(), deadline.when()
    if calls.waiting and calls.waiting == calls.running:
        if ends is not None:
            calls.left = ends - now
            deadline.reschedule(None)
    elif calls.left is not None:
        deadline.reschedule(now + calls.left)
        calls.left = None
