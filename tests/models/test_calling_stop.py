"""A request to stop ends every wait at once, and nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from fathoms.errors import ModelError, RateLimitError
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.calling.stop import Stop, Stopped
from fathoms.runner.budget import Amount, Budget

Wait = Callable[[Stop], Awaitable[object]]


async def answered() -> str:
    return "answer"


def failing(error: Exception) -> Callable[[], Awaitable[str]]:
    async def call() -> str:
        raise error

    return call


async def turn(stop: Stop) -> None:
    calls = ProviderCalls(ExecutionSettings(requests_per_minute=1), stop)
    await asyncio.gather(*(calls.make(answered) for _ in range(3)))


async def budget(stop: Stop) -> None:
    limit = Budget(max_cost=1)
    assert await limit.take(lambda: Amount(cost=1)) is not None
    await limit.take(lambda: Amount(cost=1), stop)


async def back_off(stop: Stop) -> None:
    await ProviderCalls(ExecutionSettings(first_wait=60), stop).make(failing(ModelError("busy", status=503)))


async def call_that_waits(stop: Stop) -> None:
    await ProviderCalls(ExecutionSettings(), stop).make(failing(RateLimitError("later", retry_after=50)))


async def for_good(stop: Stop) -> None:
    await stop.sleep(600)


@pytest.mark.parametrize("wait", [turn, budget, back_off, call_that_waits, for_good])
@pytest.mark.parametrize("late", [True, False])
def test_a_wait_ends(wait: Wait, late: bool) -> None:
    async def go() -> None:
        stop = Stop()
        timer = threading.Timer(0.1 if late else 0, stop.set)
        timer.start()
        if not late:
            timer.join()
        started = time.perf_counter()
        with pytest.raises(Stopped):
            await wait(stop)
        assert time.perf_counter() - started < 45

    asyncio.run(go())


def test_a_call_is_waited_for() -> None:
    async def go() -> str:
        stop = Stop()

        async def call() -> str:
            stop.set()
            await asyncio.sleep(0.05)
            return "answer"

        return await ProviderCalls(stop=stop).make(call)

    assert asyncio.run(go()) == "answer"


def test_to_be_cancelled_is_something_else() -> None:
    async def go() -> None:
        stop = Stop()
        task = asyncio.create_task(stop.sleep(60))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await stop.sleep(60)

    asyncio.run(go())
