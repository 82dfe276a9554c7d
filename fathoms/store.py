"""A run on disk: the wall between those who answer and those who score and report.

The journal is the durable truth: a record is done once its line is fsync'd. The files under
`questions/` are a readable view of it, made again where they are missing. Long texts are kept once, in
`blobs/`, named by their hash.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from fathoms.config import suggest
from fathoms.errors import StoreError, UsageError
from fathoms.journal import Journal
from fathoms.masking import record_mask
from fathoms.paths import safe_name, sweep, write_atomic
from fathoms.trust import signed
from fathoms.types import Record, Verdict

SCHEMA = 1
_LONG = 400
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


def _read(path: Path) -> Any:
    """JSON from a file of a run."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{path} is missing: this is not a whole run") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


class Entry(NamedTuple):
    """A line of the journal: its number, from 1, the byte where it begins, and whether it is a failure."""

    number: int
    offset: int
    failed: bool


class Run:
    """One run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self._journal = Journal(path / "journal.jsonl")
        self._blobs: set[str] = set()

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
        manifest as one of this user."""
        cls.require_writable(out)
        now = datetime.now(UTC)
        while any(out.glob(f"{_stamp(now)}_*")):  # ids are in the order of their runs: one a millisecond
            now += timedelta(milliseconds=1)
        run = cls(out / f"{_stamp(now)}_{safe_name(name, 60)}_{fingerprint[:8]}")
        try:
            run.path.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"{run.path} cannot be made: {error.strerror or error}") from error
        whole = {"schema": SCHEMA, "run": run.id, "name": name, "created": now.isoformat(), **manifest}
        run._write("README.md", _README.format(run=run.id).encode())
        run.write_manifest(signed(json.loads(_dump(whole))))
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to this run; raises UsageError where one does already.

        The lock goes with the process, however it ends.
        """
        from filelock import FileLock, Timeout

        lock, owner = FileLock(self.path / ".lock", timeout=0), self.path / ".writer"
        try:
            lock.acquire()
        except Timeout:
            who = owner.read_text() if owner.is_file() else "another process"
            raise UsageError(f"{self.id} is being written by {who}: wait for its end, or stop it") from None
        try:
            sweep(self.path, *(self.path / name for name in ("questions", "blobs", "verdicts")))
            self._write(".writer", f"process {os.getpid()} on {platform.node()}".encode())
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()

    # ----- the manifest and the summary

    def manifest(self) -> dict[str, Any]:
        """What was run, as plain data."""
        manifest: dict[str, Any] = _read(self.path / "manifest.json")
        if manifest.get("schema", 0) > SCHEMA:
            raise StoreError(f"{self.path} was written by a newer fathoms (schema {manifest['schema']})")
        return manifest

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest. What servers say of themselves stands in it, so known secrets are hidden."""
        self._write("manifest.json", _dump(record_mask().inside(dict(manifest))))

    def trust(self) -> None:
        """Sign the manifest as it is now: from here on the run counts as one of this user."""
        self.write_manifest(signed(self.manifest()))

    def summary(self) -> dict[str, Any] | None:
        """The scores, `None` where the run was never scored."""
        path = self.path / "summary.json"
        return _read(path) if path.exists() else None

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace the summary."""
        self._write("summary.json", _dump(summary))

    # ----- the journal

    def append(self, records: Iterable[Record]) -> None:
        """Add finished records; when this returns they are on the disk."""
        lines = b"".join(json.dumps(self._line(record)).encode() + b"\n" for record in records)
        self._journal.append(lines)

    def _line(self, record: Record) -> dict[str, Any]:
        """A record as it stands in the journal: the answer itself, which is on the disk when the line is, and
        long texts of the prompt and the hits by name."""
        data = record.model_dump(mode="json", exclude_defaults=True)
        kept = {key: data.pop(key) for key in ("answer", "error") if key in data}
        return {**self._externalise(data), **kept}

    def entries(self) -> dict[tuple[str, int], Entry]:
        """Where the last record of every (question, repeat) stands, in the order first seen; quick, for what
        is long is not read."""
        found: dict[tuple[str, int], Entry] = {}
        for line in self._journal:
            try:
                key = line.value["question"]["id"], line.value.get("repeat", 0)
                found[key] = Entry(line.number, line.offset, line.value.get("error") is not None)
            except (AttributeError, KeyError, TypeError) as error:
                raise self._no_record(line.number, repr(error)) from error
        return found

    def read(self, entries: Iterable[Entry], *, light: bool = False) -> Iterator[Record]:
        """The records, one at a time; `light` ones without hits, fingerprints and the texts of prompts."""
        with self._journal.path.open("rb") as file:
            for entry in entries:
                file.seek(entry.offset)
                data = json.loads(file.readline())
                if light:
                    _lighten(data)
                try:
                    yield Record.model_validate(self._whole(data))
                except ValidationError as error:
                    raise self._no_record(entry.number, error.errors()[0]["msg"]) from error

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

    def _whole(self, data: dict[str, Any]) -> dict[str, Any]:
        """A line with its texts. Prompt and hits are not known where a text of theirs is lost: a host that
        lost its power may have kept the journal alone."""
        try:
            found: dict[str, Any] = self._internalise(data)
        except StoreError:
            found = self._internalise({**data, "prompt": None, "hits": None})
        return found

    def _no_record(self, number: int, why: str) -> StoreError:
        """The error for a line that says something else."""
        return StoreError(f"{self._journal.path}:{number}: not a record: {why}")

    # ----- blobs

    def put_blob(self, text: str) -> str:
        """Keep a text under its sha256; returns the hash."""
        data = text.encode("utf-8", "replace")
        name = hashlib.sha256(data).hexdigest()
        if name not in self._blobs:
            if not (self.path / "blobs" / f"{name}.gz").exists():
                self._write(f"blobs/{name}.gz", gzip.compress(data, 6, mtime=0))
            self._blobs.add(name)
        return name

    def blob(self, name: str) -> str:
        """A text by its hash."""
        if not re.fullmatch(r"[0-9a-f]{64}", name):
            raise StoreError(f"{self.path}: '{name}' is not the name of a blob")
        try:
            text = _blob(self.path / "blobs" / f"{name}.gz")
            if hashlib.sha256(text.encode()).hexdigest() != name:
                raise ValueError("it is not what it was")
            return text
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise StoreError(f"{self.path}: blob {name[:12]} cannot be read: {error}") from error

    def _externalise(self, value: Any) -> Any:
        """Long texts out into blobs."""
        if isinstance(value, str):
            return {"blob": self.put_blob(value)} if len(value) > _LONG else value
        if isinstance(value, dict):
            return {key: self._externalise(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._externalise(item) for item in value]
        return value

    def _internalise(self, value: Any) -> Any:
        """The reverse of `_externalise`."""
        if isinstance(value, dict):
            if value.keys() == {"blob"}:
                return self.blob(value["blob"])
            return {key: self._internalise(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._internalise(item) for item in value]
        return value

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
        self._write(
            f"questions/{safe_name(question.id, unique=True)}.json", _dump({**whole, "repeats": repeats})
        )

    def views(self) -> Iterator[dict[str, Any]]:
        """Every question file, by name."""
        for path in sorted((self.path / "questions").glob("*.json")):
            yield _read(path)

    def verdicts(self, kind: str) -> dict[str, Verdict]:
        """Judgements that were kept, by key."""
        path = self.path / "verdicts" / f"{safe_name(kind)}.json"
        if not path.exists():
            return {}
        try:
            return {key: Verdict.model_validate(value) for key, value in _read(path).items()}
        except (AttributeError, ValidationError) as error:
            raise StoreError(f"{path} does not hold verdicts; delete it to judge again") from error

    def write_verdicts(self, kind: str, verdicts: Mapping[str, Verdict]) -> None:
        """Keep judgements."""
        data = {key: verdict.model_dump(exclude_none=True) for key, verdict in verdicts.items()}
        self._write(f"verdicts/{safe_name(kind)}.json", _dump(data))

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the run, whole or not at all."""
        try:
            write_atomic(self.path / name, data)
        except OSError as error:
            raise StoreError(f"{self.path / name} cannot be written: {error.strerror or error}") from error


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


@lru_cache(maxsize=128)
def _blob(path: Path) -> str:
    """The text of a blob: what many records share is read once."""
    return gzip.decompress(path.read_bytes()).decode("utf-8")


def list_runs(out: Path) -> list[Run]:
    """Every run under a folder, oldest first."""
    if not out.is_dir():
        return []
    return [Run(path) for path in sorted(out.iterdir()) if (path / "manifest.json").is_file()]


def find_run(reference: str, out: Path) -> Run:
    """A run by path, id, `latest`, `NAME` (its newest) or `NAME~1` (the one before).

    Raises UsageError that names what there is.
    """
    for path in (Path(reference), out / reference):
        with suppress(OSError, ValueError):  # too long or no path at all: then it is a name
            if (path / "manifest.json").is_file():
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
