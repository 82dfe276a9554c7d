"""Calls of somebody's functions, sync or async, that can hang without holding up anything else.

Every call has a thread of its own, which does not keep the process alive. What turns out to be awaitable is
awaited on one event loop that all calls share (clients that a pipeline keeps belong to a loop) and that is
not the runner's.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache
from typing import Any

from fathoms.external.target import place_of
from fathoms.types import Failure


class RaisedError(Exception):
    """What somebody's function raised, as a failure."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{str(error) or 'no message'}{place_of(error)}")
        self.failure = Failure(kind=type(error).__name__, message=str(self))


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call it and wait; raises RaisedError."""
    result = _started(function, arguments, options).result()
    return _awaiting(result).result() if inspect.isawaitable(result) else result


async def acall(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call it without holding up the event loop; raises RaisedError.

    When this is cancelled, what is awaited is cancelled too; a thread cannot be, and is left to itself.
    """
    result = await asyncio.wrap_future(_started(function, arguments, options))
    return await asyncio.wrap_future(_awaiting(result)) if inspect.isawaitable(result) else result


def _started(function: Callable[..., Any], arguments: Any, options: Any) -> Future[Any]:
    """The call, on a thread of its own."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            result = function(*arguments, **options)
        except BaseException as error:  # also SystemExit: it is a thread's, not ours
            _settle(future, RaisedError(error))
        else:
            _settle(future, result)

    threading.Thread(target=work, daemon=True, name="fathoms-pipeline").start()
    return future


def _awaiting(result: Awaitable[Any]) -> Future[Any]:
    """The rest of the call, on the loop of all calls."""
    return asyncio.run_coroutine_threadsafe(_awaited(result), _loop())


async def _awaited(result: Awaitable[Any]) -> Any:
    """What an awaitable gives; an exit would take the loop with it, a stray cancellation our own task."""
    try:
        return await result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RaisedError(error) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise RaisedError(error) from error


def _settle(future: Future[Any], result: Any) -> None:
    """Give the result to whoever still waits for it."""
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(result, RaisedError):
        future.set_exception(result)
    else:
        future.set_result(result)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """An event loop on a thread that does not keep the process alive."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="fathoms-pipelines").start()
    return loop
