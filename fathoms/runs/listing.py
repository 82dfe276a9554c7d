"""What a list of runs shows of each. It is read from the small files of the run, without the checks that
scoring and reports make, because folders hold thousands of runs."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fathoms.errors import StoreError
from fathoms.paths import file_state, is_running
from fathoms.runs.folder import open_file, read_file, read_object
from fathoms.runs.journal import JOURNAL
from fathoms.types.run.listed import ListedInterval, ListedManifest, ListedSummary, ListedTotals
from fathoms.types.run.part import known_cost

_Kind = TypeVar("_Kind", ListedManifest, ListedSummary)
Row = dict[str, Any]
SUMMARY = "summary.json"
_WRITER = re.compile(r"process (\d{1,10}) on (.*)", re.DOTALL)
_BLOCK = 2**20


class _Parts(NamedTuple):
    """What a list reads of a run: its manifest, its summary if it has one, and what is wrong with them."""

    manifest: ListedManifest
    summary: ListedSummary | None
    flaw: str | None


def listed(run: Path) -> tuple[Row, str | None]:
    """Return the figures of one run, as `fathoms ls --json` prints them, and what is wrong with its files: a
    key that cannot be used is not known, and of a damaged file none is."""
    found = _read(run)
    return _row(run, found), found.flaw


def _read(run: Path) -> _Parts:
    """Read the small files of a run; nothing is known of one that is damaged as a whole."""
    flaws: list[str] = []

    def read(name: str, kind: type[_Kind]) -> _Kind:
        wrong: list[str] = []
        found = kind.model_validate(read_object(run, name), context=wrong)
        flaws.extend(f"{run / name}: {one}" for one in wrong)
        return found

    manifest, summary = ListedManifest(), None
    try:
        manifest = read("manifest.json", ListedManifest)
        if os.path.lexists(run / SUMMARY):
            summary = read(SUMMARY, ListedSummary)
    except StoreError as error:
        flaws.append(str(error))
    return _Parts(manifest, summary, "; ".join(flaws) or None)


def _row(run: Path, found: _Parts) -> Row:
    """Return the row of a run."""
    manifest, summary = found.manifest, found.summary or ListedSummary()
    scores, totals = summary.headline, manifest.totals or ListedTotals()
    return {
        "run": run.name,
        "name": run.name if manifest.name is None else manifest.name,
        "model": manifest.model,
        "profile": summary.profile,
        "correctness": scores.correctness,
        "hallucination": scores.hallucination,
        "n": scores.n,
        "errors": scores.errors,
        "searched": summary.counts.searched,
        "retrieval_only": summary.retrieval_only,
        "recall@10": summary.recall,
        "cost": known_cost(totals.cost, totals.answers, totals.errors),
        "seconds": totals.seconds,
        "complete": summary.complete,
        "sweep": manifest.sweep.id,
        "cell": manifest.sweep.cell,
    }


def followed(run: Path) -> Row:
    """Return what `listed` does and how the run stands: its `status`, when it was `created`, its place
    among the others (`sequence`), its data set, the interval of its correctness, how many answers are
    `expected`, and `why` it is incomplete or damaged.

    The status is `running`, `complete`, `part failed` (all were asked, and some calls failed), `failed` (no
    call succeeded), `incomplete`, `not scored`, `interrupted` or `damaged`.
    """
    found = _read(run)
    row, manifest, summary = _row(run, found), found.manifest, found.summary or ListedSummary()
    bounds = summary.headline.intervals.get("correctness") or ListedInterval()
    return row | {
        "sequence": manifest.sequence,
        "created": manifest.created,
        "data": manifest.data.name,
        "low": bounds.low,
        "high": bounds.high,
        "expected": (manifest.data.asked or manifest.data.questions) * manifest.repeats,
        "why": (found.flaw or "; ".join(summary.incomplete))[:500],
        "status": "damaged" if found.flaw else _status(run, row, found),
    }


def _status(run: Path, row: Row, found: _Parts) -> str:
    """Return how a run stands whose files can be read."""
    if is_written(run):
        return "running"
    if found.summary is None:
        return "interrupted" if found.manifest.totals is None else "not scored"
    if not found.summary.complete:
        return "incomplete"
    return "complete" if not row["errors"] else "part failed" if row["n"] or row["searched"] else "failed"


def is_written(run: Path) -> bool:
    """Return whether a process is writing to a run: one of this machine that is alive, or one of another
    machine that has not said that it has ended."""
    try:
        found = _WRITER.fullmatch(read_file(run, ".writer", 1000).decode("utf-8", "replace"))
    except (OSError, StoreError):
        return False
    return found is not None and (found[2] != platform.node() or is_running(int(found[1])))


def is_growing(run: Path) -> bool:
    """Return whether answers come that the summary of a run does not have yet."""
    if not is_written(run):
        return False
    journal, summary = state_of(run, JOURNAL), state_of(run, SUMMARY)
    return summary is None or (journal is not None and _time(run, JOURNAL) > _time(run, SUMMARY))


def _time(run: Path, name: str) -> int:
    """Return when a file was changed last, in nanoseconds; 0 where there is none."""
    with suppress(OSError):
        return (run / name).stat().st_mtime_ns
    return 0


def state_of(run: Path, name: str) -> tuple[int, ...] | None:
    """Return what changes when a file of a run is written; `None` where there is none."""
    try:
        return file_state((run / name).stat())
    except OSError:
        return None


class Lines:
    """Counts the lines of a journal, reading only what was added since it was last asked."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._offset = 0
        self._lines = 0

    def count(self) -> int:
        """Return how many whole lines there are; 0 where the journal cannot be read."""
        with suppress(OSError, StoreError), open_file(self._run, JOURNAL) as file:
            file.seek(self._offset)
            while block := file.read(_BLOCK):
                self._lines += block.count(b"\n")
                self._offset += len(block)
        return self._lines
