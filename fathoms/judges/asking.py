"""Asking a judge for claims and verdicts: only for what the journal does not hold, several at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import fmean, median_low
from typing import Any

from fathoms.errors import UsageError
from fathoms.executors import Executor
from fathoms.judges.cascade import Cascade
from fathoms.judges.claims import (
    Decompose,
    claims_key,
    foreign_claims_key,
    model_claims,
    sentence_claims,
)
from fathoms.judges.forecast import FEW, Forecast, Pace, minutes, sizes_of
from fathoms.judges.journal import VerdictJournal, text_hash
from fathoms.judges.judge import CUT, NOT_IN_FILE, UNPARSED, Judge
from fathoms.judges.several import shared
from fathoms.judges.work import JudgeWork
from fathoms.models.caller import Caller
from fathoms.models.calling.stop import Stop, Stopped
from fathoms.models.protocols import ChatModel
from fathoms.runs.grades import median_grades
from fathoms.runs.people import picture_hash
from fathoms.runs.usage import summed, total
from fathoms.text.fingerprints import fingerprint, fingerprint_of, flat_fingerprint, quoted
from fathoms.types import Claim, Failure, Judgement, Rubric, Spent, Verdict

Text = tuple[str, str]
"""A text to be split into claims, and the question that it answers."""

Missing = tuple[Judgement, int, str]
"""A judgement without a verdict, the number of the vote from 0, and the key of its verdict."""

Storing = asyncio.Future[None]
"""A result that is being stored; done when it is on disk."""


@dataclass
class Spending:
    """What judging has taken: calls made, verdicts and claim lists found in the journal, and US dollars
    (`None` where any cost is unknown).

    `limit` is the most that may be spent; no further call is started where it would be passed, and `is_spent`
    is then set. `damaged` counts the lines of the journal that cannot be used. Replies of earlier scorings
    that could not be read are asked for `again`, and `reread` counts those that can be read now. `retried`
    counts the calls that took more than one request, and `retries` these requests by cause.
    """

    limit: float | None = None
    calls: int = 0
    found: int = 0
    failed: int = 0
    cost: float | None = 0.0
    is_spent: bool = False
    damaged: int = 0
    again: int = 0
    reread: int = 0
    retried: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    _in_flight: int = 0
    _dearest: float = 0.0

    def may_ask(self) -> bool:
        """Whether another call fits the limit, if each call in flight costs as much as the dearest so far.

        Until the first cost is known, only one call is made at a time.
        """
        if self.limit is None:
            return True
        if self._dearest == 0.0 and self._in_flight and self.calls == self._in_flight:
            return False
        return (self.cost or 0.0) + (self._in_flight + 1) * self._dearest <= self.limit

    def begin(self) -> None:
        """Count a call that is started."""
        self.calls += 1
        self._in_flight += 1

    def end(self, cost: float | None) -> None:
        """Count the cost of a call that has ended."""
        self._in_flight -= 1
        self.cost = total([self.cost, cost])
        self._dearest = max(self._dearest, cost or 0.0)

    @property
    def waits(self) -> bool:
        """Whether a call that does not fit now may fit when those in flight have ended."""
        return self._in_flight > 0


@dataclass
class Judged:
    """The results of judging: the claims of texts, the verdicts, and what failed.

    `unjudged` are judgements without a verdict because the call failed, with the reason. They are asked for
    again when the run is scored again. `lists` are what splitting took of each text that a model split.
    """

    claims: dict[Text, tuple[Claim, ...]] = field(default_factory=dict)
    verdicts: dict[Judgement, Verdict] = field(default_factory=dict)
    unjudged: dict[Judgement | Text, Failure] = field(default_factory=dict)
    lists: dict[Text, Spent] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """A judge with everything that it needs to be asked: the journal, the caller, and the spending so far."""

    judge: Judge
    journal: VerdictJournal
    caller: Caller
    spending: Spending
    on_done: Callable[[int, int], None] = lambda done, total: None
    pace: Pace = field(default_factory=Pace)
    on_forecast: Callable[[Forecast], None] = lambda forecast: None
    executor: Executor | None = None
    asks_again: bool = True
    """Whether stored replies that could not be read are asked for again, where anybody can be asked."""

    def forecast(self, texts: Sequence[str], batches: Sequence[Sequence[Judgement]]) -> Forecast:
        """Return how many calls some texts and batches take, and how long."""
        long = minutes(self.pace, texts, batches, self.judge.max_concurrency, keeps=self._keeps)
        return Forecast(len(texts), len(batches), long)

    @property
    def _keeps(self) -> bool:
        """Whether the model keeps the evaluation of the premise of the call before."""
        return all(bool(getattr(model, "cache_prompt", True)) for model in self.judge.parts().values())

    def unsplit(self, texts: Iterable[Text], decompose: Decompose) -> list[Text]:
        """Return the texts that a language model has to split first."""
        model = _splitter(self.judge) if decompose == "model" else None
        if model is None:
            return []
        key_of = self._claims_key(model)
        return [text for text in dict.fromkeys(texts) if key_of(*text) not in self.journal]

    def stored_claims(self, texts: Iterable[Text], decompose: Decompose) -> dict[Text, tuple[Claim, ...]]:
        """Return the claims of texts that the journal holds because a language model has split them."""
        model = _splitter(self.judge) if decompose == "model" else None
        if model is None:
            return {}
        key_of = self._claims_key(model)
        found = {text: self.journal.claims(key_of(*text)) for text in dict.fromkeys(texts)}
        return {text: claims for text, claims in found.items() if claims is not None}

    def batches(self, judgements: Iterable[Judgement]) -> list[list[Judgement]]:
        """Return what is asked for together of some judgements: those that the journal does not hold. Of a
        cascade, it is what its cheap judge is asked for."""
        missing = [
            (one, repeat, "")
            for one in dict.fromkeys(judgements)
            for repeat in range(self.judge.repeats)
            if not any(key in self.journal for key in self._keys(one, repeat))
        ]
        if isinstance(self.judge, Cascade):
            return replace(self, judge=self.judge.cheap).batches(one for one, _, _ in missing)
        return [[judgement for judgement, _, _ in batch] for batch in _batches(missing, self.judge)]

    def _claims_key(self, model: ChatModel | None) -> Callable[[str, str], str]:
        """Return what gives the key of the claims of a text that a model splits, or without one, that came
        with the run."""
        if model is None:
            return partial(foreign_claims_key, self.judge.identity())
        return partial(claims_key, model.identity(), self.judge.splitting)

    async def split(
        self, texts: Iterable[Text], decompose: Decompose, judged: Judged, stop: Stop | None = None
    ) -> None:
        """Split texts into claims, and add them to `judged`. Raises Stopped."""
        model = _splitter(self.judge) if decompose == "model" else None
        if model is None and not self.judge.keeps_claims:
            judged.claims |= {text: sentence_claims(text[0]) for text in dict.fromkeys(texts)}
            return
        key_of = self._claims_key(model)
        missing = []
        for text in dict.fromkeys(texts):
            key = key_of(*text)
            known = self.journal.claims(key)
            if known is None:
                missing.append(text)
            else:
                judged.claims[text], judged.lists[text] = known, self.journal.spent(key)
                self.spending.found += 1

        if model is None:
            judged.unjudged |= {text: Failure(kind="NotKept", message=NOT_IN_FILE) for text in missing}
            self.spending.failed += len(missing)
            return

        async def ask(text: Text) -> list[Storing]:
            self.spending.begin()
            cost: float | None = 0.0
            started = time.perf_counter()
            try:
                claims, spent = await model_claims(model, *text, self.caller, self.judge.splitting)
                cost = spent["cost"]
                if isinstance(claims, Failure):
                    judged.unjudged[text] = claims
                    self.spending.failed += 1
                    return []
                self.pace.split = self.pace.split.with_call(time.perf_counter() - started, len(text[0]))
                judged.claims[text] = claims
                judged.lists[text] = Spent.model_validate(spent)
                return [self.journal.put(key_of(*text), claims, **spent)]
            finally:
                self.spending.end(cost)

        await self._each(missing, ask, model.max_concurrency, stop or Stop())

    def can_judge(self, judgement: Judgement) -> bool:
        """Whether the judge can be asked for a judgement."""
        reads = judgement.image is None or self.judge.sees_images
        return reads and judgement.rubric in self.judge.rubrics

    @cached_property
    def _identities(self) -> dict[Rubric, tuple[str, ...]]:
        """The fingerprints of the judge by rubric: first that in the keys of new verdicts, and where it
        differs, that of verdicts from before a rubric had an identity of its own."""
        whole = fingerprint(self.judge.identity())
        own = {rubric: fingerprint(self.judge.identity_for(rubric)) for rubric in self.judge.rubrics}
        return {rubric: (one,) if one == whole else (one, whole) for rubric, one in own.items()}

    def _keys(self, judgement: Judgement, repeat: int) -> list[str]:
        """Return the keys under which a verdict may be stored; a new one is stored under the first."""
        rubric = judgement.rubric
        version = self.judge.version_of(rubric)
        return [verdict_key(one, judgement, repeat, version) for one in self._identities.get(rubric, ())]

    def _look_up(
        self, judgements: Iterable[Judgement], judged: Judged
    ) -> tuple[dict[Judgement, list[Verdict]], list[Missing], dict[str, Verdict]]:
        """Add the verdicts that the journal holds to `judged`. Returns the votes on judgements of which any
        is missing, what is missing, and by their keys the verdicts that could not be read and are missing,
        too, because they are asked for again."""
        votes: dict[Judgement, list[Verdict]] = {}
        missing: list[Missing] = []
        unread: dict[str, Verdict] = {}
        limit = self.spending.limit
        again = self.asks_again and not self.judge.keeps_claims and (limit is None or limit >= 0)
        repeats, found = range(self.judge.repeats), 0
        look_up, identities = self.journal.verdict, self._identities
        versions = {rubric: self.judge.version_of(rubric) for rubric in identities}
        for judgement in judgements:
            known = []
            for repeat in repeats:
                of_judge, version = identities[judgement.rubric], versions[judgement.rubric]
                key = verdict_key(of_judge[0], judgement, repeat, version)
                verdict = look_up(key, judgement)
                if verdict is None and len(of_judge) > 1:
                    verdict = look_up(verdict_key(of_judge[1], judgement, repeat, version), judgement)
                if verdict is None:
                    missing.append((judgement, repeat, key))
                elif again and verdict.label == UNPARSED and verdict.why != CUT:
                    unread[key] = verdict
                    missing.append((judgement, repeat + 2 * len(repeats), key))  # with seeds of its own
                else:
                    known.append(verdict)
            found += len(known)
            if len(known) == len(repeats):
                judged.verdicts[judgement] = decided(known)
            else:
                votes[judgement] = known
        self.spending.found += found
        self.spending.again += len(unread)
        return votes, missing, unread

    async def ask(self, judgements: Iterable[Judgement], judged: Judged, stop: Stop | None = None) -> None:
        """Judge what has no verdict yet, and add all verdicts to `judged`. Raises Stopped."""
        judge = self.judge
        judgements = [one for one in dict.fromkeys(judgements) if one not in judged.verdicts]
        if not judge.sees_images and any(judgement.image for judgement in judgements):
            raise UsageError(
                f"{judge.name} reads no pictures, and a metric needs verdicts on some: name another judge"
            )
        if not {judgement.rubric for judgement in judgements} <= judge.rubrics:
            raise UsageError(
                f"{judge.name} only compares claims with sources, and scoring needs answers to be judged:"
                " name a judge of kind llm"
            )
        votes, missing, unread = self._look_up(judgements, judged)
        if isinstance(judge, Cascade):
            await self._ask_both(judge, [one for one in judgements if one in votes], judged, stop)
            return
        batches = _batches(missing, judge)
        sizes = sizes_of([[one for one, _, _ in batch] for batch in batches], keeps=self._keeps)
        taken = dict(zip(map(id, batches), sizes, strict=True))
        if len(batches) >= FEW and judge.parts():
            self.on_forecast(self.forecast([], [[one for one, _, _ in batch] for batch in batches]))

        async def ask(batch: Sequence[Missing]) -> list[Storing]:
            self.spending.begin()
            cost: float | None = 0.0
            started = time.perf_counter()
            try:
                repeat = batch[0][1]
                given = await judge.judge([judgement for judgement, _, _ in batch], self.caller, repeat)
                seconds = time.perf_counter() - started
                if not any(isinstance(verdict, Failure) for verdict in given):
                    self.pace.verdicts = self.pace.verdicts.with_call(seconds, taken[id(batch)])
                cost = total([verdict.cost for verdict in given if isinstance(verdict, Verdict)])
            finally:
                self.spending.end(cost)
            return keep(batch, given)

        def keep(batch: Sequence[Missing], given: Sequence[Verdict | Failure]) -> list[Storing]:
            storing = []
            for (judgement, _, key), verdict in zip(batch, given, strict=True):
                if isinstance(verdict, Failure):
                    judged.unjudged[judgement] = verdict
                    self.spending.failed += 1
                else:
                    if (before := unread.pop(key, None)) is not None:
                        verdict = paid_for(before, verdict)
                        self.spending.reread += verdict.label != UNPARSED
                    votes[judgement].append(verdict)
                    storing.append(self.journal.put(key, verdict))
            return storing

        if self.executor is not None and judge.is_local:
            await self._ask_on_cluster(self.executor, batches, keep, stop or Stop())
        else:
            await self._each(batches, ask, judge.max_concurrency, stop or Stop())
        for judgement, _, key in missing:
            if key in unread:  # nothing has come in its place
                votes[judgement].append(unread[key])
        judged.verdicts |= {judgement: decided(found) for judgement, found in votes.items() if found}
        for judgement in judged.verdicts:  # one of several votes may have failed
            judged.unjudged.pop(judgement, None)

    async def _ask_both(
        self, cascade: Cascade, judgements: Sequence[Judgement], judged: Judged, stop: Stop | None
    ) -> None:
        """Ask the cheap judge of a cascade, and the dear one for what the cheap one is not sure of.

        The verdicts of each are stored as its own, so that none is paid for again where the other judge
        failed, or the process was killed before it answered. Raises Stopped.
        """
        batches = self.batches(judgements)
        if len(batches) >= FEW and cascade.parts():
            self.on_forecast(self.forecast([], batches))
        cheap, dear, paces = Judged(), Judged(), (Pace(), Pace())
        first, second = (
            # what the cheap one said that cannot be read is decided by the dear one
            replace(self, judge=one, pace=pace, on_forecast=lambda _: None, asks_again=one is cascade.dear)
            for one, pace in zip((cascade.cheap, cascade.dear), paces, strict=True)
        )
        try:
            await first.ask(judgements, cheap, stop)
            given = {one: cheap.verdicts.get(one) or cheap.unjudged.get(one) for one in judgements}
            unsure = [one for one, found in given.items() if found and not cascade.is_sure(found)]
            await second.ask(unsure, dear, stop)
        finally:
            if characters := paces[0].verdicts.characters:  # what the dear judge takes belongs to them
                seconds = sum(pace.verdicts.seconds for pace in paces)
                self.pace.verdicts = self.pace.verdicts.with_call(seconds, characters)
        for judgement, found in decided_by(cascade, judgements, cheap, dear).items():
            if isinstance(found, Verdict):
                judged.verdicts[judgement] = found
            else:
                judged.unjudged[judgement] = found

    async def _ask_on_cluster(
        self,
        executor: Executor,
        batches: Sequence[Sequence[Missing]],
        keep: Callable[[Sequence[Missing], Sequence[Verdict | Failure]], list[Storing]],
        stop: Stop,
    ) -> None:
        """Have a judge that is a local model asked by the workers of a cluster. After a stop, or where the
        journal cannot be written, what they work on is lost, and Stopped or StoreError is raised."""
        loop, storing, done = asyncio.get_running_loop(), list[Storing](), 0
        is_broken = threading.Event()

        def note(stored: Storing) -> None:
            if stored.exception() is not None:
                is_broken.set()

        def keep_in_loop(at: int, given: Sequence[Verdict | Failure]) -> None:
            nonlocal done
            for stored in keep(batches[at], given):
                stored.add_done_callback(note)
                storing.append(stored)
            done += 1
            self.on_done(done, len(batches))

        def keep_from_thread(at: int, given: Sequence[Verdict | Failure], seconds: float) -> None:
            loop.call_soon_threadsafe(keep_in_loop, at, given)
            if stop.is_set() or is_broken.is_set():
                raise Stopped

        items = [[judgement for judgement, _, _ in batch] for batch in batches]
        self.spending.calls += len(items)
        run = partial(executor.run, JudgeWork(self.judge), items, keep_from_thread, keep=False)
        try:
            await asyncio.to_thread(run)
        finally:
            await _stored(storing)
            await self.journal.finish()

    async def _each(
        self,
        items: Sequence[Any],
        ask: Callable[[Any], Awaitable[list[Storing]]],
        most: int,
        stop: Stop,
    ) -> None:
        """Call `ask` for each item, `most` at a time, until the budget is spent.

        `ask` returns the storing of its result, during which the next item is asked for. After a stop, what
        has been asked for is waited for and stored, and Stopped is raised.
        """
        queue, done, spending = iter(items), 0, self.spending
        room = asyncio.Event()

        async def turns() -> AsyncIterator[Any]:
            for item in queue:
                if stop.is_set():
                    raise Stopped
                while not spending.may_ask():
                    if not spending.waits:
                        spending.is_spent = True
                        return
                    room.clear()
                    await room.wait()
                if spending.is_spent:
                    return
                if stop.is_set():  # it may have come while this waited for the budget
                    raise Stopped
                yield item

        async def work() -> None:
            nonlocal done
            storing: list[Storing] = []
            try:
                async for item in turns():
                    earlier, storing = storing, await ask(item)
                    room.set()
                    await _stored(earlier)
                    done += 1
                    self.on_done(done, len(items))
            finally:
                room.set()
                await _stored(storing)

        try:
            workers = [asyncio.create_task(work()) for _ in range(min(most, len(items)))]
            results = await asyncio.gather(*workers, return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result
        finally:
            await self.journal.finish()


async def _stored(results: Iterable[Storing]) -> None:
    """Wait until results are on disk; raises StoreError."""
    for result in results:
        if not result.done():
            await asyncio.shield(result)
        result.result()


def _batches(missing: Sequence[Missing], judge: Judge) -> list[Sequence[Missing]]:
    """Return what is asked for together, one premise after the other: models and providers reuse the
    evaluation of the beginning that a prompt shares with the one before."""
    by_repeat: dict[int, list[Missing]] = {}
    for one in missing:
        by_repeat.setdefault(one[1], []).append(one)
    found: list[Sequence[Missing]] = []
    groups: dict[Any, list[Missing]] = {}
    for repeat, several in by_repeat.items():
        claims = [one for one in several if one[0].rubric == "support" and one[0].image is None]
        calls = judge.calls_of([judgement for judgement, _, _ in claims])
        found += [[claims[at] for at in places] for places in calls or ()]
        done = set() if calls is None else set(map(id, claims))
        for one in several:
            if id(one) not in done:
                groups.setdefault((repeat, shared(one[0])), []).append(one)
    whole = list(groups.values())
    if not judge.shares_premise and judge.repeats == 1:
        whole = [[one for group in whole for one in group]]
    return found + [
        group[start : start + size]
        for group in filter(None, whole)
        for size in [judge.together(group[0][0].rubric)]
        for start in range(0, len(group), size)
    ]


def verdict_key(identity: str, judgement: Judgement, repeat: int, version: int = 1) -> str:
    """Return the key of a verdict. `identity` is the fingerprint of the judge, and `version` that of the
    prompt for another rubric than `support`. Raises DataError for a picture that cannot be read."""
    claim, text, context, picture, rubric, wanted = judgement
    premise = text_hash(text)
    if picture is None and rubric == "support":  # as below in half of the time: a run may have a million
        parts = f'["{identity}",{quoted(claim)},{quoted(context)},"{premise}",null,{repeat}]'
        return fingerprint_of(parts)
    image = None if picture is None else picture_hash(picture)
    more: tuple[str | int, ...] = () if rubric == "support" else (rubric, version)
    if rubric == "questions":
        more = (*more, wanted)
    return flat_fingerprint(identity, claim, context, premise, image, repeat, *more)


def paid_for(before: Verdict, now: Verdict) -> Verdict:
    """Return a verdict with what an earlier one in its place took, too."""
    usages = [one.usage for one in (before, now) if one.usage is not None]
    return now.model_copy(
        update={
            "usage": summed(usages) if len(usages) == 2 else None,
            "cost": total([before.cost, now.cost]),
            "seconds": total([before.seconds, now.seconds]),
        }
    )


def decided(votes: Sequence[Verdict]) -> Verdict:
    """Return the verdict of the majority of some votes; of equal numbers, the first one counts. Of grades, it
    is the median, the lower one of two, also of each of five grades.

    Votes that could not be read do not count, unless none could be read. `p` is the mean of those known.
    """
    if len(votes) == 1:
        return votes[0]
    counts = Counter(vote.label for vote in votes)
    read = [vote for vote in votes if vote.label != UNPARSED] or list(votes)
    label = Counter(vote.label for vote in read).most_common(1)[0][0]
    if all(vote.label.isdecimal() for vote in read):
        label = str(median_low(int(vote.label) for vote in read))
    first = next(vote for vote in read if vote.label == label)
    known = [vote.p for vote in votes if vote.p is not None]
    grades = [vote.grades for vote in read if vote.grades]
    usages = [vote.usage for vote in votes if vote.usage is not None]
    return first.model_copy(
        update={
            "votes": dict(counts),
            "grades": median_grades(grades) if grades else None,
            "usage": summed(usages) if len(usages) == len(votes) else None,
            "p": fmean(known) if known else None,
            "cost": total([vote.cost for vote in votes]),
            "seconds": total([vote.seconds for vote in votes]),
        }
    )


def decided_by(
    cascade: Cascade, judgements: Iterable[Judgement], cheap: Judged, dear: Judged
) -> dict[Judgement, Verdict | Failure]:
    """Return what a cascade decides, given what its judges said. A judgement that it leaves to a judge who
    was not asked is left out."""
    found = {}
    for judgement in judgements:
        first, second = (by.verdicts.get(judgement) or by.unjudged.get(judgement) for by in (cheap, dear))
        if first is not None and (second is not None or cascade.is_sure(first)):
            found[judgement] = first if second is None else cascade.decided(first, second)
    return found


def decomposer(judge: Judge) -> str:
    """Return what splits texts into claims: `sentences`, or the name of a language model, which says if it
    follows a prompt of the user; the name of the judge where the claims came with the run."""
    if judge.keeps_claims:
        return judge.name
    model = _splitter(judge) if judge.claims == "model" else None
    if model is None:
        return "sentences"
    return f"{getattr(model, 'model', '')}{' with a prompt of your own' if judge.splitting.is_own else ''}"


def _splitter(judge: Judge) -> ChatModel | None:
    """Return the language model of a judge that splits texts into claims, `None` if it has none."""
    models = list(judge.parts().values())
    return models[-1] if models else None
