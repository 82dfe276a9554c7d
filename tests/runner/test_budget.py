"""Budgets: what is begun, what waits, and where it stops."""

from __future__ import annotations

import asyncio
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import UsageError
from fathoms.runner.budget import Amount, Budget
from fathoms.runs.usage import billed, sums
from fathoms.types import Failure, Part, Prompt, Question, Record, Reply, Usage

QUESTION = Question(id="q", text="?", category="c")


def reply(tokens: int, cost: float | None = None, *, cached: bool = False) -> Reply:
    usage = Usage(prompt_tokens=tokens, completion_tokens=1)
    return Reply(text="", usage=usage, cost=cost, cached=cached)


def test_cached_replies_are_not_billed() -> None:
    answered = Record(question=QUESTION, answer=reply(10, 0.1))
    cached = Record(question=QUESTION, answer=reply(10, 0.1, cached=True))
    failed = Record(question=QUESTION, error=Failure(kind="ModelError", message=""))
    parts = (Part(prompt=Prompt(messages=()), reply=reply(7, 0.3)),)
    partly = failed.model_copy(update={"prompt": Prompt(messages=(), parts=parts)})
    records = [answered, cached, failed, partly]
    assert [len(billed(record)) for record in records] == [1, 0, 0, 1]
    assert sums(records) == {"prompt_tokens": 17, "completion_tokens": 2, "cost": pytest.approx(0.4)}
    assert sums([answered, Record(question=QUESTION, answer=reply(1))])["cost"] is None
    assert sums([cached]) == {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}


def test_the_budget_waits_for_questions_in_flight() -> None:
    async def go() -> list[str]:
        budget, said = Budget(max_cost=10), list[str]()
        first = await budget.take(lambda: Amount(cost=6))
        assert first is not None
        second = asyncio.create_task(budget.take(lambda: Amount(cost=6)))
        await asyncio.sleep(0)
        said.append("waits" if not second.done() else "begun")
        budget.settle(first, Amount(cost=3))  # it took less than was held
        covered = await second
        assert covered is not None
        budget.settle(covered, Amount(cost=6))
        said.append("none" if await budget.take(lambda: Amount(cost=2)) is None else "begun")
        said.append("none" if await budget.take(lambda: Amount(cost=0.5)) is None else "begun")
        assert (budget.spent.cost, budget.exhausted) == (9, True)
        return said

    assert asyncio.run(go()) == ["waits", "none", "none"]


def test_embeddings_without_a_cost_are_refused_where_it_is_limited() -> None:
    """An unknown cost is not 0; what came from the cache has none."""
    unknown = {"embed pages": {"seconds": 1.0, "made": 3, "calls": 2, "tokens": 30, "cost": None}}
    for budget in (Budget(), Budget(max_tokens=40)):
        budget.add_embedding(unknown)
        assert budget.spent == Amount(30, 0)
    Budget(max_cost=1).add_embedding({"embed pages": {"seconds": 1.0, "made": 0}})
    with pytest.raises(UsageError, match="embed pages: the limit of cost cannot be enforced"):
        Budget(max_cost=1).add_embedding(unknown)


def test_without_a_limit_all_fits() -> None:
    assert asyncio.run(Budget().take(lambda: Amount(1e12, 1e12))) is not None


@given(
    costs=st.lists(st.integers(1, 50), min_size=1, max_size=40),
    limit=st.integers(0, 600),
    workers=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_it_is_never_overrun_and_stops_within_one_question(
    costs: list[int], limit: int, workers: int, seed: int
) -> None:
    """With estimates that are right, whatever the order in which questions end."""

    async def go() -> tuple[float, int]:
        budget, waiting, chance = Budget(max_tokens=limit), list(costs), random.Random(seed)

        async def worker() -> None:
            while waiting:
                cost = waiting.pop(0)
                covered = await budget.take(partial(Amount, tokens=cost))
                if covered is None:
                    waiting.insert(0, cost)
                    return
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                budget.settle(covered, Amount(tokens=cost))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(workers):
                tasks.create_task(worker())
        return budget.spent.tokens, max(waiting, default=0)

    spent, largest = asyncio.run(go())
    assert spent <= limit
    if spent < sum(costs):
        assert spent + largest > limit
