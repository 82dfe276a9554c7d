"""Writing the records of a run: each at once, then synced to the disk in groups, then shown to people."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from fathoms.errors import StoreError
from fathoms.runs.store import Run
from fathoms.types import Prompt, Record

_SECONDS = 0.1
"""The pause between two groups that are synced."""
_MOST_UNSEEN = 1000
"""The most records that are kept in memory until there is time to write their question files."""


class Recorder:
    """Writes the records of one run; raises StoreError where it cannot.

    `add` hands a record to the operating system, so that `kill -9` does not lose it. Putting records on the
    disk for the case of a power cut, and the question files for people, are left to a thread: nobody waits
    for them. Question files are written while no answers come, at the latest in `finish`. Where questions are
    asked `several` times, all files are written in `finish`, because all repeats of a question are in one
    file.
    """

    def __init__(self, run: Run, *, several: bool = False) -> None:
        self._run = run
        self._open = ExitStack()
        self._journal = self._open.enter_context(run.appending())
        self._several = several
        self._unsynced = False
        self._unseen: list[Record] = []
        self._failure: StoreError | None = None
        self._texts = ThreadPoolExecutor(1, "fathoms-texts")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="fathoms-recorder")
        self._thread.start()

    def expect(self, prompt: Prompt) -> None:
        """Store the long texts of a prompt in a thread while its reply is waited for, because the disk would
        hold up the event loop afterwards. A text that cannot be stored is tried again by `add`."""
        self._texts.submit(self._run.store_texts, prompt)

    def add(self, record: Record) -> Record:
        """Write a record to the journal; returns it as stored. Raises StoreError, also where something that
        was written before could not be synced, or the question files can no longer be written."""
        kept = self._journal.add(record)
        self._unsynced = True
        if not self._several:
            self._unseen.append(kept)
        if self._failure is not None:
            raise self._failure
        return kept

    async def finish(self) -> None:
        """Wait until everything added is on the disk and readable; raises StoreError."""
        self._ended.set()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        """Sync and write what the thread has left."""
        self._texts.shutdown()
        self._thread.join()
        with self._open:
            self._sync()
        if self._failure is not None:
            raise self._failure
        if self._several:
            for entries in self._run.by_question():
                self._run.write_view(list(self._run.read(entries)))
        while self._unseen:
            self._run.write_view([self._unseen.pop()])

    def _follow(self) -> None:
        """Sync what was added, group by group; write question files in between."""
        try:
            while not self._ended.wait(_SECONDS):
                if self._unsynced:
                    self._sync()
                while self._unseen and self._has_time():
                    self._run.write_view([self._unseen.pop()])
        except StoreError as error:
            self._failure = error

    def _sync(self) -> None:
        """Sync everything added so far, if anything was added since the last time."""
        if self._unsynced:
            self._unsynced = False  # before the sync, because more may be added meanwhile
            self._journal.sync()

    def _has_time(self) -> bool:
        """Whether a question file should be written now: no answer has come since the last sync, or there are
        too many records to keep."""
        return not self._ended.is_set() and (not self._unsynced or len(self._unseen) > _MOST_UNSEEN)
