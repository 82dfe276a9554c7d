"""Records on their way to the disk: written at once, and synced in groups."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fathoms.errors import StoreError
from fathoms.runner.active_run import Recorder
from fathoms.runs.journal import OpenJournal
from fathoms.runs.records import Appender, Records
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.types import Question, Record, Reply


def record(name: str, repeat: int = 0) -> Record:
    question = Question(id=name, text="why?", category="Text")
    return Record(question=question, repeat=repeat, answer=Reply(text=f"{name} {repeat}"))


def run_in(path: Path) -> Run:
    return new_run(path, "demo", "abcdef1234567890", {"model": "m"})


class Syncs(Appender):
    """Counts how often a journal was synced to the disk."""

    count = 0

    def sync(self) -> None:
        self.count += 1
        super().sync()


class CountingRecords(Records):
    """The records of a run, which count how often their journal was synced."""

    @contextmanager
    def appending(self) -> Iterator[Appender]:
        with closing(OpenJournal(self._root / "journal.jsonl")) as journal:
            self.syncs = Syncs(self._lines, journal)
            yield self.syncs


_KILLED = """
import os, signal, sys
from pathlib import Path
from fathoms.runner.active_run import Recorder
from fathoms.runs.run import Run
from tests.runner.test_commit import record

recorder = Recorder(Run(Path(sys.argv[1])))
for number in range(40):
    recorder.add(record(f"q{number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_what_was_added_survives_a_kill(tmp_path: Path) -> None:
    """The process ends before it has synced anything."""
    run = run_in(tmp_path)
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(run.path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [one.question.id for one in run.records.all()] == [f"q{number}" for number in range(40)]


def test_records_are_synced_in_groups(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    run.records = counting = CountingRecords(run.path, run.texts.own)

    async def add() -> None:
        recorder = Recorder(run)
        for number in range(100):
            recorder.add(record(f"q{number}"))
            await asyncio.sleep(0.005)
        await recorder.finish()

    started = time.monotonic()
    asyncio.run(add())
    # at most ten a second, once at the beginning and once at the end
    assert 2 <= counting.syncs.count <= 2 + 10 * (time.monotonic() - started)
    assert len(run.records.all()) == 100


def test_a_journal_that_was_moved_away_ends_the_run(tmp_path: Path) -> None:
    """Answers that are written to a file without a name would be lost."""
    run = run_in(tmp_path)

    async def add() -> None:
        recorder = Recorder(run)
        try:
            for number in range(100):
                recorder.add(record(f"q{number}"))
                if number == 3:
                    (run.path / "journal.jsonl").rename(tmp_path / "moved.jsonl")
                await asyncio.sleep(0.1)
        finally:
            await recorder.finish()

    with pytest.raises(StoreError, match=r"journal\.jsonl (was replaced|cannot be written)"):
        asyncio.run(add())
