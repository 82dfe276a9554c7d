"""What a list of runs shows of each. It is read from the small files of the run, without the checks that
scoring and reports make, because folders hold thousands of runs."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fathoms.errors import StoreError
from fathoms.paths import file_state, is_running
from fathoms.runs.folder import open_file, read_file, read_object
from fathoms.runs.journal import JOURNAL
from fathoms.types.run.summary import known_cost

Row = dict[str, Any]
SUMMARY = "summary.json"
_WRITER = re.compile(r"process (\d{1,10}) on (.*)", re.DOTALL)
_BLOCK = 2**20


def listed(run: Path) -> tuple[Row, str | None]:
    """Return the figures of one run, as `fathoms ls --json` prints them, and what is wrong with its files; of
    a damaged run only the id is known."""
    row, _, _, flaw = _read(run)
    return row, flaw


def _read(run: Path) -> tuple[Row, Mapping[str, Any], Mapping[str, Any], str | None]:
    """Return the row of a run, its manifest, its summary, and what is wrong with them."""
    manifest: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    flaw = None
    try:
        manifest = read_object(run, "manifest.json")
        if os.path.lexists(run / SUMMARY):
            summary = read_object(run, SUMMARY)
    except StoreError as error:
        flaw = str(error)
    profile, sweep = summary.get("profile"), part(manifest, "sweep")
    overall = part(summary, "profiles", str(profile), "overall")
    totals = part(manifest, "totals")
    row = {
        "run": run.name,
        "name": manifest.get("name", run.name),
        "model": manifest.get("model"),
        "profile": profile,
        **{key: number(overall.get(key)) for key in ("correctness", "hallucination", "n", "errors")},
        "searched": number(part(summary, "counts").get("searched")),
        "retrieval_only": summary.get("retrieval_only") is True,
        "recall@10": number(part(summary, "metrics", "recall@10", "overall").get("value")),
        "cost": known_cost(*(number(totals.get(key)) for key in ("cost", "answers", "errors"))),
        "seconds": number(totals.get("seconds")),
        "complete": summary.get("complete"),
        "sweep": sweep.get("id"),
        "cell": part(sweep, "cell"),
    }
    return row, manifest, summary, flaw


def followed(run: Path) -> Row:
    """Return what `listed` does and how the run stands: its `status`, when it was `created`, its place
    among the others (`sequence`), its data set, the interval of its correctness, how many answers are
    `expected`, and `why` it is incomplete or damaged.

    The status is `running`, `complete`, `part failed` (all were asked, and some calls failed), `failed` (no
    call succeeded), `incomplete`, `not scored`, `interrupted` or `damaged`.
    """
    row, manifest, summary, flaw = _read(run)
    bounds = part(summary, "profiles", str(row["profile"]), "overall", "intervals", "correctness")
    data = part(manifest, "data")
    incomplete = summary.get("incomplete")
    asked = number(data.get("asked")) or number(data.get("questions")) or 0
    why = flaw or "; ".join(map(str, incomplete if isinstance(incomplete, list) else ()))
    return row | {
        "sequence": number(manifest.get("sequence")) or 0,
        "created": str(manifest.get("created") or ""),
        "data": data.get("name"),
        "low": number(bounds.get("low")),
        "high": number(bounds.get("high")),
        "expected": asked * (number(manifest.get("repeats")) or 1),
        "why": why[:500],
        "status": "damaged" if flaw else _status(run, row, manifest, summary),
    }


def _status(run: Path, row: Row, manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return how a run stands whose files can be read."""
    if is_written(run):
        return "running"
    if summary:
        if not summary.get("complete"):
            return "incomplete"
        return "complete" if not row["errors"] else "part failed" if row["n"] or row["searched"] else "failed"
    return "not scored" if part(manifest, "totals") else "interrupted"


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


def part(value: Any, *keys: str) -> dict[str, Any]:
    """Return the object at the end of a path of keys; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def number(value: Any) -> int | float | None:
    """Return a value if it is a number."""
    return value if isinstance(value, int | float) else None
