"""Retries and rate limits, on the clock of an event loop that jumps instead of waiting."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from fathoms.errors import ModelError, NoAnswerError, PromptTooLongError, RateLimitError
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls, RateLimit, is_transient
from fathoms.models.calling.retry_after import retry_after_seconds
from tests.support.jumping import jump


def failing(*errors: Exception) -> tuple[Callable[[], Coroutine[Any, Any, str]], list[float]]:
    """A call that raises the errors one after the other and then answers; and the times it was called at."""
    called: list[float] = []

    async def call() -> str:
        called.append(asyncio.get_running_loop().time())
        if len(called) <= len(errors):
            raise errors[len(called) - 1]
        return "answer"

    return call, called


def test_no_failure_is_one_attempt() -> None:
    call, called = failing()
    assert jump(lambda: ProviderCalls().make(call)) == "answer"
    assert called == [0.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_what_a_server_says_of_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_a_date_to_come_back_at() -> None:
    coming = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after_seconds({"Retry-After": coming}) == pytest.approx(90, abs=3)


def test_the_waits_double_with_chance_added() -> None:
    call, called = failing(*[ModelError("busy", status=503)] * 4)
    assert (
        jump(lambda: ProviderCalls(ExecutionSettings(first_wait=2, longest_wait=20)).make(call)) == "answer"
    )
    waits = [after - before for before, after in itertools.pairwise(called)]
    for wait, (least, most) in zip(waits, [(2, 4), (4, 8), (8, 16), (16, 20)], strict=True):
        assert least <= round(wait, 6) <= most


def test_attempts_are_finite_and_told() -> None:
    call, called = failing(*[NoAnswerError("gone")] * 9)
    with pytest.raises(NoAnswerError, match="gone"):
        jump(lambda: ProviderCalls(ExecutionSettings(max_attempts=3)).make(call))
    assert len(called) == 3


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (NoAnswerError("reset"), True),
        (RateLimitError("slow down", status=429), True),
        (ModelError("no credit", status=429), False),
        (ModelError("took too long", status=408), True),
        (ModelError("own trouble", status=500), True),
        (ModelError("overloaded", status=529), True),
        (ModelError("not implemented", status=501), False),
        (ModelError("bad request", status=400), False),
        (ModelError("no right", status=403), False),
        (PromptTooLongError("too long", status=413), False),
        (ModelError("no reply in it"), False),
        (ValueError("a defect"), False),
    ],
)
def test_only_temporary_errors_are_retried(error: Exception, again: bool) -> None:
    assert is_transient(error) is again
    call, called = failing(error)
    if again:
        assert jump(lambda: ProviderCalls().make(call)) == "answer"
    else:
        with pytest.raises(type(error)):
            jump(lambda: ProviderCalls().make(call))
        assert len(called) == 1


def at_once(
    calls: ProviderCalls, call: Callable[[], Coroutine[Any, Any, Any]], workers: int, questions: int
) -> Any:
    """Ask questions, so many at a time: how many were answered, and why the others were not."""

    async def main() -> tuple[int, list[str]]:
        waiting, said, answered = iter(range(questions)), list[str](), 0

        async def worker() -> None:
            nonlocal answered
            for _ in waiting:
                try:
                    await calls.make(call)
                    answered += 1
                except NoAnswerError as error:
                    said.append(str(error))

        await asyncio.gather(*(worker() for _ in range(workers)))
        return answered, said

    return main()


def outage(until: float) -> tuple[Callable[[], Coroutine[Any, Any, str]], list[float]]:
    """A provider that answers from then on, in 0.1 s; and the times it was called at without."""
    called: list[float] = []

    async def call() -> str:
        loop = asyncio.get_running_loop()
        if loop.time() < until:
            called.append(loop.time())
            raise NoAnswerError("refused")
        await asyncio.sleep(0.1)
        return "answer"

    return call, called


def test_an_outage_costs_few_questions() -> None:
    down, called = outage(240)
    answered, said = jump(lambda: at_once(ProviderCalls(), down, workers=4, questions=1000))
    assert answered + len(said) == 1000
    assert said == ["refused"] * len(said)
    assert 4 <= len(said) <= 8  # those that found it out, and those that had been the probe five times
    probes = called[20:]
    assert len(probes) <= 12
    waits = [after - before for before, after in itertools.pairwise(probes)]
    assert max(waits) == pytest.approx(60)


def test_a_server_that_is_gone_for_good_is_given_up() -> None:
    async def main() -> tuple[int, list[str], float, int]:
        down, called = outage(math.inf)
        answered, said = await at_once(ProviderCalls(), down, workers=4, questions=1000)
        return answered, said, asyncio.get_running_loop().time(), len(called)

    answered, said, seconds, calls = jump(main)
    assert (answered, len(said)) == (0, 1000)
    assert said[-1] == "not asked: the provider has not answered for 600 s"
    assert 600 <= seconds <= 660
    assert calls < 50


@pytest.mark.slow
def test_a_server_that_hangs_for_good_is_given_up() -> None:
    """Every call is silent for five minutes, and every question ends by its time-out."""

    async def main() -> tuple[Counter[str], float]:
        calls, waiting, said = ProviderCalls(), iter(range(1000)), Counter[str]()

        async def hangs() -> None:
            await asyncio.sleep(300)
            raise NoAnswerError("silence")

        async def worker() -> None:
            for _ in waiting:
                try:
                    async with asyncio.timeout(590) as deadline:
                        await calls.make(hangs, deadline=deadline)
                except (TimeoutError, NoAnswerError) as error:
                    said[type(error).__name__] += 1

        await asyncio.gather(*(worker() for _ in range(8)))
        return said, asyncio.get_running_loop().time()

    said, seconds = jump(main)
    assert said.total() == 1000
    assert said["TimeoutError"] <= 9
    assert seconds <= 1200


def test_questions_that_break_the_connection_hold_the_others_up_for_little() -> None:
    """Two of them in a row: the second is the probe of an outage that there is none of."""

    async def main() -> list[tuple[str, float]]:
        calls, said = ProviderCalls(ExecutionSettings(max_attempts=3)), []

        async def ask(name: str) -> None:
            async def call() -> str:
                if name.startswith("bad"):
                    raise NoAnswerError("reset")
                return name

            with suppress(NoAnswerError):
                said.append((await calls.make(call), asyncio.get_running_loop().time()))

        for name in ("bad 1", "bad 2", "good 1", "good 2"):
            await ask(name)
        return said

    said = jump(main)
    assert [name for name, _ in said] == ["good 1", "good 2"]
    assert said[0][1] == said[1][1] <= 6 + 6 + 4


def test_a_call_that_its_caller_cancels_is_no_outage() -> None:
    """During an outage the second of two calls would wait for the first, and take 20 s."""

    async def main() -> float:
        calls = ProviderCalls()

        async def slow() -> str:
            await asyncio.sleep(10)
            return "answer"

        ended = asyncio.create_task(calls.make(slow))
        await asyncio.sleep(0)
        ended.cancel()
        with suppress(asyncio.CancelledError):
            await ended
        await asyncio.gather(calls.make(slow), calls.make(slow))
        return asyncio.get_running_loop().time()

    assert jump(main) == 10


def test_an_answer_ends_the_wait_of_the_probe() -> None:
    async def main() -> float:
        calls = ProviderCalls(ExecutionSettings(max_attempts=1, first_wait=50))

        async def slow() -> str:
            await asyncio.sleep(10)
            return "answer"

        down, _ = failing(NoAnswerError("reset"), NoAnswerError("reset"))
        late = asyncio.create_task(calls.make(slow))
        for _ in range(2):
            await asyncio.sleep(0)
            with suppress(NoAnswerError):
                await calls.make(down)
        await calls.make(down)  # would wait for 50 s
        await late
        return asyncio.get_running_loop().time()

    assert jump(main) == 10


def test_a_limit_holds_over_runs_with_other_rules() -> None:
    async def main() -> list[float]:
        calls, times = ProviderCalls(ExecutionSettings()), []

        async def call() -> None:
            times.append(asyncio.get_running_loop().time())

        for limit in (None, 2, 3):
            calls.configure(ExecutionSettings(requests_per_minute=limit))
            await calls.make(call)
            await calls.make(call)
        return times

    # the two of the first run fill the minute of the second, and the second's leave one to the third
    assert jump(main) == [0, 0, 60, 60, 60, 120]


def test_the_wait_that_a_server_asks_for_delays_all_calls() -> None:
    slowed, first = failing(RateLimitError("later", retry_after=7.5))
    other, second = failing()

    async def main() -> None:
        calls = ProviderCalls()

        async def late() -> None:
            await asyncio.sleep(1)
            await calls.make(other)

        await asyncio.gather(calls.make(slowed), late())

    jump(main)
    assert first == [0.0, 7.5]
    assert second == [7.5]


def test_a_server_that_asks_for_too_long_is_not_waited_for() -> None:
    call, called = failing(RateLimitError("tomorrow", retry_after=86400))
    with pytest.raises(RateLimitError):
        jump(lambda: ProviderCalls().make(call))
    assert called == [0.0]


def test_requests_a_minute() -> None:
    times: list[float] = []

    async def call() -> None:
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)

    async def main() -> None:
        calls = ProviderCalls(ExecutionSettings(requests_per_minute=3))
        await asyncio.gather(*(calls.make(call) for _ in range(8)))

    jump(main)
    assert times == [0, 0, 0, 60, 60, 60, 120, 120]


def test_tokens_in_any_minute() -> None:
    async def main() -> list[float]:
        window, times = RateLimit(100), []
        for amount in (60, 40, 30, 1000):
            await window.take(amount)
            times.append(asyncio.get_running_loop().time())
        return times

    # 60 + 40 fill the minute; 30 wait for the 60; more than the limit waits for an empty minute
    assert jump(main) == [0, 0, 60, 120]


def test_waiting_for_a_turn_is_no_time_of_the_call() -> None:
    async def main() -> list[str]:
        calls, said = ProviderCalls(ExecutionSettings(requests_per_minute=1)), []

        async def question(name: str, seconds: float) -> None:
            async def call() -> None:
                await asyncio.sleep(seconds)

            try:
                async with asyncio.timeout(10) as deadline:
                    await calls.make(call, deadline=deadline)
                said.append(f"{name} answered")
            except TimeoutError:
                said.append(f"{name} took too long")

        await asyncio.gather(question("first", 1), question("second", 9), question("third", 11))
        return said

    # the second waits a minute for its turn, the third two: only their own seconds count
    assert jump(main) == ["first answered", "second answered", "third took too long"]


def test_a_cancelled_wait_takes_nothing() -> None:
    async def main() -> float:
        window = RateLimit(1)
        await window.take()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await window.take()
        await window.take()
        return asyncio.get_running_loop().time()

    assert jump(main) == 60
