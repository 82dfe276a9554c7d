"""One run in progress: it asks the questions concurrently, stores the records and adds up the totals."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from fathoms.errors import StoreError
from fathoms.models.caller import Caller
from fathoms.models.calling.stop import Stop, Stopped
from fathoms.pipeline.answering import Ingested, PackedQuestion
from fathoms.pipeline.ingest_times import joined_times
from fathoms.pipeline.page_index import QUESTIONS
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.runner.budget import Budget
from fathoms.runner.reopen import Turn
from fathoms.runner.reservations import Reservations, times_of
from fathoms.runs.events import happened, tell, within
from fathoms.runs.journal import JOURNAL
from fathoms.runs.run import Run
from fathoms.runs.usage import Sums, billed, sums, total
from fathoms.runs.writing import write_manifest
from fathoms.safety.masking import without_known
from fathoms.types import Hit, Record
from fathoms.types.run.manifest import Data, IngestTime, Totals

Ended = Literal["signal", "error"]
"""What ended a command early."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run. `requested` counts the questions of the run, `done` those that have an answer or a
    failure by now (in a resumed run also those from before), `errors` those that failed now. `stopped` says
    that the run ended early, by its budget or by a signal or error. A question counts once per repeat."""

    run: Run
    requested: int
    done: int
    errors: int
    stopped: bool
    over_budget: bool = False


def _without_secrets(record: Record) -> Record:
    """Mask secrets in everything that a server or pipeline sent, before the record is used. The question and
    the prompt stay unchanged."""
    sent: dict[str, Any] = {}
    for name in ("answer", "error"):
        if (noun := getattr(record, name)) is not None:
            sent[name] = without_known(noun)
    if any(call.error for call in record.calls):
        sent["calls"] = tuple(map(without_known, record.calls))
    if record.citations:
        sent["citations"] = tuple(map(without_known, record.citations))
    if record.prompt is None and record.hits:  # reported by an external pipeline
        sent["hits"] = tuple(map(without_known, record.hits))
    if record.rounds:
        sent["rounds"] = tuple(map(without_known, record.rounds))
    return record.model_copy(update=sent)


def in_order(turns: Sequence[Turn]) -> list[Turn]:
    """Order turns by repeat, and within a repeat keep questions on the same files together, so that a
    server's prompt cache can help."""
    first: dict[tuple[str, ...], int] = {}
    for index, turn in enumerate(turns):
        first.setdefault(turn.question.files, index)
    return sorted(turns, key=lambda turn: (turn.repeat, first[turn.question.files]))


