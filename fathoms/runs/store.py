"""A run on disk: the only link between the code that answers and the code that scores and reports.

The journal is authoritative: a record is done once its line is written. The files under `questions/` are a
readable view of it, written again where they are missing. Long texts are stored once, in `blobs/`,
named by their hash. The readable view of a large run is in fewer files; see `question_lines`.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from fathoms.errors import StoreError, UsageError
from fathoms.paths import safe_name, sweep
from fathoms.runs.blobs import Blobs
from fathoms.runs.cache import Cache
from fathoms.runs.folder import (
    LARGEST_TEXT,
    TooLongError,
    complaint,
    is_intact,
    note_fitting,
    open_file,
    read_file,
    read_object,
    read_part,
    sealed,
    sealed_line,
    write_file,
    write_sealed,
)
from fathoms.runs.journal import JOURNAL, Journal, OpenJournal, journal_line
from fathoms.runs.order import placed
from fathoms.runs.question_lines import file_names, id_of, new_lines, remove
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.trust import signed
from fathoms.runs.views import find_views, read_views, view_names, view_of
from fathoms.safety.masking import record_mask
from fathoms.types import (
    RELEASED_SCORES,
    Call,
    Citation,
    Failure,
    Question,
    Record,
    Reply,
    StoredValue,
    Verdict,
)
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import SCHEMA
from fathoms.types.run.summary import Summary

SHARED = ".documents"
"""The folder, beside the runs, of the parsed documents that they share."""
QUESTIONS = ".questions"
"""The folder, beside the runs, of the versions of question sets that they were made with."""
_NO_JSON = "it is not JSON"
_CONTEXT = ("hits", "rounds", "prompt")
"""The parts of a record with long texts, which it can do without."""

_README = """# {run}

The answers of one pipeline and their scores. All files can be read without fathoms.

| file | content |
|---|---|
| manifest.json | what was run: the resolved configuration, hashes of the data, versions, host |
| journal.jsonl | one line per finished answer, in order of completion; authoritative |
| questions/ID.json | one question: gold answer, retrieved context, prompt, answer and scores |
| questions/00001.jsonl | in a run of more than 10,000 questions: 1,000 of them, one a line |
| blobs/HASH.gz | long texts that the journal refers to by hash (`gunzip -c`) |
| ../.documents/HASH.gz | the parsed documents, which all runs of the folder share |
| ../.questions/HASH.gz | the questions as they were when the run was made |
| verdicts/ | judgements behind the scores, stored so that scoring again need not repeat them |
| summary.json | mean scores per category and overall, with counts |
| scores.npz | the scores of all answers in columns, for `numpy.load`; made from questions/ |
| scorings/HASH.json | the summary by another version of the questions, if the run was scored by one before |
| report.html, report.md | the report for people; `fathoms report` adds radar plots |
| scores.csv, table.tex | the scores for spreadsheets and LaTeX |
| reviews.jsonl | human ratings of the scores, if there are any |
| labels.jsonl, grades.jsonl, errors.jsonl | what people say of claims, answers and errors, if there is any |

