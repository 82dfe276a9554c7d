"""Reserving budget for the questions of one run, from each prompt's estimate and the answers so far."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fathoms.corpora import Corpus
from fathoms.errors import ModelError, UsageError
from fathoms.models.calling.stop import Stop
from fathoms.models.embed.served.served_model import ServedPageModel
from fathoms.pipeline.answering import Ingested, PackedQuestion
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.page_index import QUESTIONS
from fathoms.pipeline.preparation import Preparation
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.pipeline.searching import Searching
from fathoms.runner.budget import Amount, Budget
from fathoms.runner.estimate import DESCRIPTION, Estimates, calling, estimate
from fathoms.runs.usage import billed, tokens_of, total
from fathoms.types import Hit, Purpose, Question, Record, Reply, Usage

_PRICE = "{input: 2.5, output: 10} (US dollars for a million tokens)"


@dataclass(frozen=True)
class Reservation:
    """The amount reserved for a question, and its prompts with their estimate where fathoms builds them."""

    amount: Amount
    packed: PackedQuestion | None = None
    estimates: Estimates | None = None


@dataclass
class _Learnt:
    """What the calls for one purpose showed: the largest ratio of billed to estimated prompt tokens, and the
    longest reply in tokens."""

    scale: float = 1.0
    reply: int = 0


class Reservations:
    """One run's access to the budget of a command.

    Until the first answer shows how long replies are, questions are asked one at a time, reserving only the
    prompts. From then on a question reserves its own prompts, scaled by the largest ratio of billed to
    estimated tokens so far, and the longest replies so far, each for what the model is called for. For an
    external pipeline, and where tokens cannot be counted, it reserves the most that any question took. A
    reply that does not report its tokens, and a question that timed out, count as what was reserved; other
    failures count as nothing.
    """

    def __init__(self, budget: Budget, prepared: Prepared, hits: Mapping[str, tuple[Hit, ...]]) -> None:
        self._budget = budget
        self._prepared = prepared
        self._hits = hits
        self._in_flight = 0
        self._answered = False
        self._learnt: dict[Purpose, _Learnt] = {}
        self._most = Amount()
        self._times = times_of(prepared)
        self._counted = self._times.calls(QUESTIONS)

    async def take(self, question: Question, stop: Stop | None = None) -> Reservation | None:
        """Reserve what a question needs, waiting for room; `None` if the budget is spent. Raises Stopped."""
        if not self._budget.is_limited:
            return Reservation(Amount())
        packed = estimated = None
        if isinstance(self._prepared, Ingested):
            packed = PackedQuestion(self._prepared, question, self._hits.get(question.id, ()))
            with suppress(ModelError):  # where it lasts, it fails the question when this is asked
                estimated = await asyncio.to_thread(estimate, packed)
        amount = await self._budget.take(lambda: self._whole_need(question, estimated), stop)
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
            self._add_embedding()
            if record is not None:
                spent = self._spent(record, reservation)
                if record.answer is not None and not record.answer.cached:
                    self._learn(record, record.answer, reservation, spent)
                elif (
                    record.only_searched
                ):  # calls of a model that helps to retrieve: as many for every question
                    self._answered, self._most = True, _larger(self._most, spent)
        finally:  # release the reservation even if this raises
            self._budget.settle(reservation.amount, spent)

    def _whole_need(self, question: Question, estimated: Estimates | None) -> Amount | None:
        """What a question needs, and what a server takes for embedding the questions that are searched for
        together with it, by the mean of those before."""
        need, before = self._need(estimated), self._counted
        if need is None or not before.inputs or not isinstance(self._prepared, Searching):
            return need
        part = self._prepared.searched_together(question) / before.inputs
        return need + Amount((before.tokens or 0) * part, (before.cost or 0) * part)

    def _add_embedding(self) -> None:
        """Count what a server took for embedding questions since this was last called."""
        now, before = self._times.calls(QUESTIONS), self._counted
        self._counted = now
        tokens = None if now.tokens is None else now.tokens - (before.tokens or 0)
        cost = None if now.cost is None else now.cost - (before.cost or 0)
        calls = now.replies - before.replies
        self._budget.add_embedding({QUESTIONS: {"calls": calls, "tokens": tokens, "cost": cost}})

    def _need(self, estimated: Estimates | None) -> Amount | None:
        """What a question needs, as far as known; `None` where it has to wait for a first answer."""
        if self._in_flight and not (self._answered and self._learnt.keys() >= (estimated or {}).keys()):
            return None
        if estimated is None:
            return self._most
        assert isinstance(self._prepared, Ingested)
        models = {"answer": self._prepared.generate, **self._prepared.retriever.called}
        need = Amount()
        for purpose, part in estimated.items():
            learnt, model = self._learnt.get(purpose, _Learnt()), models[purpose]
            prompt, reply = part.prompt_tokens * learnt.scale, learnt.reply * part.requests
            usage = Usage(prompt_tokens=round(prompt), completion_tokens=reply)
            need += Amount(prompt + reply, model.cost(usage) or 0.0)  # 0 where no price is known
        return need

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
        if timed_out:  # what came before the time limit may be more than was reserved
            return Amount(max(reserved.tokens, known.tokens), max(reserved.cost, known.cost))
        return known

    def _learn(self, record: Record, answer: Reply, reservation: Reservation, spent: Amount) -> None:
        """Learn from an answered question how long replies are and how many tokens prompts really have."""
        self._answered = True
        self._most = _larger(self._most, spent)
        for purpose, estimated in (reservation.estimates or {}).items():
            calls = [call for call in record.calls if call.purpose == purpose]
            if purpose == "describe":  # the estimate has no descriptions that are kept
                calls = [call for call in calls if not call.cached]
            usages = [answer.usage] if purpose == "answer" else [call.usage for call in calls]
            if not usages:
                continue
            prompt = total([usage.prompt_tokens for usage in usages])
            reply = total([usage.completion_tokens for usage in usages])
            learnt = self._learnt.setdefault(purpose, _Learnt(scale=0.0))
            prompt = estimated.prompt_tokens if prompt is None else prompt
            reply = estimated.reply_tokens if reply is None else reply
            if estimated.prompt_tokens:
                learnt.scale = max(learnt.scale, prompt / estimated.prompt_tokens)
            learnt.reply = max(learnt.reply, math.ceil(reply / estimated.requests))


def times_of(prepared: Prepared) -> IngestTimes:
    """The times of the stages of a corpus, which grow while questions are embedded; none of an external
    pipeline."""
    return prepared.times if isinstance(prepared, Ingested | Searching) else IngestTimes()


def _larger(one: Amount, other: Amount) -> Amount:
    """The larger tokens and the larger cost of two amounts."""
    return Amount(max(one.tokens, other.tokens), max(one.cost, other.cost))


def _sum_or(assumed: float, parts: Sequence[float | None]) -> float:
    """The sum of the parts; `assumed` where any of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else assumed


