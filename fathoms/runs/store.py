"""A run on disk: the wall between those who answer and those who score and report.

The journal is the durable truth: a record is done once its line is fsync'd. The files under
`questions/` are a readable view of it, made again where they are missing. Long texts are kept once, in
`blobs/`, named by their hash.
"""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from fathoms.config import suggest
from fathoms.errors import StoreError, UsageError
from fathoms.paths import old_unique_name, safe_name, sweep
from fathoms.runs.blobs import Blobs
from fathoms.runs.folder import TooLongError, open_file, read_file, read_object, sealed, write_file
from fathoms.runs.journal import Journal, journal_line
from fathoms.runs.schemas import complaint
from fathoms.runs.trust import signed
from fathoms.safety.masking import record_mask
from fathoms.types import Evidence, Failure, Noun, Question, Record, Reply, Verdict

SCHEMA = 1
JOURNAL = "journal.jsonl"
_NO_JSON = "it is not JSON"
_RUN_NAME = re.compile(r"^\d{8}T\d{6,9}Z_(?P<name>.+)_[0-9a-f]{6,}$")

_README = """# {run}

What one pipeline answered, and how good that was. Nothing here needs fathoms to be read.

| file | what |
|---|---|
| manifest.json | what was run: the resolved configuration, hashes of the data, versions, host |
| journal.jsonl | one line a finished answer, in the order they came: the durable truth |
| questions/ID.json | one question: gold, what was retrieved, the prompt, the answer, its scores |
| blobs/HASH.gz | long texts that the journal and the manifest name by hash (`gunzip -c`) |
| verdicts/ | judgements that scores were made from, kept so that scoring again asks nobody |
| summary.json | means by category and overall, with counts |
| report.html, report.md, radar-*.png | the same for people |
| scores.csv, table.tex | the same for spreadsheets and LaTeX |
| reviews.jsonl | what people said of the scores, where somebody was asked |

Scores go from 0 to 1; null means "does not apply" or "not known", never 0. Pages count from 1.
"""


def _dump(value: Any) -> bytes:
    """Readable JSON; what is no number is null."""
    try:
        return to_json(value, indent=2, inf_nan_mode="null") + b"\n"
    except PydanticSerializationError:  # half a character, as a model's tokens can leave it
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
        return (text + "\n").encode("utf-8", "replace")


def read_checked(root: Path, name: str, kind: str) -> dict[str, Any]:
    """The JSON object in a file of a run, as the schema `kind` describes it.

    Raises StoreError that names the file and the place in it.
    """
    value = read_object(root, name)
    version = value.get("schema", SCHEMA)
    if not isinstance(version, int):
        raise StoreError(f"{root / name} cannot be used: its schema {str(version)[:40]!r} is not known here")
    if version > SCHEMA:
        raise StoreError(f"{root / name} was written by a newer fathoms (schema {version}): update fathoms")
    if wrong := complaint(kind, value):
        raise StoreError(f"{root / name} cannot be used: {wrong}")
    return value


class Entry(NamedTuple):
    """A line of the journal: its number, from 1, the byte where it begins, and whether it is a failure."""

    number: int
    offset: int
    failed: bool


class Flaw(NamedTuple):
    """A line of the journal that cannot be used, by its number from 1, and why."""

    number: int
    why: str


class Contents(NamedTuple):
    """The last usable record of every (question, repeat), in the order first seen, and the lines that cannot
    be used. The questions of such lines count as not answered, unless another line answers them."""

    entries: dict[tuple[str, int], Entry]
    flaws: list[Flaw]


class _Kept(Noun):
    """A record without prompt and hits: what must be whole for the line to be used."""

    question: Question
    repeat: int = Field(default=0, ge=0)
    seed: int | None = None
    attempts: int = 1
    answer: Reply | None = None
    error: Failure | None = None
    citations: tuple[Evidence, ...] | None = None
    timings: dict[str, float] = Field(default_factory=dict)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    released: dict[str, float | None] = Field(default_factory=dict)
    finished: str | None = None