Scores go from 0 to 1; null means "does not apply" or "not known", never 0. Pages count from 1.
"""


def _dump(value: Any, indent: int | None = 2) -> bytes:
    """Readable JSON, or with `None` one line of it; infinities and NaN become null."""
    try:
        return to_json(value, indent=indent, inf_nan_mode="null") + b"\n"
    except PydanticSerializationError:  # a lone surrogate, which a model's tokens can produce
        plain = to_jsonable_python(value, inf_nan_mode="null")
        separators = (",", ":") if indent is None else None
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False, separators=separators)
        return (text + "\n").encode("utf-8", "replace")


def refusal(record: Record) -> str | None:
    """What reading would find wrong with the question file of a record, `None` if it can be read: what an
    import writes is what reading accepts."""
    repeats = [view_of(record, {}, {}, {})]
    view = {"schema": SCHEMA, "run": "x", "question": record.question, "repeats": repeats}
    return complaint(_loads(_dump(view)))


_OfRecords = Sequence[Mapping[str, Any]] | None
WriteView = Callable[[Sequence[Record], _OfRecords, _OfRecords, _OfRecords], bytes | None]
"""Writes the view of one question: of its records, with their scores by profile, the scores by their metrics,
and their judged claims. Returns its line, `None` where it has a file of its own."""


class Entry(NamedTuple):
    """A usable line of the journal: its number from 1, its offset in bytes, whether it is a failure, whether
    it has scores that were published with imported results, whether its question was only searched for, and
    whether it may hold a prompt.
    """

    number: int
    offset: int
    failed: bool
    released: bool = False
    searched: bool = False
    prompted: bool = True


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


class Run:
    """A run directory: its manifest, journal, blobs, question files, verdicts and summary."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self._journal = Journal(path / JOURNAL)
        self._blobs = Blobs(path)
        self._shared = Blobs(path.parent, SHARED)
        self.lost_contexts = 0
        """How many records this object has read without their prompts and hits, because a text is lost."""
        self.tables: QuestionTables | None = None
        """What the last scoring by this object has collected of the questions of a large run, for reports."""
        self.keep: frozenset[str] = frozenset()
        """The kinds of parts that scoring leaves in the answers of the records that are read."""
        self.gold: Mapping[str, Question] = {}
        """Questions by which scoring replaces those of the records that are read, by id."""

    # ----- made

    @staticmethod
    def require_writable(out: Path) -> None:
        """Raise StoreError now if a run could not be written later. Creates the folder."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
        except OSError as error:
            raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error

    @classmethod
    def create(cls, out: Path, name: str, fingerprint: str, manifest: Manifest | Mapping[str, Any]) -> Run:
        """Create `OUT/<UTC time>_<name>_<short fingerprint>/`, which never exists already, and sign its
        manifest as this user's.

        Its `sequence` is one more than that of any run in the folder. It decides which run is the latest,
        because clocks can be wrong.
        """
        cls.require_writable(out)
        before = [place.sequence for _, place in placed(out) if place]
        now = datetime.now(UTC)
        while any(out.glob(f"{_stamp(now)}_*")):  # one run per millisecond keeps ids sorted
            now += timedelta(milliseconds=1)
        run = cls(out / f"{_stamp(now)}_{safe_name(name, 60)}_{fingerprint[:8]}")
        try:
            run.path.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"{run.path} cannot be made: {error.strerror or error}") from error
        head = {"schema": SCHEMA, "run": run.id, "sequence": max(before, default=0) + 1}
        known = manifest.plain() if isinstance(manifest, Manifest) else manifest
        whole = {**head, "created": now.isoformat(), "name": name, **known}
        run._write("README.md", _README.format(run=run.id).encode())
        # what is signed is what will be read
        stored = Manifest.model_validate(json.loads(_dump(record_mask().inside(whole))))
        run.write_manifest(signed(stored))
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to this run; raises UsageError where one already does.

        The lock is released with the process, however that ends.
        """
        from filelock import FileLock, Timeout

        lock, owner = FileLock(self.path / ".lock", timeout=0), self.path / ".writer"
        try:
            if os.path.lexists(self.path / ".lock"):
                open_file(self.path, ".lock").close()
            lock.acquire()
        except Timeout:
            raise UsageError(
                f"{self.id} is being written by {self._writer()}: wait until it ends, or stop it"
            ) from None
        except OSError as error:
            raise StoreError(f"{self.path / '.lock'} cannot be locked: {error.strerror or error}") from error
        try:
            sweep(self.path, *(self.path / name for name in ("questions", "blobs", "verdicts")))
            sweep(self.path.parent / SHARED)
            self._write(".writer", f"process {os.getpid()} on {platform.node()}".encode())
            yield
        finally:
            with suppress(OSError):  # the file is only informative
                owner.unlink(missing_ok=True)
            lock.release()

    def _writer(self) -> str:
        """Describe who holds the lock, as far as known."""
        try:
            return read_file(self.path, ".writer", 1000).decode("utf-8", "replace")
        except (OSError, StoreError):
            return "another process"

    # ----- the manifest and the summary

    @property
    def manifest(self) -> Manifest:
        """The manifest as it is now; raises StoreError."""
        return read_part(self.path, "manifest.json", Manifest)

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest. Known secrets are masked, because servers describe themselves in it."""
        self._write("manifest.json", sealed(_dump(record_mask().inside(manifest.plain()))))

    def trust(self) -> None:
        """Sign the manifest as it is now, so that the run counts as this user's from now on."""
        self.write_manifest(signed(self.manifest))

    @property
    def summary(self) -> Summary | None:
        """The summary as it is now, `None` where the run was never scored; raises StoreError."""
        there = os.path.lexists(self.path / "summary.json")
        return read_part(self.path, "summary.json", Summary) if there else None

    def write_summary(self, summary: Summary) -> None:
        """Write `summary.json` with a checksum, replacing the one before."""
        self._write("summary.json", sealed(_dump(summary.plain())))

    # ----- the journal

    def append(self, records: Iterable[Record]) -> list[Record]:
        """Add finished records; they are on the disk when this returns. Returns the records as stored: one
        that is too long to be read again is stored as a failure that says so."""
        kept, lines = self._lines(records)
        self._journal.append(lines)
        return kept

    @contextmanager
    def appending(self) -> Iterator[Appender]:
        """Keep the journal open, to add many records one by one."""
        with closing(OpenJournal(self._journal.path)) as journal:
            yield Appender(self._lines, journal)

    def _lines(self, records: Iterable[Record]) -> tuple[list[Record], list[bytes]]:
        """The records as they are stored, and their journal lines."""
        kept, lines = [], []
        for record in records:
            try:
                line = self._line(record)
            except TooLongError as error:
                failure = Failure(kind="StoreError", message=f"the answer cannot be kept: {error}")
                record = record.model_copy(
                    update={"hits": None, "prompt": None, "answer": None, "citations": None, "error": failure}
                )
                line = self._line(record)
            kept.append(record)
            lines.append(line)
        return kept, lines

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
            found[key] = Entry(line.number, line.offset, failed, released, searched, prompted)
        return Contents(found, flaws)

    def grown(self, offset: int) -> Iterator[tuple[int, int, RecordHead | None]]:
        """Yield where each whole line of the journal from an offset on begins, where it ends and what it
        says, `None` where it cannot be used. A line that is still being written is left for the next time."""
        try:
            file = open_file(self.path, JOURNAL)
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
        with open_file(self.path, JOURNAL) as file:
            for entry in entries:
                file.seek(entry.offset)
                try:
                    record = self._record(_loads(file.readline()), light=light)
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
            self.lost_contexts += 1
            rest = {key: value for key, value in data.items() if key not in _CONTEXT}
            return Record.model_validate({**self._blobs.internalise(rest), "hits": None, "prompt": None})

    def records(self, *, light: bool = False) -> list[Record]:
        """The last record of every (question, repeat), in the order first seen; `light` as for `read`."""
        entries = self.entries()
        return list(self.read(entries.values(), light=light)) if entries else []

    # ----- blobs

    def put_shared(self, text: str) -> str:
        """Store a text beside the runs of this folder, which share it; returns its hash. A damaged file of
        another run is written again. Raises TooLongError."""
        return self._shared.put(text, mend=True)

    def put_shared_packed(self, name: str, packed: bytes) -> None:
        """Do the same for the text of this hash, given as `packed_text` returned it."""
        self._shared.put_packed(name, packed)

    def sound_shared(self, names: Iterable[str], cache: Cache) -> set[str]:
        """Return those texts beside the runs whose file has not changed since `note_sound_shared`."""
        return self._shared.sound(names, cache)

    def note_sound_shared(self, cache: Cache) -> None:
        """Remember which files `put_shared` has written or verified."""
        self._shared.note_sound(cache)

    def put_blob(self, text: str) -> str:
        """Store a text in this run under its sha256; returns the hash. Raises TooLongError."""
        return self._blobs.put(text)

    def put_list(self, text: str) -> str:
        """Store a text beside the runs of this folder and as a file of this run, too, which is a hard link to
        it where the disk has such: it takes its space once, and a copied run has it. Returns its hash."""
        name = self.put_shared(text)
        self._blobs.take(name, self._shared)
        return name

    def texts_there(self, names: Collection[str]) -> set[str]:
        """Return those of some texts that are stored in this run or beside it."""
        own = self._blobs.there(names)
        return own | self._shared.there([name for name in names if name not in own])

    def text(self, name: str) -> str:
        """Read a text by its hash, from this run or else from beside it; raises StoreError."""
        return (self._blobs if name in self._blobs else self._shared).get(name)

    def stored_text(self, name: str) -> bytes | None:
        """Read the file of a text as it is, for another machine; `None` where it cannot be read."""
        try:
            return (self._blobs if name in self._blobs else self._shared).stored(name)
        except (FileNotFoundError, StoreError):
            return None

    def lines(self, entries: Iterable[Entry]) -> list[bytes]:
        """Read the lines of the journal at some entries as they are; raises StoreError."""
        with open_file(self.path, JOURNAL) as file:
            return [file.readline() for entry in entries if file.seek(entry.offset) >= 0]

    # ----- views and verdicts

    def view(self, question: str) -> dict[str, Any] | None:
        """Read one question: its file, or the same without scores where it has answers that are not scored
        yet. `None` where the run has no answer to it; raises StoreError."""
        entries = [entry for (asked, _), entry in self._entries_of(question).items() if asked == question]
        if not entries:
            return None
        records = list(self.read(entries))
        answered = {(record.repeat, record.finished) for record in records}
        for view in self._stored_views(question):
            shown = {(repeat.get("repeat"), repeat.get("finished")) for repeat in view["repeats"]}
            if view["question"]["id"] == question and shown == answered:
                return view
        return self._plain_view(records)

    def scored_view(self, question: str) -> dict[str, Any] | None:
        """Read one question as it was scored last, which does not need the journal; `None` where it was not.
        Raises StoreError."""
        views = self._stored_views(question)
        return next((view for view in views if view["question"]["id"] == question), None)

    def view_at(self, offsets: Iterable[int]) -> dict[str, Any]:
        """Read one question from those lines of the journal that have its repeats, without scores; raises
        StoreError."""
        return self._plain_view(list(self.read(Entry(0, offset, failed=False) for offset in offsets)))

    def _plain_view(self, records: Sequence[Record]) -> dict[str, Any]:
        """What `view` returns where the answers to a question are not scored yet."""
        plain: dict[str, Any] = _loads(_dump(self._view(records)))
        return plain

    def _entries_of(self, question: str) -> dict[tuple[str, int], Entry]:
        """The readable records of a question, and maybe of others. Only lines that contain its id are parsed,
        unless there is none, as where another program has written the id in another way."""
        id = json.dumps(question)
        forms = {id.encode(), json.dumps(question, ensure_ascii=False).encode("utf-8", "replace")}
        found = self._contents(lambda text: any(form in text for form in forms)).entries
        return found if any(asked == question for asked, _ in found) else self.entries()

    def _stored_views(self, question: str) -> Iterator[dict[str, Any]]:
        """The views of a question that scoring has written, in lines or in a file."""
        yield from find_views(self.path, [question], self.manifest.data.asked_ids)

    def write_view(
        self,
        records: Sequence[Record],
        scores: _OfRecords = None,
        metrics: _OfRecords = None,
        claims: _OfRecords = None,
    ) -> None:
        """Write `questions/<id>.json` with all repeats of one question."""
        view = self._view(records, scores, metrics, claims)
        name = f"questions/{view_names(records[0].question.id)[0]}"
        self._write(name, sealed(_dump(view)))
        note_fitting(self.path, name)

    @contextmanager
    def writing_views(self, file: str | None) -> Iterator[WriteView]:
        """Give the function that writes the views of some questions: each to a file of its own, as
        `write_view` does, or with the name of a file as a line of `questions/FILE`. Such a file replaces the
        one before when the block ends."""
        if file is None:
            yield self.write_view
            return
        with new_lines(self.path, file) as add:

            def write(
                records: Sequence[Record],
                scores: _OfRecords = None,
                metrics: _OfRecords = None,
                claims: _OfRecords = None,
            ) -> bytes:
                line = sealed_line(_dump(self._view(records, scores, metrics, claims), indent=None)[:-1])
                add(records[0].question.id, line)
                return line

            yield write

    def take_views(self, file: str | None, views: Mapping[str, bytes]) -> None:
        """Write question files, given by their names, that another machine has made by `writing_views` with
        the same `file`."""
        if file is not None:
            with new_lines(self.path, file) as add:
                for line in views[file].splitlines(keepends=True):
                    add(id_of(line) or "", line)
            return
        for name, data in views.items():
            self._write(f"questions/{name}", data)
            note_fitting(self.path, f"questions/{name}")

    def _view(
        self,
        records: Sequence[Record],
        scores: _OfRecords = None,
        metrics: _OfRecords = None,
        claims: _OfRecords = None,
    ) -> dict[str, Any]:
        """What stands in the file of a question; see `view_of`."""
        repeats = [
            view_of(record, *(rows[index] if rows else {} for rows in (scores, metrics, claims)))
            for index, record in enumerate(records)
        ]
        return {"schema": SCHEMA, "run": self.id, "question": records[0].question, "repeats": repeats}

    def set_aside_views(self, answered: Collection[str], in_lines: Collection[str] = ()) -> None:
        """Rename question files of other questions than those `answered` to `NAME.json.stale`.

        Reports then no longer count them, but nothing is lost: where a line of the journal is damaged, its
        question file can be the only copy of the answer. With the names of the files that hold all answered
        questions `in_lines`, other files of answered questions are removed.
        """
        files = {path.name for path in (self.path / "questions").glob("*.json")}
        current = {view_names(question)[0] for question in answered} if files else set()
        for name in sorted(files - current):
            self._changed(name, lambda path: path.replace(path.with_name(f"{path.name}.stale")))
        for name in files & current if in_lines else ():
            self._changed(name, Path.unlink)
        for name in set(file_names(self.path)).difference(in_lines):
            self._changed(name, lambda path: remove(self.path, path.name, answered))

    def _changed(self, name: str, change: Callable[[Path], object]) -> None:
        """Rename or remove a question file; raises StoreError."""
        path = self.path / "questions" / name
        try:
            change(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be renamed: {error.strerror or error}") from error

    def views(self) -> Iterator[dict[str, Any]]:
        """Yield every question file, sorted by name; raises StoreError for one that cannot be used."""
        return read_views(self.path)

    def verdicts(self, kind: str) -> Verdicts:
        """Read the stored judgements of one kind, by key; raises StoreError."""
        name = f"verdicts/{safe_name(kind)}.json"
        stored = read_object(self.path, name) if os.path.lexists(self.path / name) else {}
        return Verdicts(stored, str(self.path / name))

    def add_verdicts(self, kind: str, texts: Mapping[str, str]) -> None:
        """Add judgements of one kind by key, at least one, each as `verdict_text` makes it; those with the
        same key are replaced."""
        kept = {key: value for key, value in self.verdicts(kind).stored.items() if key not in texts}
        write_sealed(self.path, f"verdicts/{safe_name(kind)}.json", _blocks(kept, texts))

    def keep_file(self, name: str, data: bytes) -> None:
        """Store a file in the run unchanged, for example a copy of the exemplars behind its scores."""
        self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the run atomically."""
        write_file(self.path, name, data)


class Appender:
    """Adds records to a run one by one; see `Run.appending`."""

    def __init__(
        self,
        lines: Callable[[Iterable[Record]], tuple[list[Record], list[bytes]]],
        journal: OpenJournal,
    ) -> None:
        self._lines = lines
        self._journal = journal

    def add(self, record: Record) -> Record:
        """Add a record, which survives the end of the process when this returns, and a power cut after the
        next `sync`. Returns it as stored, as `Run.append` does; raises StoreError."""
        (kept,), lines = self._lines([record])
        self._journal.write(lines)
        return kept

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


def verdict_text(key: str, verdict: Verdict) -> str:
    """A verdict with its key as JSON text, for `Run.add_verdicts`. As text, it takes much less memory."""
    return _inner({key: verdict.model_dump(exclude_none=True)})


def _inner(value: Mapping[str, Any]) -> str:
    """What stands between the brackets of a JSON object."""
    return _dump(value).decode("utf-8", "replace")[2:-3]


def _blocks(kept: Mapping[str, Any], new: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the JSON of verdicts block by block, except for the line that closes it: those that are `kept`,
    and the texts of the `new` ones."""
    texts, start = chain([_inner(kept)] if kept else (), new.values()), "{\n"
    while block := list(islice(texts, 1_000)):
        yield (start + ",\n".join(block)).encode("utf-8", "replace")
        start = ",\n"


def _loads(line: bytes) -> Any:
    """Parse a line with the faster of two parsers, or with the other, which allows lone surrogates."""
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)


def _stamp(time: datetime) -> str:
    """A time as it begins the id of a run: to the millisecond, sortable as text."""
    return f"{time:%Y%m%dT%H%M%S}{time.microsecond // 1000:03d}Z"


def _without_texts(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt without its texts, keeping the numbers."""
    parts = [{**part, "prompt": _without_texts(part["prompt"])} for part in prompt.get("parts") or ()]
    return {**prompt, "messages": [], "context": "", "parts": parts}


class Verdicts(Mapping[str, Verdict]):
    """Verdicts by key, each converted when it is asked for; `file` is named in errors."""

    def __init__(self, stored: Mapping[str, Any], file: str) -> None:
        self.stored = stored
        self._file = file
        if not all(isinstance(value, dict) for value in stored.values()):
            raise self._unusable()

    def __getitem__(self, key: str) -> Verdict:
        """Return a verdict; raises KeyError, and StoreError if it cannot be used."""
        try:
            return Verdict.model_validate(self.stored[key])
        except ValidationError as error:
            raise self._unusable() from error

    def __contains__(self, key: object) -> bool:
        return key in self.stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def _unusable(self) -> StoreError:
        return StoreError(f"{self._file} does not hold verdicts; delete it to judge again")
