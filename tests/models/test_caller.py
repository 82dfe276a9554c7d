"""The caller: what it says of each call, its cache, its places, and its time limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ModelError, NoAnswerError, TimedOutError
from fathoms.models import OpenAICompatibleLLM, ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller, provider_of
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.prices import Price
from fathoms.runs.cache import Cache
from fathoms.types import Call, Message, Prompt, Reply
from tests.support.jumping import jump

ASK = Prompt(messages=(Message(role="user", text="How tall is it?"),))
PRICED = ScriptedModel(default="41.5 m", price=Price(input=1000, output=5000))
"""A prompt of four words is $0.004, and a reply of two words $0.01."""


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[ReplyCache]:
    with closing(Cache(tmp_path)) as cache:
        yield ReplyCache(cache)


class Failing(ScriptedModel):
    """Raises the same error at every call."""

    async def reply(self, prompt: Prompt) -> Reply:
        raise ModelError("the server is busy", status=503)


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_call_says_what_it_took() -> None:
    reply, call = asyncio.run(Caller().reply(PRICED, ASK, purpose="judge"))
    assert (reply.text, reply.cost) == ("41.5 m", pytest.approx(0.014))
    assert (call.purpose, call.model, call.attempts, call.cached) == ("judge", "scripted", 1, False)
    assert (call.usage, call.cost, call.error) == (reply.usage, reply.cost, None)


def test_a_failed_call_is_described_and_its_error_raised() -> None:
    calls: list[Call] = []
    caller = Caller(ProviderCalls(ExecutionSettings(max_attempts=3)))
    with pytest.raises(ModelError, match="the server is busy"):
        jump(lambda: caller.reply(Failing(), ASK, purpose="rerank", calls=calls))
    (call,) = calls
    assert (call.attempts, call.cost, call.cached) == (3, None, False)
    assert call.error is not None
    assert (call.error.kind, call.error.status) == ("ModelError", 503)


def test_a_reply_is_found_again_for_any_purpose(replies: ReplyCache) -> None:
    caller = Caller(replies=replies)

    async def ask_twice() -> list[tuple[Reply, Call]]:
        return [
            await caller.reply(PRICED, ASK, purpose="rerank"),
            await caller.reply(PRICED, ASK, purpose="judge"),
        ]

    (first, paid), (again, cached) = asyncio.run(ask_twice())
    assert again == first.model_copy(update={"cached": True})
    assert (paid.cached, paid.attempts) == (False, 1)
    assert (cached.cached, cached.attempts, cached.seconds) == (True, 0, 0.0)
    assert (cached.usage, cached.cost) == (paid.usage, paid.cost)


@pytest.mark.parametrize(
    ("model", "repeat"), [(PRICED, 1), (ScriptedModel(model="other"), 0)], ids=["repeat", "model"]
)
def test_other_calls_are_not_taken_from_the_cache(
    replies: ReplyCache, model: ScriptedModel, repeat: int
) -> None:
    async def ask_both() -> Call:
        caller = Caller(replies=replies)
        await caller.reply(PRICED, ASK, purpose="judge")
        _, call = await caller.reply(model, ASK, purpose="judge", repeat=repeat)
        return call

    assert not asyncio.run(ask_both()).cached


class Seeded(ScriptedModel):
    """Replies with its seed."""

    seed: int = 7

    async def reply(self, prompt: Prompt) -> Reply:
        return Reply(text=str(self.seed))


def test_a_repeat_is_added_to_the_seed() -> None:
    async def ask() -> list[str]:
        caller = Caller()
        found = [await caller.reply(Seeded(), ASK, purpose="judge", repeat=number) for number in range(3)]
        return [reply.text for reply, _ in found]

    assert asyncio.run(ask()) == ["7", "8", "9"]


def test_a_model_is_called_as_often_at_once_as_it_allows() -> None:
    model = ScriptedModel(latency=10, max_concurrency=2)

    async def ask_five() -> float:
        caller = Caller()
        await asyncio.gather(*(caller.reply(model, ASK, purpose="judge") for _ in range(5)))
        return now()

    assert jump(ask_five) == 30


def test_the_time_limit_of_a_call_leaves_out_the_wait_for_its_turn() -> None:
    calls: list[Call] = []

    async def ask() -> tuple[float, float]:
        limited = ProviderCalls(ExecutionSettings(requests_per_minute=1, max_attempts=1))
        caller = Caller(limited, timeout=5)
        await caller.reply(ScriptedModel(latency=4), ASK, purpose="judge", calls=calls)
        await caller.reply(ScriptedModel(latency=4), ASK, purpose="judge", calls=calls)  # waits a minute
        second = now()
        with pytest.raises(TimedOutError, match="no reply within 5 s"):
            await caller.reply(ScriptedModel(latency=6), ASK, purpose="judge", calls=calls)
        return second, now()

    assert jump(ask) == (64, 125)
    assert [call.error and call.error.kind for call in calls] == [None, None, "Timeout"]


def outcome(
    caller: Caller, model: ScriptedModel, calls: int, limit: float
) -> Callable[[], Coroutine[Any, Any, str]]:
    """Make several calls at once under one time limit, and say how that ends."""

    async def ask() -> str:
        try:
            async with asyncio.timeout(limit) as deadline:
                await asyncio.gather(
                    *(caller.reply(model, ASK, purpose="rerank", deadline=deadline) for _ in range(calls))
                )
        except TimeoutError:
            return f"too long at {now():g} s"
        return f"answered at {now():g} s"

    return ask


@pytest.mark.parametrize(
    ("calls", "limit", "ends"),
    [
        (1, 5, "answered at 104 s"),  # after 100 s of waiting for its place
        (2, 9, "answered at 108 s"),  # one waits for the other, so the clock runs
        (2, 7, "too long at 107 s"),
    ],
)
def test_a_time_limit_stands_still_while_all_calls_under_it_wait(calls: int, limit: float, ends: str) -> None:
    async def main() -> str:
        caller, slow = Caller(), ScriptedModel(latency=100, max_concurrency=1)
        other = asyncio.create_task(caller.reply(slow, ASK, purpose="rerank"))
        await asyncio.sleep(0)
        found = await outcome(caller, slow.model_copy(update={"latency": 4}), calls, limit)()
        await other
        return found

    assert jump(main) == ends


def test_a_time_limit_stands_still_while_all_calls_under_it_wait_for_a_rate_limit() -> None:
    """Three calls, one a minute, of 2 seconds each: 6 of the 7 seconds pass."""
    caller = Caller(ProviderCalls(ExecutionSettings(requests_per_minute=1)))
    model = ScriptedModel(latency=2)
    assert jump(outcome(caller, model, calls=3, limit=7)) == "answered at 122 s"
    caller = Caller(ProviderCalls(ExecutionSettings(requests_per_minute=1)))
    assert jump(outcome(caller, model, calls=3, limit=5)) == "too long at 121 s"


@pytest.mark.parametrize(
    ("first", "ends"),
    [
        (101, [(False, 100), (True, 100)]),  # the second waits 100 s of its 5 s, which are not the provider's
        (50, ["too long", (False, 150)]),  # and makes the call itself where the first ends without a reply
    ],
)
def test_equal_calls_that_are_kept_wait_for_the_first(
    replies: ReplyCache, first: float, ends: list[Any]
) -> None:
    caller, slow = Caller(), ScriptedModel(latency=100)

    async def ask(limit: float) -> tuple[bool, float] | str:
        try:
            async with asyncio.timeout(limit) as deadline:
                _, call = await caller.reply(slow, ASK, purpose="describe", deadline=deadline, cache=replies)
                return call.cached, round(now(), -1)
        except TimeoutError:
            return "too long"

    async def both() -> list[tuple[bool, float] | str]:
        return await asyncio.gather(ask(first), ask(5 if first > 100 else 105))

    assert jump(both) == ends


class CountedByAServer(ScriptedModel):
    """Counts tokens as a server does that fails at first."""

    failures: list[str] = ["down"]  # noqa: RUF012 - pydantic copies it

    @property
    def counting_waits(self) -> bool:
        return True

    def count_tokens(self, messages: Sequence[Message]) -> int:
        if self.failures:
            raise NoAnswerError(self.failures.pop())
        return 5


def test_counting_by_a_server_is_retried() -> None:
    model = CountedByAServer()
    assert asyncio.run(Caller().counted(model, lambda: model.count_tokens(ASK.messages))) == 5


def test_every_provider_has_its_own_control() -> None:
    here = OpenAICompatibleLLM(model="m", base_url="http://127.0.0.1:1/v1")
    there = OpenAICompatibleLLM(model="m", base_url="http://127.0.0.1:2/v1")
    mine, other = ProviderCalls(), ProviderCalls()
    caller = Caller(mine, others={provider_of(there): other})
    assert caller.calls_to(here) is mine
    assert caller.calls_to(there) is other