class Run:
    """One run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self._journal = Journal(path / JOURNAL)
        self._blobs = Blobs(path)

    # ----- made

    @staticmethod
    def require_writable(out: Path) -> None:
        """Raise StoreError now where a run could not be written later; makes the folder."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
        except OSError as error:
            raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error

    @classmethod
    def create(cls, out: Path, name: str, fingerprint: str, manifest: Mapping[str, Any]) -> Run:
        """Make `OUT/<UTC time>_<name>_<short fingerprint>/`, never one that exists already, and sign its
        manifest as one of this user.

        Its `sequence` is one more than that of any run in the folder: clocks can be wrong, and the latest run
        is the one that was made last.
        """
        cls.require_writable(out)
        before = [place.sequence for _, place in _placed(out) if place]
        now = datetime.now(UTC)
        while any(out.glob(f"{_stamp(now)}_*")):  # ids are in the order of their runs: one a millisecond
            now += timedelta(milliseconds=1)
        run = cls(out / f"{_stamp(now)}_{safe_name(name, 60)}_{fingerprint[:8]}")
        try:
            run.path.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"{run.path} cannot be made: {error.strerror or error}") from error
        head = {"schema": SCHEMA, "run": run.id, "sequence": max(before, default=0) + 1}
        whole = {**head, "created": now.isoformat(), "name": name, **manifest}
        run._write("README.md", _README.format(run=run.id).encode())
        run.write_manifest(signed(json.loads(_dump(record_mask().inside(whole)))))
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to this run; raises UsageError where one does already.

        The lock goes with the process, however it ends.
        """
        from filelock import FileLock, Timeout

        lock, owner = FileLock(self.path / ".lock", timeout=0), self.path / ".writer"
        try:
            if os.path.lexists(self.path / ".lock"):
                open_file(self.path, ".lock").close()
            lock.acquire()
        except Timeout:
            raise UsageError(
                f"{self.id} is being written by {self._writer()}: wait for its end, or stop it"
            ) from None
        except OSError as error:
            raise StoreError(f"{self.path / '.lock'} cannot be locked: {error.strerror or error}") from error
        try:
            sweep(self.path, *(self.path / name for name in ("questions", "blobs", "verdicts")))
            self._write(".writer", f"process {os.getpid()} on {platform.node()}".encode())
            yield
        finally:
            with suppress(OSError):  # it only says who holds the lock
                owner.unlink(missing_ok=True)
            lock.release()

    def _writer(self) -> str:
        """Who holds the lock, as far as it is known."""
        try:
            return read_file(self.path, ".writer", 1000).decode("utf-8", "replace")
        except (OSError, StoreError):
            return "another process"

    # ----- the manifest and the summary

    def manifest(self) -> dict[str, Any]:
        """What was run, as plain data."""
        return read_checked(self.path, "manifest.json", "manifest")

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest. What servers say of themselves stands in it, so known secrets are hidden."""
        self._write("manifest.json", sealed(_dump(record_mask().inside(dict(manifest)))))

    def trust(self) -> None:
        """Sign the manifest as it is now: from here on the run counts as one of this user."""
        self.write_manifest(signed(self.manifest()))

    def summary(self) -> dict[str, Any] | None:
        """The scores, `None` where the run was never scored."""
        there = os.path.lexists(self.path / "summary.json")
        return read_checked(self.path, "summary.json", "summary") if there else None

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace the summary."""
        self._write("summary.json", sealed(_dump(summary)))

    # ----- the journal

    def append(self, records: Iterable[Record]) -> list[Record]:
        """Add finished records; when this returns they are on the disk. Returns them as they were kept: one
        that is too long to be read again is kept as a failure that says so."""
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
        self._journal.append(lines)
        return kept

    def _line(self, record: Record) -> bytes:
        """A record as it stands in the journal, which is all of it, so that it is on the disk when the line
        is; only long texts of the prompt and the hits are in blobs."""
        data = record.model_dump(mode="json", exclude_defaults=True)
        for key in ("hits", "prompt"):
            if key in data:
                data[key] = self._blobs.externalise(data[key])
        return journal_line(data)

    def contents(self) -> Contents:
        """Where every answer and failure stands, and which lines cannot be used; quick, for what is long is
        not read."""
        found: dict[tuple[str, int], Entry] = {}
        flaws: list[Flaw] = []
        for line in self._journal:
            if line.flaw is not None:
                flaws.append(Flaw(line.number, line.flaw))
                continue
            try:
                kept = self._kept(line.text)
            except _FlawError as error:
                if not (error.is_no_json and line.is_half):
                    flaws.append(Flaw(line.number, str(error)))
                continue
            key = kept.question.id, kept.repeat
            found[key] = Entry(line.number, line.offset, kept.error is not None)
        return Contents(found, flaws)

    def entries(self) -> dict[tuple[str, int], Entry]:
        """The entries of `contents`."""
        return self.contents().entries

    def _kept(self, text: bytes) -> _Kept:
        """What must be whole of a line; raises _FlawError."""
        try:
            kept = _Kept.model_validate_json(text)  # quicker than to read it all
        except ValidationError:
            kept = self._kept_slowly(text)
        if kept.answer is None and kept.error is None:
            raise _FlawError("it holds neither an answer nor a failure")
        return kept

    def _kept_slowly(self, text: bytes) -> _Kept:
        """The same for a line with half a character, and for one of an earlier version, in which every long
        text may be in a blob."""
        try:
            data = json.loads(text)
        except RecursionError:
            raise _FlawError("it is nested too deeply") from None
        except ValueError:
            raise _FlawError(_NO_JSON) from None
        try:
            if not isinstance(data, dict):
                raise _FlawError("it is not a record")
            rest = {key: value for key, value in data.items() if key not in ("hits", "prompt")}
            return _Kept.model_validate(self._blobs.internalise(rest))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise _FlawError(f"it is not a record: {place}: {first['msg']}") from None
        except RecursionError:
            raise _FlawError("it is nested too deeply") from None
        except StoreError as error:
            raise _FlawError(str(error)) from None

    def read(self, entries: Iterable[Entry], *, light: bool = False) -> Iterator[Record]:
        """The records, one at a time; `light` ones without hits, fingerprints and the texts of prompts.

        Raises StoreError where the journal is no longer what it was when its entries were read.
        """
        with open_file(self.path, JOURNAL) as file:
            for entry in entries:
                file.seek(entry.offset)
                try:
                    yield self._record(_loads(file.readline()), light=light)
                except (ValueError, RecursionError) as error:
                    raise StoreError(
                        f"{self._journal.path}:{entry.number}: changed while it was read"
                    ) from error

    def _record(self, data: dict[str, Any], *, light: bool) -> Record:
        """The record of a line. Prompt and hits are not known where a text of theirs is lost, as a host that
        lost its power may have kept the journal alone, or where they are not what they should be."""
        try:
            if light:
                _lighten(data)
            return Record.model_validate(self._blobs.internalise(data))
        except (StoreError, ValidationError, AttributeError, TypeError, ValueError, RecursionError):
            rest = {key: value for key, value in data.items() if key not in ("hits", "prompt")}
            return Record.model_validate({**self._blobs.internalise(rest), "hits": None, "prompt": None})

    def records(self, *, light: bool = False) -> list[Record]:
        """The last record of every (question, repeat), in the order first seen; `light` as for `read`."""
        entries = self.entries()
        return list(self.read(entries.values(), light=light)) if entries else []

    def by_question(self) -> Iterator[list[Entry]]:
        """The entries of each question, all its repeats together."""
        groups: dict[str, list[Entry]] = {}
        for (question, _), entry in self.entries().items():
            groups.setdefault(question, []).append(entry)
        yield from groups.values()

    # ----- blobs

    def put_blob(self, text: str) -> str:
        """Keep a text under its sha256; returns the hash. Raises TooLongError."""
        return self._blobs.put(text)

    def blob(self, name: str) -> str:
        """A text by its hash; raises StoreError."""
        return self._blobs.get(name)

    # ----- views and verdicts

    def write_view(
        self, records: Sequence[Record], scores: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Write `questions/<id>.json` for all repeats of one question."""
        question = records[0].question
        repeats = []
        for index, record in enumerate(records):
            repeats.append(_view(record, dict(scores[index]) if scores else {}))
        whole = {"schema": SCHEMA, "run": self.id, "question": question.model_dump(mode="json")}
        self._write(f"questions/{view_names(question.id)[0]}", sealed(_dump({**whole, "repeats": repeats})))

    def set_aside_views(self) -> None:
        """Rename the question files that the journal does not stand behind to `NAME.json.stale`.

        No report counts them then, and nothing is lost: where a line of the journal is damaged, its question
        file can be the only copy of the answer.
        """
        files = {path.name for path in (self.path / "questions").glob("*.json")}
        if stale := files - {view_names(question)[0] for question, _ in self.entries()}:
            for name in sorted(stale):
                path = self.path / "questions" / name
                try:
                    path.replace(path.with_name(f"{name}.stale"))
                except OSError as error:
                    raise StoreError(f"{path} cannot be renamed: {error.strerror or error}") from error

    def views(self) -> Iterator[dict[str, Any]]:
        """Every question file, by name; raises StoreError for one that cannot be used."""
        return read_views(self.path)

    def verdicts(self, kind: str) -> dict[str, Verdict]:
        """Judgements that were kept, by key."""
        name = f"verdicts/{safe_name(kind)}.json"
        if not os.path.lexists(self.path / name):
            return {}
        try:
            kept = read_object(self.path, name)
            return {key: Verdict.model_validate(value) for key, value in kept.items()}
        except ValidationError as error:
            path = self.path / name
            raise StoreError(f"{path} does not hold verdicts; delete it to judge again") from error

    def write_verdicts(self, kind: str, verdicts: Mapping[str, Verdict]) -> None:
        """Keep judgements."""
        data = {key: verdict.model_dump(exclude_none=True) for key, verdict in verdicts.items()}
        self._write(f"verdicts/{safe_name(kind)}.json", sealed(_dump(data)))

    def keep_file(self, name: str, data: bytes) -> None:
        """Keep a file as it is, for example a copy of the exemplars that the scores rest on."""
        self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the run, whole or not at all."""
        write_file(self.path, name, data)


class _FlawError(Exception):
    """Why a line of the journal cannot be used."""

    @property
    def is_no_json(self) -> bool:
        """Whether it is not JSON, as half a line is not."""
        return self.args == (_NO_JSON,)


def view_names(question: str) -> tuple[str, str]:
    """The file of a question under `questions/`, and the name it had in runs of before."""
    return f"{safe_name(question, unique=True)}.json", f"{old_unique_name(question)}.json"


def read_views(root: Path) -> Iterator[dict[str, Any]]:
    """Every question file of a run, in the order of their names.

    Raises StoreError for one that is damaged, and for one that stands under the name of another question:
    a question would be counted twice.
    """
    for path in sorted((root / "questions").glob("*.json")):
        view = read_checked(root, f"questions/{path.name}", "question")
        name, old = view_names(view["question"]["id"])
        if path.name == old != name and os.path.lexists(path.with_name(name)):
            continue  # it was written again under the name of today
        if path.name not in (name, old):
            raise StoreError(f"{path} holds a question whose file is {name}: 'fathoms score' sets it aside")
        yield view


def require_all(run_dir: Path, summary: Mapping[str, Any], found: int) -> None:
    """Raise StoreError unless a run's question files hold as many answers as its summary counts."""
    counts = summary.get("counts") or {}
    counted = counts.get("answered", 0) + counts.get("errors", 0)
    if "answered" in counts and counted != found:
        raise StoreError(
            f"{run_dir}: its summary counts {counted} answers, and its question files hold {found}:"
            f" run 'fathoms score {run_dir}'"
        )


