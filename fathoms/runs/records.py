"""The records of a run, in its journal: reading them, and adding to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from fathoms.errors import StoreError
from fathoms.runs.blobs import Blobs
from fathoms.runs.folder import LARGEST_TEXT, TooLongError, is_intact, open_file, parsed_line
from fathoms.runs.journal import JOURNAL, Journal, OpenJournal, journal_line
from fathoms.types import RELEASED_SCORES, Call, Citation, Failure, Question, Record, Reply, StoredValue

_NO_JSON = "it is not JSON"
_CONTEXT = ("hits", "rounds", "prompt")
"""The parts of a record with long texts, which it can do without."""


class Entry(NamedTuple):
    """A usable line of the journal: its number from 1, its offset in bytes, whether it is a failure, whether
    it has scores that were published with imported results, whether its question was only searched for, and
    whether it may hold a prompt and hits.
    """

    number: int
    offset: int
    failed: bool
    released: bool = False
    searched: bool = False
    prompted: bool = True
    retrieved: bool = True


class Flaw(NamedTuple):
    """A line of the journal that cannot be used: its number from 1, and the reason."""

    number: int
    why: str


class Contents(NamedTuple):
    """The last usable record of every (question, repeat), in the order first seen, and the unusable lines.
    Questions of unusable lines count as unanswered, unless another line answers them."""

    entries: dict[tuple[str, int], Entry]
    flaws: list[Flaw]


class RecordHead(StoredValue):
    """A record without prompt and hits: the part of a journal line that must be valid."""

    question: Question
    repeat: int = Field(default=0, ge=0)
    seed: int | None = None
    attempts: int = 1
    answer: Reply | None = None
    error: Failure | None = None
    calls: tuple[Call, ...] = ()
    citations: tuple[Citation, ...] | None = None
    timings: dict[str, float] = Field(default_factory=dict)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    released: dict[str, float | None] = Field(default_factory=dict)
    finished: str | None = None


class Records:
    """The records of a run: what was asked and what came of it, in the lines of its journal.

    The journal is authoritative: a record is done once its line is written. Long texts of prompts and hits
    are in `blobs`. `lost` counts the records that were read without their prompts and hits, because a text is
    lost. Scoring sets the questions by which those of the records are replaced (`gold`, by id), and the kinds
    of parts that stay in the answers (`keep`).
    """

    def __init__(self, root: Path, blobs: Blobs) -> None:
        self._root = root
        self._journal = Journal(root / JOURNAL)
        self._blobs = blobs
        self.lost = 0
        self.keep: frozenset[str] = frozenset()
        self.gold: Mapping[str, Question] = {}

    def append(self, records: Iterable[Record]) -> list[Record]:
        """Add finished records; they are on the disk when this returns. Returns the records as stored: one
        that is too long to be read again is stored as a failure that says so."""
        stored, lines = self._lines(records)
        self._journal.append(lines)
        return stored

    @contextmanager
    def appending(self) -> Iterator[Appender]:
        """Keep the journal open, to add many records one by one."""
        with closing(OpenJournal(self._journal.path)) as journal:
            yield Appender(self._lines, journal)

    def _lines(self, records: Iterable[Record]) -> tuple[list[Record], list[bytes]]:
        """The records as they are stored, and their journal lines."""
        stored, lines = [], []
        for record in records:
            try:
                line = self._line(record)
            except TooLongError as error:
                failure = Failure(kind="StoreError", message=f"the answer cannot be kept: {error}")
                record = record.model_copy(
                    update={"hits": None, "prompt": None, "answer": None, "citations": None, "error": failure}
                )
                line = self._line(record)
            stored.append(record)
            lines.append(line)
        return stored, lines

    def _line(self, record: Record) -> bytes:
        """The journal line of a record. It holds everything needed to use the record, so that this is on disk
        as soon as the line is; only long texts of prompt and hits are in blobs."""
        data = record.model_dump(mode="json", exclude_defaults=True)
        hits = data.get("hits")
        if "prompt" in data:
            data["prompt"] = self._blobs.externalise_prompt(data["prompt"], hits or ())
        for name in ("hits", "rounds"):
            if data.get(name):
                data[name] = self._blobs.externalise(data[name])
        return journal_line(data)

    def contents(self) -> Contents:
        """Index the journal: its last usable line per (question, repeat), and its unusable lines.

        Fast, because long texts are not read.
        """
        return self._contents(lambda text: True)

    def _contents(self, wanted: Callable[[bytes], bool]) -> Contents:
        """Index the lines of the journal whose text is wanted."""
        found: dict[tuple[str, int], Entry] = {}
        flaws: list[Flaw] = []
        for line in self._journal:
            if line.flaw is not None:
                flaws.append(Flaw(line.number, line.flaw))
                continue
            if not wanted(line.text):
                continue
            try:
                head = self._head(line.text)
            except _FlawError as error:
                if not (error.is_no_json and line.is_half):
                    flaws.append(Flaw(line.number, str(error)))
                continue
            key = head.question.id, head.repeat
            failed, searched = head.error is not None, head.answer is None and head.error is None
            released = not RELEASED_SCORES.isdisjoint(head.released)
            prompted = b'"prompt"' in line.text
            # rounds of a search have hits, too, so null counts only where it stands alone
            retrieved = line.text.count(b'"hits"') != 1 or b'"hits": null' not in line.text
            found[key] = Entry(line.number, line.offset, failed, released, searched, prompted, retrieved)
        return Contents(found, flaws)

    def grown(self, offset: int) -> Iterator[tuple[int, int, RecordHead | None]]:
        """Yield where each whole line of the journal from an offset on begins, where it ends and what it
        says, `None` where it cannot be used. A line that is still being written is left for the next time."""
        try:
            file = open_file(self._root, JOURNAL)
        except FileNotFoundError:
            return
        with file:
            file.seek(offset)
            for text in iter(partial(file.readline, LARGEST_TEXT), b""):
                if not text.endswith(b"\n"):
                    return
                head = None
                if is_intact(text):
                    with suppress(_FlawError):
                        head = self._head(text)
                yield offset, offset + len(text), head
                offset += len(text)

    def entries(self) -> dict[tuple[str, int], Entry]:
        """Return where each readable record stands in the journal, without the damaged lines."""
        return self.contents().entries

    def _head(self, text: bytes) -> RecordHead:
        """Parse the part of a line that must be valid; raises _FlawError."""
        try:
            return RecordHead.model_validate_json(text)  # faster than parsing all of it
        except ValidationError:
            return self._head_slowly(text)

    def _head_slowly(self, text: bytes) -> RecordHead:
        """Parse a line that holds a lone surrogate, or one of an earlier version, in which any long text may
        be in a blob; raises _FlawError."""
        try:
            data = json.loads(text)
        except RecursionError:
            raise _FlawError("it is nested too deeply") from None
        except ValueError:
            raise _FlawError(_NO_JSON) from None
        try:
            if not isinstance(data, dict):
                raise _FlawError("it is not a record")
            rest = {key: value for key, value in data.items() if key not in _CONTEXT}
            return RecordHead.model_validate(self._blobs.internalise(rest))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise _FlawError(f"it is not a record: {place}: {first['msg']}") from None
        except RecursionError:
            raise _FlawError("it is nested too deeply") from None
        except StoreError as error:
            raise _FlawError(str(error)) from None

    def read(self, entries: Iterable[Entry], *, light: bool = False) -> Iterator[Record]:
        """Yield the records one at a time; with `light`, without hits, fingerprints and the texts of prompts.

        Raises StoreError where the journal has changed since its entries were read.
        """
        with open_file(self._root, JOURNAL) as file:
            for entry in entries:
                file.seek(entry.offset)
                try:
                    record = self._record(parsed_line(file.readline()), light=light)
                    if (gold := self.gold.get(record.question.id)) is not None:
                        record = record.model_copy(update={"question": gold})
                    yield record.keeping(self.keep) if self.keep else record
                except (ValueError, RecursionError) as error:
                    raise StoreError(
                        f"{self._journal.path}:{entry.number}: changed while it was read"
                    ) from error

    def _record(self, data: dict[str, Any], *, light: bool) -> Record:
        """Build the record of a line. Prompt and hits become `None` where they are invalid or one of their
        texts is lost, as can happen after a power failure that spared the journal alone."""
        try:
            if light:
                for name in ("hits", "rounds", "fingerprints"):
                    data.pop(name, None)
                if prompt := data.get("prompt"):
                    data["prompt"] = _without_texts(prompt)
            data = self._blobs.internalise(data, _CONTEXT)
            try:
                return Record.model_validate(data)
            except ValidationError:  # one of an earlier version, in which any long text may be in a blob
                return Record.model_validate(self._blobs.internalise(data))
        except (StoreError, ValidationError, AttributeError, TypeError, ValueError, RecursionError):
            self.lost += 1
            rest = {key: value for key, value in data.items() if key not in _CONTEXT}
            return Record.model_validate({**self._blobs.internalise(rest), "hits": None, "prompt": None})

    def __iter__(self) -> Iterator[Record]:
        """Yield the last record of every (question, repeat), in the order first seen."""
        return iter(self.all())

    def all(self, *, light: bool = False) -> list[Record]:
        """Return what iteration yields; `light` as for `read`."""
        entries = self.entries()
        return list(self.read(entries.values(), light=light)) if entries else []

    def lines(self, entries: Iterable[Entry]) -> list[bytes]:
        """Read the lines of the journal at some entries as they are; raises StoreError."""
        with open_file(self._root, JOURNAL) as file:
            return [file.readline() for entry in entries if file.seek(entry.offset) >= 0]

    def entries_of(self, question: str) -> dict[tuple[str, int], Entry]:
        """The readable records of a question, and maybe of others. Only lines that contain its id are parsed,
        unless there is none, as where another program has written the id in another way."""
        id = json.dumps(question)
        forms = {id.encode(), json.dumps(question, ensure_ascii=False).encode("utf-8", "replace")}
        found = self._contents(lambda text: any(form in text for form in forms)).entries
        return found if any(name == question for name, _ in found) else self.entries()


class Appender:
    """Adds records to a run one by one; see `Records.appending`."""

    def __init__(
        self,
        lines: Callable[[Iterable[Record]], tuple[list[Record], list[bytes]]],
        journal: OpenJournal,
    ) -> None:
        self._lines = lines
        self._journal = journal

    def add(self, record: Record) -> Record:
        """Add a record, which survives the end of the process when this returns, and a power cut after the
        next `sync`. Returns it as stored, as `Records.append` does; raises StoreError."""
        (stored,), lines = self._lines([record])
        self._journal.write(lines)
        return stored

    def sync(self) -> None:
        """Have all records that were added put on the disk, and wait for it; raises StoreError."""
        self._journal.sync()


class _FlawError(Exception):
    """Why a line of the journal cannot be used."""

    @property
    def is_no_json(self) -> bool:
        """Whether the line is not JSON, which half a line never is."""
        return self.args == (_NO_JSON,)


def flaws_sentence(flaws: Sequence[Flaw]) -> str:
    """Describe flaws: `2 lines of journal.jsonl cannot be used: line 17 (it is not JSON), line 40 (...)`."""
    shown = ", ".join(f"line {flaw.number} ({flaw.why})" for flaw in flaws[:10])
    more = f" and {len(flaws) - 10} more" if len(flaws) > 10 else ""
    return f"{len(flaws)} line{'s' * (len(flaws) != 1)} of {JOURNAL} cannot be used: {shown}{more}"


def _without_texts(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt without its texts, keeping the numbers."""
    parts = [{**part, "prompt": _without_texts(part["prompt"])} for part in prompt.get("parts") or ()]
    return {**prompt, "messages": [], "context": "", "parts": parts}
