"""An event loop in a thread of its own, on which code without an event loop makes its requests.

Pages are embedded while a corpus is prepared, in blocks, and questions before they are asked. All of these
calls share one loop, so that the rate limit of a provider holds across blocks and connections are used again.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")

_END_SECONDS = 5.0
_lock = Lock()


class _Background:
    """A running event loop and its thread, which ends with the process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, daemon=True, name="fathoms-background")
        self._thread.start()
        self._process = os.getpid()
        atexit.register(self._close)

    def _close(self) -> None:
        """Close the connections and the loop, unless this is a fork, in which the thread does not run."""
        if os.getpid() != self._process:
            return
        asyncio.run_coroutine_threadsafe(self.loop.shutdown_asyncgens(), self.loop).result(_END_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_END_SECONDS)
        self.loop.close()


_running: dict[int, _Background] = {}
"""The loop of each process by its id, because a fork needs a thread of its own."""


def run_in_background(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop in the background, and return its result.

    It may also be called where another event loop runs, which is then blocked. An interruption, such as
    Ctrl-C, cancels the coroutine.
    """
    with _lock:
        if os.getpid() not in _running:
            _running[os.getpid()] = _Background()
        loop = _running[os.getpid()].loop
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
