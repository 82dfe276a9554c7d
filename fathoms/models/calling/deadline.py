"""A time limit over several calls that are made at once: it stands still while all of them only wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def call_under(deadline: asyncio.Timeout | None) -> Iterator[None]:
    """Count the block as a call under the time limit, which runs unless all its calls wait."""
    with _counted(deadline, running=1):
        yield


@contextmanager
def wait_under(deadline: asyncio.Timeout | None) -> Iterator[None]:
    """Count the block, which is part of a call, as a wait that is not the provider's delay."""
    with _counted(deadline, waiting=1):
        yield


@contextmanager
def _counted(deadline: asyncio.Timeout | None, running: int = 0, waiting: int = 0) -> Iterator[None]:
    """Add to the counts during the block, and stop the time limit or let it go on."""
    if deadline is None:
        yield
        return
    calls = _under.setdefault(deadline, _Calls())
    calls.running += running
    calls.waiting += waiting
    _update(deadline, calls)
    try:
        yield
    finally:
        calls.running -= running
        calls.waiting -= waiting
        _update(deadline, calls)


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
