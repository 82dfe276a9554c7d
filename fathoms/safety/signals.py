"""Waiting in the main thread so that a signal such as Ctrl-C is handled at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_SECONDS = 0.5
"""How long a signal waits at most. Python runs signal handlers in the main thread only, and a lock that this
thread is about to wait for, or a signal that the kernel delivers to another thread, does not wake it up."""
_PAUSE = 0.02


def result_of(future: Future[T]) -> T:
    """Wait for a future and return its result, or raise its exception. Signals are handled meanwhile."""
    while not wait([future], timeout=_SECONDS).done:
        pass
    return future.result()


def next_of(queue: SimpleQueue[T], on_pause: Callable[[], None] | None = None) -> T:
    """Wait for the next item of a queue. Signals are handled meanwhile, and where no item comes for a moment,
    `on_pause` is called once."""
    if on_pause is not None:
        try:
            return queue.get(timeout=_PAUSE)
        except Empty:
            on_pause()
    while True:
        try:
            return queue.get(timeout=_SECONDS)
        except Empty:
            continue
