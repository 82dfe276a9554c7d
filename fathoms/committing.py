"""Records on their way to the disk: one write and one fsync for all that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from fathoms.store import Run
from fathoms.types import Record


class GroupCommit:
    """Writes records of one run. While a batch is on its way, the next one gathers.

    `before` are the records that are on the disk already, where a question has others: all its repeats stand
    in one file.
    """

    def __init__(self, run: Run, before: Iterable[Record] | None = None) -> None:
        self._run = run
        self._kept: dict[str, dict[int, Record]] | None = None if before is None else {}
        for record in before or ():
            self._repeats(record)
        self._waiting: list[tuple[Record, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def add(self, record: Record) -> None:
        """Returns when the record is on the disk and can be read; raises StoreError."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await asyncio.shield(done)

    async def _write(self) -> None:
        """Batch after batch, until nothing waits."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._commit, [record for record, _ in batch])
            except Exception as error:
                for _, done in batch:
                    done.set_exception(error)
            else:
                for _, done in batch:
                    done.set_result(None)

    def _commit(self, records: list[Record]) -> None:
        """The journal first: it is the truth, and what people read is made from it again."""
        self._run.append(records)
        for record in records:
            self._run.write_view(self._repeats(record))

    def _repeats(self, record: Record) -> list[Record]:
        """All records of its question, in order."""
        if self._kept is None:
            return [record]
        repeats = self._kept.setdefault(record.question.id, {})
        repeats[record.repeat] = record
        return [repeats[number] for number in sorted(repeats)]
