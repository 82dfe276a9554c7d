"""Running experiments: every question asked, every answer on disk before it counts."""

from __future__ import annotations

import asyncio
import secrets
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.budget import Budget, billed, sums, total
from fathoms.cache import Cache
from fathoms.committing import GroupCommit
from fathoms.corpora import Corpus
from fathoms.events import happened, tell, within
from fathoms.experiment import AnyExperiment, Prepared
from fathoms.manifest import describe
from fathoms.parsed import keep_documents
from fathoms.patience import Lane
from fathoms.pipeline import Progress, silent
from fathoms.purse import Purse, require_price
from fathoms.resuming import Reopened, Turn, require_same
from fathoms.store import Run
from fathoms.types import Hit, Question, Record

OnRecord = Callable[[Record, int, int], None]
"""Hears (record, done, total); of several runs, the sums."""


@dataclass(frozen=True)
class Tally:
    """How far the questions to one provider are; `cost` is in dollars, `None` where any is not known."""

    provider: str
    done: int
    total: int
    failed: int
    cached: int
    cost: float | None


OnTally = Callable[[Tally], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a run: how many questions were asked for, how many have an answer or a failure by now
    (in a resumed run also those from before), how many failed, and whether it was stopped before the end, by
    its budget or by a signal. A question counts once a repeat."""

    run: Run
    asked: int
    done: int
    errors: int
    stopped: bool
    over_budget: bool = False


@dataclass(frozen=True)
class Selection:
    """Which of the questions are asked; empty means all. `limit` takes from the categories in turn."""

    limit: int | None = None
    categories: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One run to be: an experiment, its data, and the folder that paths in its configuration start from."""

    experiment: AnyExperiment
    corpus: Corpus
    folder: Path = Path()
    cell: Mapping[str, Any] = field(default_factory=dict)
    """What sets it apart from the other runs of a sweep, by key."""


def run(
    jobs: Sequence[Job],
    *,
    out: Path,
    cache: Cache,
    selection: Selection = Selection(),
    workers: int = 2,
    repeats: int = 1,
    budget: Budget | None = None,
    sweep: str | None = None,
    reuse_replies: bool = False,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
    on_tally: OnTally = lambda tally: None,
    on_stop: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Ask the selected questions of every job and keep what comes back; nothing is scored yet.

    Jobs share parsed documents, indexes, and the limits of their providers: those of one provider follow one
    another, those of several go side by side. What is missing (a package, weights, a server, a document) is
    raised before the first question. A question that fails becomes a record with an error. SIGINT and
    SIGTERM let what is in flight finish and start no more (`on_stop` hears of it); a second signal stops at
    once. `stop`, set by another thread, is as the first signal. With `reuse_replies`, a prompt that was
    answered before is not asked again.

    Each question is asked `repeats` times, all of them once before any twice. `budget` holds for all jobs
    together. `sweep` is the id that the runs have in common.
    """
    budget = budget or Budget()
    for job in jobs:
        require_price(job.experiment, budget)
        job.experiment.check()
    Run.require_writable(out)
    ready = []
    for job in jobs:  # of all, before there is a run of the first
        asked = job.corpus.select(limit=selection.limit, categories=selection.categories, ids=selection.ids)
        prepared: Prepared = job.experiment.prepare(
            job.corpus.documents,
            cache,
            workers=workers,
            progress=progress,
            reuse_replies=reuse_replies,
        )
        ready.append((job, asked, prepared, _retrieved(prepared, asked)))
    askings = []
    for job, asked, prepared, (hits, share) in ready:
        *_, state = prepared.fingerprints.values()
        manifest = describe(job.experiment, job.corpus, prepared, asked, job.folder, repeats)
        if sweep is not None:
            manifest["sweep"] = {"id": sweep, "cell": dict(job.cell)}
        store = Run.create(out, job.experiment.name, state, manifest)
        keep_documents(store, prepared.documents)
        turns = [Turn(question, repeat) for question in asked for repeat in range(repeats)]
        purse = Purse(budget, prepared, hits)
        askings.append(_Asking(job.experiment, prepared, store, len(turns), turns, hits, share, purse))
    return _ask(askings, budget, on_record, on_tally, on_stop, stop)


def resume(
    reopened: Reopened,
    *,
    cache: Cache,
    workers: int = 2,
    budget: Budget | None = None,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
    on_tally: OnTally = lambda tally: None,
    on_stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Ask again what a run has no answer to, in the same run. `budget` is for what is asked now.

    Raises UsageError where anything that its answers depend on has changed, or where another process writes
    to it.
    """
    store, experiment, missing = reopened.run, reopened.experiment, reopened.missing
    budget = budget or Budget()
    require_price(experiment, budget)
    experiment.check()
    prepared: Prepared = experiment.prepare(
        reopened.corpus.documents, cache, workers=workers, progress=progress
    )
    require_same(store, prepared)
    questions = list({turn.question.id: turn.question for turn in missing}.values())
    hits, share = _retrieved(prepared, questions)
    asked, purse = len(reopened.asked) * reopened.repeats, Purse(budget, prepared, hits)
    asking = _Asking(experiment, prepared, store, asked, missing, hits, share, purse)
    (outcome,) = _ask([asking], budget, on_record, on_tally, on_stop)
    return outcome


def _retrieved(prepared: Prepared, questions: Sequence[Question]) -> tuple[dict[str, tuple[Hit, ...]], float]:
    """The hits of all, and the seconds a question."""
    started = time.perf_counter()
    hits = prepared.retrieve(questions) if questions else {}
    return hits, (time.perf_counter() - started) / max(1, len(questions))


def new_sweep() -> str:
    """The id of runs that are started together: the UTC time, and a few digits of chance."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def in_order(turns: Sequence[Turn]) -> list[Turn]:
    """One repeat after another; in each, questions on the same files in a row, so that a server's prompt
    cache can help."""
    first: dict[tuple[str, ...], int] = {}
    for index, turn in enumerate(turns):
        first.setdefault(turn.question.files, index)
    return sorted(turns, key=lambda turn: (turn.repeat, first[turn.question.files]))


def _ask(
    askings: Sequence[_Asking],
    budget: Budget,
    on_record: OnRecord,
    on_tally: OnTally,
    on_stop: Callable[[], None],
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Ask all, each run locked against other processes for as long as it takes."""
    with ExitStack() as locks:
        for asking in askings:
            locks.enter_context(asking.store.locked())
        stopped = asyncio.run(_Round(askings, on_record, on_tally, on_stop, stop or threading.Event()).all())
        outcomes = [asking.outcome(stopped, budget) for asking in askings]
        for asking, outcome in zip(askings, outcomes, strict=True):
            asking.close(outcome)
    return outcomes


class _Asking:
    """The questions of one run on their way through the model."""

    def __init__(
        self,
        experiment: AnyExperiment,
        prepared: Prepared,
        store: Run,
        asked: int,
        missing: Sequence[Turn],
        hits: Mapping[str, tuple[Hit, ...]],
        retrieve_seconds: float,
        purse: Purse,
    ) -> None:
        self.experiment = experiment
        self.prepared = prepared
        self.store = store
        self.asked = asked
        self.missing = in_order(missing)
        self.hits = hits
        self.retrieve_seconds = retrieve_seconds
        self.purse = purse
        self.done = self.errors = self.cached = 0
        self.cost: float | None = 0.0
        self.seconds = 0.0

    async def all(self, lane: Lane, stop: threading.Event, on_record: Callable[[Record], None]) -> None:
        """Ask what is missing, as many at a time as the provider takes, in order."""
        started = time.perf_counter()
        several = (self.store.manifest().get("repeats") or 1) > 1
        happened(
            "run-started",
            run=self.store.id,
            name=self.experiment.name,
            model=self.experiment.answerer,
            provider=self.experiment.provider,
            questions=len(self.missing),
            answered_before=self.asked - len(self.missing),
        )
        waiting, commit = iter(self.missing), GroupCommit(self.store, several=several)

        async def worker() -> None:
            for turn in waiting:
                if stop.is_set() or (held := await self.purse.take(turn.question)) is None:
                    return
                record = None if stop.is_set() else await self._record(turn, lane)
                if record is not None:
                    await commit.add(record)
                    self._count(record)
                    on_record(record)
                await self.purse.settle(held, record)

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(max(1, self.experiment.max_concurrency)):
                    workers.create_task(worker())
            await commit.finish()
        except BaseExceptionGroup as group:
            stop.set()
            raise group.exceptions[0] from None
        finally:
            self.seconds = time.perf_counter() - started

    def _count(self, record: Record) -> None:
        """A record is on the disk."""
        self.done += 1
        self.errors += record.error is not None
        self.cached += record.answer is not None and record.answer.cached
        self.cost = total([self.cost, *(reply.cost for reply in billed(record))])
        tell(self.store.id, record)

    async def _record(self, turn: Turn, lane: Lane) -> Record:
        """One question, asked."""
        question, repeat = turn
        hits = self.hits.get(question.id, ())
        timeout = self.experiment.question_timeout
        with within(run=self.store.id, question=question.id, repeat=repeat):
            record = await self.prepared.answer(question, hits, repeat=repeat, timeout=timeout, lane=lane)
        timings = {"retrieve": self.retrieve_seconds} if self.hits else {}
        finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        return record.model_copy(update={"timings": timings | record.timings, "finished": finished})

    def close(self, outcome: Outcome) -> None:
        """The totals, once all is written; those of a resumed run add up."""
        manifest, entries = self.store.manifest(), self.store.entries()
        seconds = self.seconds + (manifest.get("totals") or {}).get("seconds", 0.0)
        totals = {
            "answers": len(entries),
            "errors": sum(entry.failed for entry in entries.values()),
            "seconds": round(seconds, 3),
            **sums(self.store.read(entries.values(), light=True) if entries else ()),
        }
        if outcome.stopped:
            totals["stopped"] = "budget" if outcome.over_budget else "signal"
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        self.store.write_manifest({**manifest, "finished": finished, "totals": totals})
        happened("run-finished", run=self.store.id, name=self.experiment.name, **totals)

    def outcome(self, stopped: bool, budget: Budget) -> Outcome:
        """What became of it."""
        left = self.done < len(self.missing)
        done, over = self.asked - len(self.missing) + self.done, left and not stopped and budget.exhausted
        return Outcome(self.store, self.asked, done, self.errors, left and (stopped or over), over)


class _Round:
    """All runs of one command on one event loop: a lane a provider, side by side."""

    def __init__(
        self,
        askings: Sequence[_Asking],
        on_record: OnRecord,
        on_tally: OnTally,
        on_stop: Callable[[], None],
        stop: threading.Event,
    ) -> None:
        self._askings = askings
        self._on_record = on_record
        self._on_tally = on_tally
        self._on_stop = on_stop
        self._stop = stop
        self._total = sum(len(asking.missing) for asking in askings)

    async def all(self) -> bool:
        """Ask them; returns whether it was stopped."""
        signalled = threading.Event()
        lanes: dict[str, list[_Asking]] = {}
        for asking in self._askings:
            lanes.setdefault(asking.experiment.provider, []).append(asking)
        tasks = [asyncio.create_task(self._follow(lane)) for lane in lanes.values()]

        def on_signal() -> None:
            if signalled.is_set():
                for task in tasks:
                    task.cancel()
                return
            signalled.set()
            self._stop.set()
            self._on_stop()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, on_signal)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        return self._stop.is_set()

    async def _follow(self, askings: Sequence[_Asking]) -> None:
        """The runs on one provider, one after another."""
        lanes: dict[str, Lane] = {}
        for asking in askings:
            patience = asking.experiment.execution
            lane = lanes.setdefault(patience.model_dump_json(), Lane(patience))
            if not self._stop.is_set():
                await asking.all(lane, self._stop, partial(self._told, askings))

    def _told(self, lane: Sequence[_Asking], record: Record) -> None:
        """Tell of a record, with the sums of all runs, and those on its provider."""
        self._on_record(record, sum(asking.done for asking in self._askings), self._total)
        self._on_tally(
            Tally(
                provider=lane[0].experiment.provider,
                done=sum(asking.done for asking in lane),
                total=sum(len(asking.missing) for asking in lane),
                failed=sum(asking.errors for asking in lane),
                cached=sum(asking.cached for asking in lane),
                cost=total([asking.cost for asking in lane]),
            )
        )
