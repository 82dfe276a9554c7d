"""Creates runs, locks them for one writer, and writes their manifest and summary."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fathoms.errors import StoreError, UsageError
from fathoms.paths import safe_name, sweep
from fathoms.runs.blobs import SHARED
from fathoms.runs.folder import json_bytes, open_file, read_file, sealed, write_file
from fathoms.runs.order import placed
from fathoms.runs.run import Run, read_manifest
from fathoms.runs.trust import signed
from fathoms.safety.masking import record_mask
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import SCHEMA
from fathoms.types.run.summary import Summary

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
| scorings/ | the summaries and scores by earlier versions of the questions, if there are any |
| report.html, report.md | the report for people; `fathoms report` adds radar plots |
| scores.csv, table.tex | the scores for spreadsheets and LaTeX |
| reviews.jsonl | human ratings of the scores, if there are any |
| labels.jsonl, grades.jsonl, errors.jsonl | what people say of claims, answers and errors, if there is any |
| samples.jsonl | how the answers were drawn whose claims people labelled, where not all had the same chance |

Scores go from 0 to 1; null means "does not apply" or "not known", never 0. Pages count from 1.
"""


def require_writable(out: Path) -> None:
    """Raise StoreError now if a run could not be written later. Creates the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error


def new_run(out: Path, name: str, fingerprint: str, manifest: Manifest | Mapping[str, Any]) -> Run:
    """Create `OUT/<UTC time>_<name>_<short fingerprint>/`, which never exists already, and sign its
    manifest as this user's.

    Its `sequence` is one more than that of any run in the folder. It decides which run is the latest,
    because clocks can be wrong.
    """
    require_writable(out)
    before = [place.sequence for _, place in placed(out) if place]
    now = datetime.now(UTC)
    while any(out.glob(f"{_stamp(now)}_*")):  # one run per millisecond keeps ids sorted
        now += timedelta(milliseconds=1)
    run = Run(out / f"{_stamp(now)}_{safe_name(name, 60)}_{fingerprint[:8]}")
    try:
        run.path.mkdir(parents=True)
    except OSError as error:
        raise StoreError(f"{run.path} cannot be made: {error.strerror or error}") from error
    head = {"schema": SCHEMA, "run": run.id, "sequence": max(before, default=0) + 1}
    known = manifest.plain() if isinstance(manifest, Manifest) else manifest
    whole = {**head, "created": now.isoformat(), "name": name, **known}
    write_file(run.path, "README.md", _README.format(run=run.id).encode())
    # what is signed is what will be read
    stored = Manifest.model_validate(json.loads(json_bytes(record_mask().inside(whole))))
    write_manifest(run, signed(stored))
    return run


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep other processes from writing to this run; raises UsageError where one already does.

    The lock is released with the process, however that ends.
    """
    from filelock import FileLock, Timeout

    lock, owner = FileLock(run.path / ".lock", timeout=0), run.path / ".writer"
    try:
        if os.path.lexists(run.path / ".lock"):
            open_file(run.path, ".lock").close()
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"{run.id} is being written by {_writer(run)}: wait until it ends, or stop it"
        ) from None
    except OSError as error:
        raise StoreError(f"{run.path / '.lock'} cannot be locked: {error.strerror or error}") from error
    try:
        sweep(run.path, *(run.path / name for name in ("questions", "blobs", "verdicts")))
        sweep(run.path.parent / SHARED)
        write_file(run.path, ".writer", f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        with suppress(OSError):  # the file is only informative
            owner.unlink(missing_ok=True)
        lock.release()


def _writer(run: Run) -> str:
    """Describe who holds the lock, as far as known."""
    try:
        return read_file(run.path, ".writer", 1000).decode("utf-8", "replace")
    except (OSError, StoreError):
        return "another process"


def write_manifest(run: Run, manifest: Manifest) -> None:
    """Replace the manifest. Known secrets are masked, because servers describe themselves in it."""
    write_file(run.path, "manifest.json", sealed(json_bytes(record_mask().inside(manifest.plain()))))
    run.reread()


def trust_run(run: Run) -> None:
    """Sign the manifest as it is now, so that the run counts as this user's from now on."""
    write_manifest(run, signed(read_manifest(run.path)))


def write_summary(run: Run, summary: Summary) -> None:
    """Write `summary.json` with a checksum, replacing the one before."""
    write_file(run.path, "summary.json", sealed(json_bytes(summary.plain())))
    run.reread()


def _stamp(time: datetime) -> str:
    """A time as it begins the id of a run: to the millisecond, sortable as text."""
    return f"{time:%Y%m%dT%H%M%S}{time.microsecond // 1000:03d}Z"
