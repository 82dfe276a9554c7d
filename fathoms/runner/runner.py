"""Running experiments: every question asked, every answer on disk before it counts."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.corpora import Corpus
from fathoms.errors import UsageError
from fathoms.models.calling.lane import Lane
from fathoms.models.calling.stop import Stop, StopSignals, ending_in_time
from fathoms.pipeline.experiment import AnyExperiment, Prepared
from fathoms.pipeline.pipeline import Progress, silent
from fathoms.runner.asking import Asking, Ended, Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.manifest import describe
from fathoms.runner.reservations import Purse, require_price
from fathoms.runner.resume import Reopened, Turn, require_same, unanswered
from fathoms.runs.cache import Cache
from fathoms.runs.documents import keep_documents
from fathoms.runs.store import Run
from fathoms.runs.usage import total
from fathoms.safety.limits import MOST_AT_ONCE, MOST_REPEATS
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
    stop: Stop | None = None,
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
    _require_sensible(repeats=(repeats, MOST_REPEATS), workers=(workers, MOST_AT_ONCE))
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
    with ExitStack() as locks:
        askings = []
        for job, asked, prepared, (hits, share) in ready:
            *_, state = prepared.fingerprints.values()
            manifest = describe(job.experiment, job.corpus, prepared, asked, job.folder, repeats)
            if sweep is not None:
                manifest["sweep"] = {"id": sweep, "cell": dict(job.cell)}
            store = Run.create(out, job.experiment.name, state, manifest)
            locks.enter_context(store.locked())
            keep_documents(store, prepared.documents)
            turns = [Turn(question, repeat) for question in asked for repeat in range(repeats)]
            purse = Purse(budget, prepared, hits)
            askings.append(Asking(job.experiment, prepared, store, len(turns), turns, hits, share, purse))
        return _ask(askings, budget, on_record, on_tally, on_stop, stop)


def _require_sensible(**numbers: tuple[int, int]) -> None:
    """Raise UsageError for a number that is not from 1 to its maximum; each stands as (number, maximum)."""
    for name, (number, most) in numbers.items():
        if not 1 <= number <= most:
            raise UsageError(f"{name} is {number}: want a number from 1 to {most}")


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
    store, experiment, budget = reopened.run, reopened.experiment, budget or Budget()
    require_price(experiment, budget)
    experiment.check()
    with store.locked():
        missing = unanswered(store, reopened.asked, reopened.repeats)  # another may have gone on meanwhile
        prepared: Prepared = experiment.prepare(
            reopened.corpus.documents, cache, workers=workers, progress=progress
        )
        require_same(store, prepared)
        questions = list({turn.question.id: turn.question for turn in missing}.values())
        hits, share = _retrieved(prepared, questions)
        asked, purse = len(reopened.asked) * reopened.repeats, Purse(budget, prepared, hits)
        asking = Asking(experiment, prepared, store, asked, missing, hits, share, purse)
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


def _ask(
    askings: Sequence[Asking],
    budget: Budget,
    on_record: OnRecord,
    on_tally: OnTally,
    on_stop: Callable[[], None],
    stop: Stop | None = None,
) -> list[Outcome]:
    """Ask all, and close every run, whatever ends the asking; the caller holds their locks."""
    asked = _Round(askings, on_record, on_tally, on_stop, stop or Stop())
    outcomes: list[Outcome] = []

    def close(asking: Asking) -> None:
        outcomes.append(asking.close(asked.ended, budget))

    with ending_in_time(), ExitStack() as ends:  # a run that cannot be closed keeps no other from it
        for asking in reversed(askings):
            ends.callback(close, asking)
        asyncio.run(asked.all())
    return outcomes


class _Round:
    """All runs of one command on one event loop: a lane a provider, side by side."""

    def __init__(
        self,
        askings: Sequence[Asking],
        on_record: OnRecord,
        on_tally: OnTally,
        on_stop: Callable[[], None],
        stop: Stop,
    ) -> None:
        self._askings = askings
        self._on_record = on_record
        self._on_tally = on_tally
        self._on_stop = on_stop
        self._stop = stop
        self._total = sum(len(asking.missing) for asking in askings)
        self.ended: Ended | None = "error"
        """What ended it, until it has come to its own end."""

    async def all(self) -> None:
        """Ask them."""
        lanes: dict[str, list[Asking]] = {}
        for asking in self._askings:
            lanes.setdefault(asking.experiment.provider, []).append(asking)
        tasks = [asyncio.create_task(self._follow(lane)) for lane in lanes.values()]
        with self._signals(tasks):
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        self.ended = "signal" if self._stop.is_set() else None

    @contextmanager
    def _signals(self, tasks: Sequence[asyncio.Task[None]]) -> Iterator[None]:
        """The first signal asks to stop, the next stops; where the main thread is another, there are none."""
        signals = StopSignals(self._stopping, lambda: [task.cancel() for task in tasks])
        with signals.on(asyncio.get_running_loop()):
            yield

    def _stopping(self) -> None:
        """The first signal came."""
        self._stop.set()
        self._on_stop()

    async def _follow(self, askings: Sequence[Asking]) -> None:
        """The runs on one provider, one after another."""
        lane = Lane(stop=self._stop)
        for asking in askings:
            if not self._stop.is_set():
                lane.follow(asking.experiment.execution)
                await asking.all(lane, self._stop, partial(self._told, askings))

    def _told(self, lane: Sequence[Asking], record: Record) -> None:
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