def flaws_sentence(flaws: Sequence[Flaw]) -> str:
    """`2 lines of journal.jsonl cannot be used: line 17 (it is not JSON), line 40 (...)`."""
    shown = ", ".join(f"line {flaw.number} ({flaw.why})" for flaw in flaws[:10])
    more = f" and {len(flaws) - 10} more" if len(flaws) > 10 else ""
    return f"{len(flaws)} line{'s' * (len(flaws) != 1)} of {JOURNAL} cannot be used: {shown}{more}"


def _view(record: Record, scores: dict[str, Any]) -> dict[str, Any]:
    """One record for a reader: what was said and how good it was first, how it came about after that."""
    whole = record.model_dump(mode="json", exclude={"question", "released"})
    hits = record.hits and [
        {"rank": hit.rank, "score": hit.score, "document": hit.chunk.document}
        | {"pages": list(hit.chunk.pages), "modality": hit.chunk.modality}
        | ({"header": hit.chunk.header} if hit.chunk.header else {})
        | {"text": hit.chunk.text}
        for hit in record.hits
    ]
    if record.prompt and any(record.prompt.context in message.text for message in record.prompt.messages):
        del whole["prompt"]["context"]  # it stands in the message
    first = {key: whole.pop(key) for key in ("repeat", "answer", "error")}
    return {**first, "scores": scores, **whole, "hits": hits}


