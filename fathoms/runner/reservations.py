"""Reserving budget for the questions of one run, from each prompt's estimate and the answers so far."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.errors import UsageError
from fathoms.models.calling.stop import Stop
from fathoms.pipeline.answering import Ingested, PackedQuestion
from fathoms.pipeline.experiment import AnyExperiment, Experiment, Prepared
from fathoms.runner.budget import Amount, Budget
from fathoms.runner.estimate import Estimate, estimate
from fathoms.runs.usage import billed, tokens_of
from fathoms.types import Hit, Question, Record, Reply, Usage

_PRICE = "{input: 2.5, output: 10} (US dollars for a million tokens)"


@dataclass(frozen=True)
class Reservation:
    """The amount reserved for a question, and its prompts with their estimate where fathoms builds them."""

    amount: Amount
    packed: PackedQuestion | None = None
    estimate: Estimate | None = None


class Reservations:
    """One run's access to the budget of a command.

    Until the first answer shows how long replies are, questions are asked one at a time, reserving only the
    prompt. From then on a question reserves its own prompt, scaled by the largest ratio of billed to
    estimated tokens so far, and the longest reply so far. For an external pipeline it reserves the most that
    any question took. An answer that does not report its tokens, and a question that timed out, count as what
    was reserved; other failures count as nothing.
    """

    def __init__(self, budget: Budget, prepared: Prepared, hits: Mapping[str, tuple[Hit, ...]]) -> None:
        self._budget = budget
        self._prepared = prepared
        self._hits = hits
        self._in_flight = 0
        self._learnt = False
        self._scale = 0.0
        self._reply = 0
        self._most = Amount()

    async def take(self, question: Question, stop: Stop | None = None) -> Reservation | None:
        """Reserve what a question needs, waiting for room; `None` if the budget is spent. Raises Stopped."""
        if not self._budget.is_limited:
            return Reservation(Amount())
        packed = estimated = None
        if isinstance(self._prepared, Ingested):
            packed = PackedQuestion(self._prepared, question, self._hits.get(question.id, ()))
            estimated = await asyncio.to_thread(estimate, packed)
        amount = await self._budget.take(lambda: self._need(estimated), stop)
        if amount is None:
            return None
        self._in_flight += 1
        return Reservation(amount, packed, estimated)

    def settle(self, reservation: Reservation, record: Record | None) -> None:
        """Release the reservation of a question that has ended, or that was not asked after all (`None`).

        Raises UsageError where a limit cannot be enforced because answers report neither tokens nor cost.
        """
        if not self._budget.is_limited:
            return
        self._in_flight -= 1
        spent = Amount() if record is None else reservation.amount
        try:
            if record is not None:
                spent = self._spent(record, reservation)
                if record.answer is not None and not record.answer.cached:
                    self._learn(record.answer, reservation, spent)
        finally:  # release the reservation even if this raises
            self._budget.settle(reservation.amount, spent)

    def _need(self, estimated: Estimate | None) -> Amount | None:
        """What a question needs, as far as known; `None` where it has to wait for a first answer."""
        if not self._learnt and self._in_flight:
            return None
        if estimated is None:
            return self._most
        scale = self._scale if self._learnt else 1.0
        prompt, reply = estimated.prompt_tokens * scale, self._reply * estimated.requests
        assert isinstance(self._prepared, Ingested)
        usage = Usage(prompt_tokens=round(prompt), completion_tokens=reply)
        return Amount(prompt + reply, self._prepared.generate.cost(usage) or 0.0)

    def _spent(self, record: Record, reservation: Reservation) -> Amount:
        """What a question really took."""
        replies = billed(record)
        tokens = [tokens_of(reply.usage) for reply in replies]
        costs = [reply.cost for reply in replies]
        reserved = reservation.amount
        known = Amount(
            _sum_or(max(reserved.tokens, self._most.tokens), tokens),
            _sum_or(max(reserved.cost, self._most.cost), costs),
        )
        timed_out = record.error is not None and record.error.kind == "Timeout"
        if self._budget.max_tokens is not None and None in tokens and not known.tokens:
            raise UsageError("the token limit cannot be enforced: the pipeline does not report its tokens")
        if self._budget.max_cost is not None and None in costs and not known.cost:
            raise UsageError(
                f"the cost limit cannot be enforced: the pipeline reports neither a cost nor its tokens: set"
                f" pipeline.price: {_PRICE}"
            )
        return reserved if timed_out else known

    def _learn(self, answer: Reply, reservation: Reservation, spent: Amount) -> None:
        """Learn from an answer how long replies are and how many tokens prompts really have."""
        self._learnt = True
        self._most = Amount(max(self._most.tokens, spent.tokens), max(self._most.cost, spent.cost))
        estimated, usage = reservation.estimate, answer.usage
        if estimated is None or not estimated.prompt_tokens:
            return
        billed_prompt = estimated.prompt_tokens if usage.prompt_tokens is None else usage.prompt_tokens
        reply = estimated.reply_tokens if usage.completion_tokens is None else usage.completion_tokens
        self._scale = max(self._scale, billed_prompt / estimated.prompt_tokens)
        self._reply = max(self._reply, -(-reply // estimated.requests))


def _sum_or(assumed: float, parts: Sequence[float | None]) -> float:
    """The sum of the parts; `assumed` where any of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else assumed


def require_price(experiment: AnyExperiment, budget: Budget) -> None:
    """Raise UsageError where the cost is limited and the price of the model is unknown."""
    if budget.max_cost is None or not isinstance(experiment, Experiment):
        return
    if experiment.generate.cost(Usage(prompt_tokens=1, completion_tokens=1)) is None:
        raise UsageError(
            f"{experiment.name}: no price is known for {experiment.answerer or experiment.generate.kind},"
            f" and the cost limit cannot be enforced without one: set generate.price: {_PRICE}"
        )
