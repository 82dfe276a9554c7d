"""Calls of somebody's functions, sync or async, that can hang without holding up anything else.

Calls one after another have one thread, since what a pipeline keeps may belong to it (as connections of
sqlite3 do); while that is busy or hangs there are more. None keeps the process alive. What turns out to be
awaitable is awaited on one event loop that all calls share (clients that a pipeline keeps belong to a loop)
and that is not the runner's.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache, partial
from queue import SimpleQueue
from typing import Any

from fathoms.pipeline.external.target import message_of, place_of
from fathoms.safety.masking import Mask
from fathoms.types import Failure


class RaisedError(Exception):
    """What somebody's function raised, as a failure."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{message_of(error) or 'no message'}{place_of(error)}")
        self.failure = Failure(kind=type(error).__name__, message=str(self))

    def masked(self, mask: Mask) -> RaisedError:
        """The same, no secret in it."""
        self.failure = self.failure.model_copy(update={"message": mask.text(self.failure.message)})
        return self


class Caller:
    """Calls the functions of one pipeline, each on the oldest of its threads that is free."""

    def __init__(self) -> None:
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call it and wait; raises RaisedError."""
        result = self._started(partial(function, *arguments, **options)).result()
        return _awaiting(result).result() if inspect.isawaitable(result) else result

    async def acall(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call it without holding up the event loop; raises RaisedError.

        When this is cancelled, what is awaited is cancelled too; a thread cannot be, and is left to itself.
        """
        result = await asyncio.wrap_future(self._started(partial(function, *arguments, **options)))
        return await asyncio.wrap_future(_awaiting(result)) if inspect.isawaitable(result) else result

    def _started(self, function: Callable[[], Any]) -> Future[Any]:
        """The call, on its way."""
        future: Future[Any] = Future()
        with self._lock:
            worker = next((worker for worker in self._workers if worker.is_free), None)
            if worker is None:
                self._workers.append(worker := _Worker())
            worker.is_free = False
        worker.calls.put((function, future))
        return future

    def __del__(self) -> None:
        for worker in self._workers:
            worker.calls.put(None)


class _Worker:
    """A thread that calls one function after another."""

    def __init__(self) -> None:
        self.is_free = True
        self.calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="fathoms-pipeline").start()

    def _work(self) -> None:
        """Call until there is no more."""
        while given := self.calls.get():
            function, future = given
            result = _result(function)
            self.is_free = True  # before anybody hears of the result, and has the next call
            _settle(future, result)
            del given, function, future, result  # kept alive by nothing while it waits


def _result(function: Callable[[], Any]) -> Any:
    """What it returns, or a RaisedError."""
    try:
        return function()
    except BaseException as error:  # also SystemExit: it is a thread's, not ours
        return RaisedError(error)


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