def _loads(line: bytes) -> Any:
    """The value of a line, by the quicker of two readers where it can; it does not know half characters."""
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)


def _stamp(time: datetime) -> str:
    """A time as it begins the id of a run: to the millisecond, sorted as text."""
    return f"{time:%Y%m%dT%H%M%S}{time.microsecond // 1000:03d}Z"


def _lighten(data: dict[str, Any]) -> None:
    """Leave out of a record what is long, and no answer."""
    for name in ("hits", "fingerprints"):
        data.pop(name, None)
    if prompt := data.get("prompt"):
        data["prompt"] = _without_texts(prompt)


def _without_texts(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt with what is counted of it."""
    parts = [{**part, "prompt": _without_texts(part["prompt"])} for part in prompt.get("parts") or ()]
    return {**prompt, "messages": [], "context": "", "parts": parts}


class Place(NamedTuple):
    """Where a run stands among others: by `sequence`, which runs of before have not (0), then by time."""

    sequence: int
    created: str
    id: str


_HEAD = 4096
_SEQUENCE = re.compile(rb'^  "sequence": (\d{1,15}),?$', re.MULTILINE)
_CREATED = re.compile(rb'^  "created": "([0-9T:.+-]{19,40})",?$', re.MULTILINE)


def _place(path: Path) -> Place | None:
    """Where a run stands, from the first bytes of its manifest: manifests can be long, and folders hold
    thousands. `None` where the manifest cannot be read."""
    try:
        with open_file(path, "manifest.json") as file:
            head = file.read(_HEAD)
        if created := _CREATED.search(head):
            sequence = _SEQUENCE.search(head)
            return Place(int(sequence[1]) if sequence else 0, created[1].decode(), path.name)
        manifest = read_object(path, "manifest.json")  # not as fathoms writes it
    except (OSError, StoreError):
        return None
    sequence, created = manifest.get("sequence", 0), manifest.get("created")
    if not isinstance(sequence, int) or not isinstance(created, str) or not 0 <= sequence < 10**15:
        return None
    return Place(sequence, created, path.name)


def _is_run(path: Path) -> bool:
    """Whether a folder holds a run, however damaged."""
    if os.path.lexists(path / "manifest.json"):
        return path.is_dir()
    return bool(_RUN_NAME.match(path.name)) and os.path.lexists(path / JOURNAL)


def _placed(out: Path) -> list[tuple[Path, Place | None]]:
    """The runs under a folder, by name, and where they stand."""
    try:
        return [(path, _place(path)) for path in sorted(out.iterdir()) if _is_run(path)]
    except OSError as error:
        raise StoreError(f"{out} cannot be read: {error.strerror or error}") from error


def list_runs(out: Path) -> list[Run]:
    """Every run under a folder, oldest first.

    The order is that in which they were made, by `sequence`, whatever the clock said; runs of before that was
    kept come first, by their time. A run whose manifest cannot be read stands where its id belongs by time.
    """
    if not out.is_dir():
        return []
    placed = _placed(out)
    order = [path for path, _ in sorted(((p, w) for p, w in placed if w), key=lambda pair: pair[1])]
    for path in (path for path, place in placed if place is None):
        earlier = [number for number, other in enumerate(order, start=1) if other.name < path.name]
        order.insert(max(earlier, default=0), path)
    return [Run(path) for path in order]


def find_run(reference: str, out: Path) -> Run:
    """A run by path, id, `latest`, `NAME` (its newest) or `NAME~1` (the one before).

    Raises UsageError that names what there is.
    """
    for path in (Path(reference), out / reference):
        with suppress(OSError, ValueError):  # too long or no path at all: then it is a name
            if _is_run(path):
                return Run(path)
    name, _, back = reference.partition("~")
    if back and not back.isdigit():
        raise UsageError(f"'{reference}': want NAME~1 for the run before the newest")
    runs = list_runs(out)
    if name != "latest":
        runs = [run for run in runs if run_name(run) == safe_name(name, 60)]
    steps = int(back or 0)
    if steps < len(runs):
        return runs[-1 - steps]
    if runs:
        raise UsageError(f"no run '{reference}': {out} holds {len(runs)} of '{name}'")
    names = sorted({run_name(run) for run in list_runs(out)})
    if not names:
        raise UsageError(f"no run '{reference}'; {out} holds no runs")
    raise UsageError(f"no run '{reference}'{suggest(name, [*names, 'latest'])}")


def run_name(run: Run) -> str:
    """The name in a run's id, without time and fingerprint."""
    match = _RUN_NAME.match(run.id)
    return match["name"] if match else run.id
