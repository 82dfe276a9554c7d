"""Group commit: one write and one fsync for all records that are waiting."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from fathoms.runs.store import Run
from fathoms.types import Record


class GroupCommit:
    """Writes the records of one run. While one batch is being written, the next one is collected. The
    question files for people are written in the background, because nobody waits for them. Where questions
    are asked `several` times, they are written at the end, because all repeats of a question are in one
    file."""

    def __init__(self, run: Run, *, several: bool = False) -> None:
        self._run = run
        self._several = several
        self._waiting: list[tuple[Record, asyncio.Future[Record]]] = []
        self._unseen: list[Record] = []
        self._thread = ThreadPoolExecutor(1)  # of its own, so that the journal never waits for other work
        self._writer: asyncio.Task[None] | None = None
        self._viewer: asyncio.Task[None] | None = None

    async def add(self, record: Record) -> Record:
        """Store a record; returns it as stored once it is on disk. Raises StoreError, also where the question
        files can no longer be written."""
        done: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        kept = await asyncio.shield(done)  # a cancelled question is still written
        if self._viewer is not None and self._viewer.done():
            self._viewer.result()
        return kept

    async def finish(self) -> None:
        """Wait until everything added is readable; raises StoreError."""
        try:
            if self._writer is not None:
                await self._writer
            if self._several:
                await asyncio.to_thread(self._write_all_views)
            elif self._viewer is not None:
                await self._viewer
        finally:
            self._thread.shutdown(wait=False)

    async def _write(self) -> None:
        """Write batch after batch until nothing is waiting."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            records = [record for record, _ in batch]
            try:
                kept = await loop.run_in_executor(self._thread, self._run.append, records)
            except Exception as error:
                for _, done in batch:
                    done.set_exception(error)
            else:
                for record, (_, done) in zip(kept, batch, strict=True):
                    done.set_result(record)
                if self._several:
                    continue
                self._unseen += kept
                if self._viewer is None or (self._viewer.done() and not self._viewer.exception()):
                    self._viewer = asyncio.create_task(self._write_views())

    async def _write_views(self) -> None:
        """Write the question files of all records collected so far, until there are none."""

        def write(records: list[Record]) -> None:
            for record in records:
                self._run.write_view([record])

        while self._unseen:
            records, self._unseen = self._unseen, []
            await asyncio.to_thread(write, records)

    def _write_all_views(self) -> None:
        """Write the files of all questions, reading the records of one question at a time."""
        for entries in self._run.by_question():
            self._run.write_view(list(self._run.read(entries)))