def require_price(experiment: Runnable, budget: Budget) -> None:
    """Raise UsageError where the cost is limited and the price of the model is unknown."""
    if budget.max_cost is None or (stages := experiment.stages) is None:
        return
    pages = stages.retrieve.pages
    if pages is not None and isinstance(pages.embed, ServedPageModel) and pages.embed.price is None:
        raise UsageError(
            f"{experiment.name}: no price is known for {pages.embed.model}, and the cost limit cannot be"
            " enforced without one: set price: {image: 0.5, text: 0.1} (US dollars for a million tokens)"
            " under the `embed:` of the retriever `visual`"
        )
    keys = {
        "answer": "generate",
        "rerank": "retrieve.by.generate",
        "expand": "retrieve.generate",
        "extract": "retrieve.generate",
        "describe": "retrieve.generate",
    }
    called = [(keys[purpose], model) for purpose, model in experiment.called.items()]
    if (describing := stages.describes_pictures) is not None:
        called.append(("pictures.generate", describing))
    for key, model in called:
        if model.cost(Usage(prompt_tokens=1, completion_tokens=1)) is None:
            name = getattr(model, "model", None) or getattr(model, "target", None) or model.kind
            raise UsageError(
                f"{experiment.name}: no price is known for {name}, and the cost limit cannot be enforced"
                f" without one: set {key}.price: {_PRICE}"
            )


def require_room_for_descriptions(
    experiment: Runnable, corpus: Corpus, work: Preparation, budget: Budget
) -> None:
    """Parse the documents, and raise UsageError where describing their figures and tables can take more than
    the limits of the command leave: each reply counts with `max_tokens`, as estimated where that is not
    set."""
    stages = experiment.stages
    if not budget.is_limited or stages is None or (model := stages.describes_pictures) is None:
        return
    stages.parse(corpus.documents, work)
    prompts = stages.undescribed(corpus.documents, work.cache)
    need = calling(model, prompts, model.max_tokens or DESCRIPTION)
    tokens = need.prompt_tokens + need.reply_tokens
    for limit, spent, wanted, option, form in (
        (budget.max_cost, budget.spent.cost, need.cost or 0.0, "--max-cost", "${:.2f}"),
        (budget.max_tokens, budget.spent.tokens, tokens, "--max-tokens-total", "{:,} tokens"),
    ):
        if limit is not None and spent + wanted > limit:
            raise UsageError(
                f"{experiment.name}: describing {need.requests} figures and tables can take"
                f" {form.format(wanted)}, and {option} leaves {form.format(limit - spent)}: raise it, lower"
                " pictures.generate.max_tokens, or set pictures.words: ocr"
            )
