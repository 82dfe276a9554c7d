"""Nights without a run: when `fathoms run` ended before a run was made, such as with the service down.

They stand in `missed.jsonl` beside the runs, one line each, so that `trends` and `gate` do not take the run
of the night before for that of tonight.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fathoms.errors import FathomsError
from fathoms.runs.run import Run
from fathoms.safety.masking import known_mask

FILE = "missed.jsonl"
_LONGEST = 300
"""The most characters of a reason, and of a name."""
_MOST = 100_000
"""The most lines that are read, the newest ones."""


@dataclass(frozen=True)
class Missed:
    """A night without a run: the name that the run would have, when it was tried (ISO 8601 in UTC), and why
    there is none."""

    name: str
    created: str
    why: str


def now() -> str:
    """The time, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def record_missed(out: Path, names: Sequence[str], started: str, why: str) -> None:
    """Store that there is no run of some names since `started`; those that have one are left out. A folder
    that cannot be written is no error: the command reports one already."""
    reason = known_mask().text(why)[:_LONGEST]
    lines = [
        json.dumps({"name": name[:_LONGEST], "created": started, "why": reason}, ensure_ascii=False)
        for name in names
        if not _has_run(out, name, started)
    ]
    with suppress(OSError):
        out.mkdir(parents=True, exist_ok=True)
        with (out / FILE).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


def _has_run(out: Path, name: str, since: str) -> bool:
    """Return whether a run of a name was made since a time."""
    with suppress(FathomsError):
        return (Run.open(name, out).manifest.created or "") >= since
    return False


def missed(out: Path, name: str) -> Iterator[Missed]:
    """Yield the nights without a run of a name, oldest first. Damaged lines are skipped."""
    try:
        with (out / FILE).open(encoding="utf-8", errors="replace") as file:
            lines = file.readlines(_MOST * _LONGEST)[-_MOST:]
    except OSError:
        return
    for line in lines:
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            row = json.loads(line)
            one = Missed(str(row["name"]), str(row["created"]), str(row["why"]))
            if one.name == name:
                yield one


def missed_since(out: Path, reference: str, created: str | None) -> Missed | None:
    """Return the last night without a run after the newest run of a name; `None` where there is none."""
    return next((one for one in reversed([*missed(out, reference)]) if one.created > (created or "")), None)
