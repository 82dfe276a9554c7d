"""The verdict journal of a run: every verdict and every list of claims, on disk as soon as it has come.

A line of `verdicts/judge.jsonl` holds a key and a result. The key identifies the judge with all its settings
and what it was asked, so a changed prompt, model or claim has another key and is asked anew. Premises are
long and shared by many claims, so a line holds only their hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from fathoms.config import fingerprint
from fathoms.errors import StoreError
from fathoms.runs.journal import Journal, journal_line
from fathoms.types import Claim, Judgement, Verdict

NAME = "judge.jsonl"
_EMPTY: dict[str, Any] = {}


class VerdictJournal:
    """The verdicts of one run, read once and appended to by one process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._journal = Journal(self._path)
        self._known: dict[str, dict[str, Any]] | None = None
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def verdict(self, key: str, asked: Judgement) -> Verdict | None:
        """Return a stored verdict, `None` if there is none."""
        found = self._read().get(key)
        if found is None:
            return None
        return Verdict.model_validate(
            {"claim": asked.claim, "premise": asked.premise, "context": asked.context or None, **found}
        )

    def claims(self, key: str) -> tuple[Claim, ...] | None:
        """Return the stored claims of a text, `None` if there are none."""
        found = self._read().get(key)
        return None if found is None else tuple(Claim.model_validate(row) for row in found["claims"])

    def __len__(self) -> int:
        return len(self._read())

    async def add(self, key: str, result: Verdict | Sequence[Claim], **more: Any) -> None:
        """Store a result; it is on disk when this returns. Raises StoreError."""
        if isinstance(result, Verdict):
            data = result.model_dump(mode="json", exclude_none=True, exclude={"claim", "premise", "context"})
            shown = {"claim": result.claim, "premise": fingerprint(result.premise)}
        else:
            data, shown = {"claims": [claim.model_dump(mode="json") for claim in result]}, {}
        line = journal_line({"key": key, **shown, "result": {**data, **more}})
        self._read()[key] = data
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((line, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await asyncio.shield(done)  # a cancelled task's verdict is paid for, and written

    async def finish(self) -> None:
        """Wait until everything is on disk."""
        if self._writer is not None:
            await self._writer
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def _write(self) -> None:
        """Write batch after batch, with one fsync each, until nothing is waiting."""
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
            self._path.parent.mkdir(parents=True, exist_ok=True)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await loop.run_in_executor(self._thread, self._journal.append, [line for line, _ in batch])
            except Exception as error:
                for _, done in batch:
                    done.set_exception(error)
            else:
                for _, done in batch:
                    done.set_result(None)

    def _read(self) -> dict[str, dict[str, Any]]:
        """The stored results by key. A line that a killed writer left unfinished is ignored; other damaged
        lines are ignored too, because their verdicts can be asked for again."""
        if self._known is None:
            self._known = {}
            for line in self._journal:
                try:
                    row = from_json(line.text) if line.flaw is None else _EMPTY
                except ValueError:
                    continue
                if isinstance(row, dict) and isinstance(row.get("result"), dict) and "key" in row:
                    self._known[row["key"]] = row["result"]
        return self._known


def open_journal(run: Path) -> VerdictJournal:
    """Open the verdict journal of a run directory; raises StoreError if the folder is a link."""
    folder = run / "verdicts"
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link: the verdicts of a run are stored in its own folder")
    return VerdictJournal(folder)
