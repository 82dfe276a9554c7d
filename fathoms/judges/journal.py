"""The verdict journal of a run: every verdict and every list of claims, on disk as soon as it has come.

A line of `verdicts/judge.jsonl` holds a key and a result. The key identifies the judge with all its settings
and what it was asked, so a changed prompt, model or claim has another key and is asked again. Premises are
long and shared by many claims, so a line holds only their hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

from pydantic_core import from_json

from fathoms.errors import StoreError
from fathoms.runs.folder import is_intact
from fathoms.runs.journal import Journal, journal_line
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Claim, Judgement, Spent, Verdict

NAME = "judge.jsonl"
_KEY = b'{"key": "'
_RESULT = b', "result": '
"""Stands nowhere else in a line: within a text, a quotation mark is escaped."""
_TEXTS = frozenset({"claim", "premise", "context"})
"""What a verdict has from the judgement that was asked for."""
_NOT_ONE = (ValueError, TypeError, LookupError)
"""The errors of a stored result that is neither a verdict nor a list of claims."""
_SEAL = b', "crc": "%08x"}\n'
_SEAL_SIZE = len(_SEAL % 0)


class VerdictJournal:
    """The verdicts of one run, read once and appended to by one process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._journal = Journal(self._path)
        self._known: dict[bytes, dict[str, Any] | bytes] | None = None
        self._damaged = 0
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def verdict(self, key: str, judgement: Judgement) -> Verdict | None:
        """Return a stored verdict, `None` if there is none."""
        entry = self._read().get(key.encode())
        try:
            if isinstance(entry, bytes) and (like := _verdict_of(entry)) is not None:
                return like.on(judgement.claim, judgement.premise, judgement.context or None)
            if (found := self._find(key)) is None:
                return None
            texts = {"claim": judgement.claim, "premise": judgement.premise}
            return Verdict.model_validate({**texts, "context": judgement.context or None, **found})
        except _NOT_ONE:
            self._leave_out(key)
            return None

    def claims(self, key: str) -> tuple[Claim, ...] | None:
        """Return the stored claims of a text, `None` if there are none."""
        if (found := self._find(key)) is None:
            return None
        try:
            Spent.model_validate(_spent(found))
            return tuple(Claim.model_validate(row) for row in found["claims"])
        except _NOT_ONE:
            self._leave_out(key)
            return None

    def spent(self, key: str) -> Spent:
        """Return what a stored result took."""
        return Spent.model_validate(_spent(self._find(key) or {}))

    def _leave_out(self, key: str) -> None:
        """Count a line as damaged whose checksum fits but whose result is not one of this version."""
        del self._read()[key.encode()]
        self._damaged += 1

    @property
    def damaged(self) -> int:
        """How many lines cannot be used. The beginning of a line, whose writer was killed, does not count."""
        self._read()
        return self._damaged

    def __contains__(self, key: str) -> bool:
        return key.encode() in self._read()

    def __len__(self) -> int:
        return len(self._read())

    def put(self, key: str, result: Verdict | Sequence[Claim], **more: Any) -> asyncio.Future[None]:
        """Begin to store a result. It is on disk when the future is done, which fails with StoreError; a task
        that may be cancelled must shield it."""
        if isinstance(result, Verdict):
            data = result.model_dump(mode="json", exclude_none=True, exclude=set(_TEXTS))
            shown = {"claim": result.claim, "premise": text_hash(result.premise)}
        else:
            data, shown = {"claims": [claim.model_dump(mode="json") for claim in result]}, {}
        line = journal_line({"key": key, **shown, "result": {**data, **more}})
        self._read()[key.encode()] = {**data, **more}
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((line, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return done

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

    def _find(self, key: str) -> dict[str, Any] | None:
        """Return the stored result of a key, parsed; `None` if there is none."""
        found = self._read().get(key.encode())
        return _result_of(found) if isinstance(found, bytes) else found

    def _read(self) -> dict[bytes, dict[str, Any] | bytes]:
        """The stored results by key, both as they stand in the file. A line that a killed writer left
        unfinished is ignored; other damaged lines are counted, because their verdicts are asked for again."""
        if self._known is None:
            known: dict[bytes, dict[str, Any] | bytes] = {}
            self._known = known
            for text, _ in self._journal.unchecked():
                if text is None:
                    self._damaged += 1
                    continue
                body = text[:-_SEAL_SIZE]
                end = body.find(b'"', len(_KEY))
                start = body.find(_RESULT, end)
                # a line whose checksum fits is parsed when it is asked for: parsing a million takes 30 s
                if start >= 0 and body.startswith(_KEY) and text[-_SEAL_SIZE:] == _SEAL % crc32(body):
                    known[body[len(_KEY) : end]] = body[start + len(_RESULT) :]
                else:
                    self._add(text, known)
        return self._known

    def _add(self, text: bytes, known: dict[bytes, dict[str, Any] | bytes]) -> None:
        """Add a line that was not written as this journal writes lines, or count it as damaged."""
        if not is_intact(text):
            self._damaged += 1
        elif (result := _result(text)) is not None:
            known[str(from_json(text).get("key")).encode()] = result
        elif not _is_half(text):
            self._damaged += 1


def damage_sentence(lines: int) -> str:
    """Say that so many lines of a journal cannot be used."""
    return (
        f"{lines} line{'s' * (lines != 1)} of the journal of verdicts cannot be used; verdicts that were in"
        f" {'it' if lines == 1 else 'them'} are asked for again"
    )


def _spent(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a stored result that says what it took."""
    return {name: found.get(name) for name in Spent.model_fields}


def _is_half(text: bytes) -> bool:
    """Whether a line is empty, or only the beginning of one of this journal."""
    line = text.rstrip()
    return not line.endswith(b"}") and (line.startswith(_KEY) or _KEY.startswith(line))


@lru_cache(maxsize=256)
def text_hash(premise: str) -> str:
    """Return the hash of a premise; cached because many claims share one."""
    return fingerprint(premise)


@lru_cache(maxsize=1024)
def _result_of(text: bytes) -> dict[str, Any] | None:
    """Return the result of a line whose checksum fits; cached because labels alone are often the same."""
    try:
        found = from_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@lru_cache(maxsize=1024)
def _verdict_of(text: bytes) -> Verdict | None:
    """Return the verdict in a result, without its claim, premise and context, which lines leave out; `None`
    for another result."""
    found = _result_of(text)
    if found is None or not _TEXTS.isdisjoint(found):
        return None
    return Verdict.model_validate({"claim": "", "premise": "", "context": None, **found})


def _result(line: bytes) -> dict[str, Any] | None:
    """Return the result in a line, `None` if the line is not one of this journal."""
    try:
        row = from_json(line)
    except ValueError:
        return None
    result = row.get("result") if isinstance(row, dict) else None
    return result if isinstance(result, dict) else None


class RecordingJournal(VerdictJournal):
    """A journal that records what is looked up in it: `verdicts`, and in `lists` what splitting texts into
    claims took, by their keys."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.forget()

    def forget(self) -> None:
        """Forget what was recorded so far."""
        self.verdicts: dict[str, Verdict] = {}
        self.lists: dict[str, Spent] = {}

    def verdict(self, key: str, judgement: Judgement) -> Verdict | None:
        """Return a stored verdict, and record it; `None` if there is none."""
        found = super().verdict(key, judgement)
        if found is not None:
            self.verdicts[key] = found
        return found

    def spent(self, key: str) -> Spent:
        """Return what a stored result took, and record it."""
        found = self.lists[key] = super().spent(key)
        return found


def open_journal(run: Path) -> VerdictJournal:
    """Open the verdict journal of a run directory; raises StoreError if the folder is a link."""
    return VerdictJournal(_folder(run))


def open_recording(run: Path) -> RecordingJournal:
    """Open the verdict journal of a run directory as one that records what is looked up; raises StoreError if
    the folder is a link."""
    return RecordingJournal(_folder(run))


def _folder(run: Path) -> Path:
    """Return the folder of a run's verdicts; raises StoreError if it is a link."""
    folder = run / "verdicts"
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link: the verdicts of a run are stored in its own folder")
    return folder
