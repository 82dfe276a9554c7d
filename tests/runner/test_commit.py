"""Records on their way to the disk: many at once, and nothing of them is lost with what people read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fathoms.errors import StoreError
from fathoms.runner.commit import GroupCommit
from fathoms.runs.store import Run
from fathoms.types import Question, Record, Reply


def record(name: str, repeat: int = 0) -> Record:
    question = Question(id=name, text="why?", category="Text")
    return Record(question=question, repeat=repeat, answer=Reply(text=f"{name} {repeat}"))


def run_in(path: Path) -> Run:
    return Run.create(path, "demo", "abcdef1234567890", {"model": "m"})


def test_what_was_added_is_in_the_journal_and_then_in_files(tmp_path: Path) -> None:
    run = run_in(tmp_path)

    async def add() -> list[int]:
        commit = GroupCommit(run)
        await asyncio.gather(*(commit.add(record(f"q{number}")) for number in range(40)))
        known = len(run.records())
        await commit.finish()
        return [known, len(list((run.path / "questions").iterdir()))]

    assert asyncio.run(add()) == [40, 40]


def test_repeats_are_in_one_file(tmp_path: Path) -> None:
    run = run_in(tmp_path)

    async def add() -> None:
        commit = GroupCommit(run, several=True)
        for repeat in range(3):
            await commit.add(record("q", repeat))
        await commit.finish()

    asyncio.run(add())
    view = json.loads((run.path / "questions" / "q.json").read_text())
    assert [repeat["answer"]["text"] for repeat in view["repeats"]] == ["q 0", "q 1", "q 2"]


def test_a_file_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    (run.path / "questions").write_text("in the way")

    added: list[str] = []

    async def add() -> None:
        commit = GroupCommit(run)
        for number in range(1000):
            added.append(f"q{number}")
            await commit.add(record(added[-1]))

    with pytest.raises(StoreError, match="questions"):
        asyncio.run(add())
    assert 0 < len(added) < 1000
    assert [one.question.id for one in run.records()] == added  # the last one too, though the run ends here