class ActiveRun:
    """A run in progress: asks its questions, stores the records and keeps the totals."""

    def __init__(
        self,
        experiment: Runnable,
        prepared: Prepared,
        store: Run,
        requested: int,
        missing: Sequence[Turn],
        hits: Mapping[str, tuple[Hit, ...]],
        retrieve_seconds: float,
        budget: Budget,
        repeats: int,
    ) -> None:
        self.experiment = experiment
        self.prepared = prepared
        self.store = store
        self.requested = requested
        self.missing = in_order(missing)
        self.hits = hits
        self.retrieve_seconds = retrieve_seconds
        self.budget = budget
        self.repeats = repeats
        self.reservations = Reservations(budget, prepared, hits)
        self.done = self.errors = self.cached = 0
        self.cost: float | None = 0.0
        self._sums = Sums()
        self._is_new = not os.path.lexists(store.path / JOURNAL)
        self.versions: Counter[str] = Counter()
        self.seconds = 0.0
        self._documents: dict[str, int] = {}
        if getattr(getattr(experiment, "retrieve", None), "kind", "") == "each-document":
            self._documents = {name: len({hit.chunk.document for hit in row}) for name, row in hits.items()}
        self._answered: Counter[tuple[str, int]] = Counter()

    @property
    def documents(self) -> tuple[int, int] | None:
        """How many documents were asked so far, and how many there are in all questions of this session;
        `None` where none is asked by itself."""
        if not self._documents:
            return None
        return self._answered.total(), sum(self._documents.get(turn.question.id, 0) for turn in self.missing)

    def on_part(self, question: str, repeat: int) -> None:
        """Count a document that was asked by itself."""
        self._answered[question, repeat] += 1

    async def ask_all(self, caller: Caller, stop: Stop, on_record: Callable[[Record], None]) -> None:
        """Ask all missing questions in order, at most `max_concurrency` of the experiment at once.

        However it ends, all answers received by then are stored and readable.
        """
        started = time.perf_counter()
        happened(
            "run-started",
            run=self.store.id,
            name=self.experiment.name,
            model=self.experiment.answerer,
            provider=self.experiment.provider,
            questions=len(self.missing),
            answered_before=self.requested - len(self.missing),
        )
        waiting, recorder = iter(self.missing), Recorder(self.store)

        async def worker() -> None:
            with suppress(Stopped):
                for turn in waiting:
                    if stop.is_set():
                        return
                    reservation = await self.reservations.take(turn.question, stop)
                    if reservation is None:
                        return
                    record = None
                    try:
                        if stop.is_set():
                            return
                        record = await self._record(turn, reservation.packed, caller)
                        # written before anything else is awaited, so that `kill -9` cannot lose it
                        record = recorder.add(record)
                        self.done += 1
                        if self._documents:  # a question that failed has asked fewer
                            self._answered[turn.question.id, turn.repeat] = self._documents.get(
                                turn.question.id, 0
                            )
                        self.errors += record.error is not None
                        self.cached += record.answer is not None and record.answer.cached
                        if record.service and record.service.version is not None:
                            self.versions[record.service.version] += 1
                        self._sums.add(record)
                        self.cost = total([self.cost, *(reply.cost for reply in billed(record))])
                        tell(self.store.id, record)
                        on_record(record)
                    finally:
                        self.reservations.settle(reservation, record)

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(max(1, self.experiment.max_concurrency)):
                    workers.create_task(worker())
        except BaseExceptionGroup as group:
            stop.set()
            raise group.exceptions[0] from None
        finally:
            await recorder.finish()
            self.seconds = time.perf_counter() - started

    async def _record(
        self,
        turn: Turn,
        packed: PackedQuestion | None,
        caller: Caller,
    ) -> Record:
        """Ask one question and return its record."""
        question, repeat = turn
        hits = self.hits.get(question.id, ())
        if isinstance(self.prepared, Ingested):
            packed = packed or PackedQuestion(self.prepared, question, hits)
        timeout = self.experiment.question_timeout
        with within(run=self.store.id, question=question.id, repeat=repeat):
            record = await self.prepared.answer(
                question, hits, repeat=repeat, timeout=timeout, caller=caller, packed=packed
            )
        timings = {"retrieve": self.retrieve_seconds} if self.hits else {}
        finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        return _without_secrets(record).model_copy(
            update={"timings": timings | record.timings, "finished": finished}
        )

    def _totals(self, seconds: float, ended: Ended | None, stopped: str | None) -> Totals:
        """The counts and sums over all answers of the run."""
        if self._is_new and ended != "error":
            counts, spent = (self.done, self.errors), self._sums.totals()
        else:  # the journal has answers of earlier sessions, or one that was not counted
            entries = self.store.records.entries()
            counts = len(entries), sum(entry.failed for entry in entries.values())
            spent = sums(self.store.records.read(entries.values(), light=True) if entries else ())
        facts = {"answers": counts[0], "errors": counts[1], "seconds": round(seconds, 3), **spent}
        return Totals.model_validate({**facts, "stopped": stopped})

    def _with_embedding(self, data: Data) -> Data:
        """Add what a server took for embedding questions, which a search does while they are asked; what
        earlier sessions of a resumed run took is in the manifest."""
        now = times_of(self.prepared).take(QUESTIONS)
        if now is None or (ingest := data.ingest) is None:
            return data
        before = IngestTime() if self._is_new else ingest.times.get(QUESTIONS, IngestTime())
        joined = IngestTime.model_validate(joined_times(before.plain(), now))
        times = {**ingest.times, QUESTIONS: joined}
        return data.model_copy(update={"ingest": ingest.model_copy(update={"times": times})})

    def close(self, ended: Ended | None) -> Outcome:
        """Write the totals to the manifest, adding those of earlier sessions of a resumed run."""
        left = self.done < len(self.missing)
        over = left and ended is None and self.budget.exhausted
        manifest = self.store.manifest
        served, seconds = manifest.served, self.seconds + (manifest.totals.seconds or 0.0)
        if self.versions:  # those of earlier sessions are in the manifest
            versions = Counter(served.get("pipeline", {}).get("versions") or {}) + self.versions
            served = {**served, "pipeline": {"versions": versions}}
        totals = self._totals(seconds, ended, (ended or "budget") if left and (ended or over) else None)
        changes = {
            "data": self._with_embedding(manifest.data),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "totals": totals,
            **({"served": served} if self.versions else {}),
        }
        write_manifest(self.store, manifest.model_copy(update=changes))
        facts = {key: value for key, value in totals.plain().items() if key != "usage_by_purpose"}
        happened("run-finished", run=self.store.id, name=self.experiment.name, **facts)
        done = self.requested - len(self.missing) + self.done
        return Outcome(self.store, self.requested, done, self.errors, totals.stopped is not None, over)


_SECONDS = 0.1
"""The pause between two groups that are synced."""


class Recorder:
    """Writes the records of one run; raises StoreError where it cannot.

    `add` hands a record to the operating system, so that `kill -9` does not lose it. Putting records on the
    disk for the case of a power cut is left to a thread: nobody waits for it.
    """

    def __init__(self, run: Run) -> None:
        self._open = ExitStack()
        self._journal = self._open.enter_context(run.records.appending())
        self._unsynced = False
        self._failure: StoreError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="fathoms-recorder")
        self._thread.start()

    def add(self, record: Record) -> Record:
        """Write a record to the journal; returns it as stored. Raises StoreError, also where something that
        was written before could not be synced."""
        stored = self._journal.add(record)
        self._unsynced = True
        if self._failure is not None:
            raise self._failure
        return stored

    async def finish(self) -> None:
        """Wait until everything added is on the disk; raises StoreError."""
        self._ended.set()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        """Sync what the thread has left."""
        self._thread.join()
        with self._open:
            self._sync()
        if self._failure is not None:
            raise self._failure

    def _follow(self) -> None:
        """Sync what was added, group by group."""
        try:
            while not self._ended.wait(_SECONDS):
                self._sync()
        except StoreError as error:
            self._failure = error

    def _sync(self) -> None:
        """Sync everything added so far, if anything was added since the last time."""
        if self._unsynced:
            self._unsynced = False  # before the sync, because more may be added meanwhile
            self._journal.sync()
