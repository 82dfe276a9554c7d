"""Writing the records of a run: each at once, then synced to the disk in groups."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack

from fathoms.errors import StoreError
from fathoms.runs.store import Run
from fathoms.types import Record

_SECONDS = 0.1
"""The pause between two groups that are synced."""


class Recorder:
    """Writes the records of one run; raises StoreError where it cannot.

    `add` hands a record to the operating system, so that `kill -9` does not lose it. Putting records on the
    disk for the case of a power cut is left to a thread: nobody waits for it.
    """

    def __init__(self, run: Run) -> None:
        self._open = ExitStack()
        self._journal = self._open.enter_context(run.appending())
        self._unsynced = False
        self._failure: StoreError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="fathoms-recorder")
        self._thread.start()

    def add(self, record: Record) -> Record:
        """Write a record to the journal; returns it as stored. Raises StoreError, also where something that
        was written before could not be synced."""
        kept = self._journal.add(record)
        self._unsynced = True
        if self._failure is not None:
            raise self._failure
        return kept

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
