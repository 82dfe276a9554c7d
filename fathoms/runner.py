"""Running experiments: every question asked, every answer on disk before it counts."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fathoms.cache import Cache
from fathoms.committing import GroupCommit
from fathoms.corpora import Corpus
from fathoms.experiment import AnyExperiment, Prepared
from fathoms.manifest import describe
from fathoms.parsed import keep_documents
from fathoms.patience import Lane
from fathoms.pipeline import Progress, silent
from fathoms.resuming import Reopened, require_same
from fathoms.store import Run
from fathoms.types import Hit, Question, Record

OnRecord = Callable[[Record, int, int], None]
"""Hears (record, done, total); of several runs, the sums."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run: how many questions were asked for, how many have an answer or a failure by now
    (in a resumed run also those from before), how many failed, and whether it was stopped before the end."""

    run: Run
    asked: int
    done: int
    errors: int
    stopped: bool


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


def run(
    jobs: Sequence[Job],
    *,
    out: Path,
    cache: Cache,
    selection: Selection = Selection(),
    workers: int = 2,
    reuse_replies: bool = False,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
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
    """
    for job in jobs:
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
        manifest = describe(job.experiment, job.corpus, prepared, asked, job.folder)
        store = Run.create(out, job.experiment.name, state, manifest)
        keep_documents(store, prepared.documents)
        askings.append(_Asking(job.experiment, prepared, store, asked, asked, hits, share))
    return _ask(askings, on_record, on_stop, stop)


def resume(
    reopened: Reopened,
    *,
    cache: Cache,
    workers: int = 2,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
    on_stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Ask again what a run has no answer to, in the same run.

    Raises UsageError where anything that its answers depend on has changed, or where another process writes
    to it.
    """
    store, experiment, missing = reopened.run, reopened.experiment, reopened.missing
    experiment.check()
    prepared: Prepared = experiment.prepare(
        reopened.corpus.documents, cache, workers=workers, progress=progress
    )
    require_same(store, prepared)
    hits, share = _retrieved(prepared, missing)
    asking = _Asking(experiment, prepared, store, reopened.asked, missing, hits, share)
    (outcome,) = _ask([asking], on_record, on_stop)
    return outcome


def _retrieved(prepared: Prepared, questions: Sequence[Question]) -> tuple[dict[str, tuple[Hit, ...]], float]:
    """The hits of all, and the seconds a question."""
    started = time.perf_counter()
    hits = prepared.retrieve(questions) if questions else {}
    return hits, (time.perf_counter() - started) / max(1, len(questions))


def in_order(questions: Sequence[Question]) -> list[Question]:
    """Questions on the same files in a row, so that a server's prompt cache can help."""
    first: dict[tuple[str, ...], int] = {}
    for index, question in enumerate(questions):
        first.setdefault(question.files, index)
    return sorted(questions, key=lambda question: first[question.files])


def _ask(
    askings: Sequence[_Asking],
    on_record: OnRecord,
    on_stop: Callable[[], None],
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Ask all, each run locked against other processes for as long as it takes."""
    with ExitStack() as locks:
        for asking in askings:
            locks.enter_context(asking.store.locked())
        stopped = asyncio.run(_Round(askings, on_record, on_stop, stop or threading.Event()).all())
        for asking in askings:
            asking.close()
    return [asking.outcome(stopped) for asking in askings]


class _Asking:
    """The questions of one run on their way through the model."""

    def __init__(
        self,
        experiment: AnyExperiment,
        prepared: Prepared,
        store: Run,
        asked: Sequence[Question],
        missing: Sequence[Question],
        hits: Mapping[str, tuple[Hit, ...]],
        retrieve_seconds: float,
    ) -> None:
        self.experiment = experiment
        self.prepared = prepared
        self.store = store
        self.asked = asked
        self.missing = in_order(missing)
        self.hits = hits
        self.retrieve_seconds = retrieve_seconds
        self.done = self.errors = 0
        self.seconds = 0.0

    async def all(self, lane: Lane, stop: threading.Event, on_record: Callable[[Record], None]) -> None:
        """Ask what is missing, as many at a time as the provider takes, in order."""
        started = time.perf_counter()
        waiting, commit = iter(self.missing), GroupCommit(self.store)

        async def worker() -> None:
            for question in waiting:
                if stop.is_set():
                    return
                record = await self._record(question, lane)
                await commit.add(record)
                self.done += 1
                self.errors += record.error is not None
                on_record(record)

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

    async def _record(self, question: Question, lane: Lane) -> Record:
        """One question, asked."""
        hits = self.hits.get(question.id, ())
        timeout = self.experiment.question_timeout
        record = await self.prepared.answer(question, hits, timeout=timeout, lane=lane)
        timings = {"retrieve": self.retrieve_seconds} if self.hits else {}
        finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        return record.model_copy(update={"timings": timings | record.timings, "finished": finished})

    def close(self) -> None:
        """The totals, once all is written; those of a resumed run add up."""
        manifest, entries = self.store.manifest(), self.store.entries()
        seconds = self.seconds + (manifest.get("totals") or {}).get("seconds", 0.0)
        totals = {
            "answers": len(entries),
            "errors": sum(entry.failed for entry in entries.values()),
            "seconds": round(seconds, 3),
        }
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        self.store.write_manifest({**manifest, "finished": finished, "totals": totals})

    def outcome(self, stopped: bool) -> Outcome:
        """What became of it."""
        stopped = stopped and self.done < len(self.missing)
        before = len(self.asked) - len(self.missing)
        return Outcome(self.store, len(self.asked), before + self.done, self.errors, stopped)


class _Round:
    """All runs of one command on one event loop: a lane a provider, side by side."""

    def __init__(
        self,
        askings: Sequence[_Asking],
        on_record: OnRecord,
        on_stop: Callable[[], None],
        stop: threading.Event,
    ) -> None:
        self._askings = askings
        self._on_record = on_record
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
                await asking.all(lane, self._stop, self._told)

    def _told(self, record: Record) -> None:
        """Tell of a record, with the sums of all runs."""
        self._on_record(record, sum(asking.done for asking in self._askings), self._total)
