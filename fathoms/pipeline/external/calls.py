"""Calling functions of a pipeline, sync or async, so that one that hangs does not block anything else.

Consecutive calls run on the same thread, because the pipeline may own objects bound to it (such as sqlite3
connections); while that thread is busy or hangs, more are started. None of them keeps the process alive.
Awaitable results are awaited on one event loop that all calls share (clients that a pipeline keeps are bound
to a loop) and that is not the runner's.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import cache, partial
from queue import SimpleQueue
from typing import Any

from fathoms.safety.importing import message_of, place_of
from fathoms.safety.masking import Mask
from fathoms.safety.signals import result_of
from fathoms.types import Failure


class RaisedError(Exception):
    """An exception raised by a pipeline's function, as a failure."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{message_of(error) or 'no message'}{place_of(error)}")
        self.failure = Failure(kind=type(error).__name__, message=str(self))

    def masked(self, mask: Mask) -> RaisedError:
        """Mask secrets in the failure's message."""
        self.failure = self.failure.model_copy(update={"message": mask.text(self.failure.message)})
        return self


class Functions:
    """Calls the functions of one pipeline, each on the first of its threads that is free."""

    def __init__(self) -> None:
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function and wait for the result; raises RaisedError."""
        result = result_of(self._started(partial(function, *arguments, **options)))
        return result_of(_awaiting(result)) if inspect.isawaitable(result) else result

    async def acall(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function without blocking the event loop; raises RaisedError.

        Cancelling this cancels an awaitable too. A thread cannot be cancelled and is abandoned.
        """
        started = self._started(partial(function, *arguments, **options))
        try:
            result = await asyncio.wrap_future(started)
            return await asyncio.wrap_future(_awaiting(result)) if inspect.isawaitable(result) else result
        except asyncio.CancelledError:
            started.add_done_callback(_close_result)
            raise

    def _started(self, function: Callable[[], Any]) -> Future[Any]:
        """Start a call on a free thread."""
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
        """Run calls until `None` is received."""
        while given := self.calls.get():
            function, future = given
            try:
                result = function()
            except BaseException as error:  # SystemExit too: it must not end this thread
                result = RaisedError(error)
            self.is_free = True  # set before the result, so that the next call finds this thread
            if future.set_running_or_notify_cancel():  # otherwise the caller has cancelled
                if isinstance(result, RaisedError):
                    future.set_exception(result)
                else:
                    future.set_result(result)
            elif inspect.iscoroutine(result):
                result.close()
            del given, function, future, result  # keep no references while waiting


def _awaiting(result: Awaitable[Any]) -> Future[Any]:
    """Continue a call on the shared event loop."""
    return asyncio.run_coroutine_threadsafe(_awaited(result), _loop())


def _close_result(call: Future[Any]) -> None:
    """Close the coroutine that a cancelled call returned and nobody started: Python would warn of it."""
    result = None if call.cancelled() or call.exception() else call.result()
    if inspect.iscoroutine(result):
        _loop().call_soon_threadsafe(_close_unless_started, result)


def _close_unless_started(result: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine that nobody awaits; runs on the shared event loop, where it would begin."""
    if inspect.getcoroutinestate(result) == inspect.CORO_CREATED:
        result.close()


async def _awaited(result: Awaitable[Any]) -> Any:
    """Await a result, turning exceptions into RaisedError: an exit would end the shared loop, and a stray
    cancellation would cancel our own task."""
    try:
        return await result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RaisedError(error) from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise RaisedError(error) from error


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Start the shared event loop, on a thread that does not keep the process alive."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="fathoms-pipelines").start()
    return loop
