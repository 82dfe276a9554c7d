"""Lists the runs in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fathoms.runs.order import Place, in_order, place_of, run_name
from fathoms.runs.run import Run


def list_runs(out: Path) -> list[Run]:
    """Every run in a folder, oldest first (`in_order`)."""
    return [Run(path) for path in in_order(out)]


def oldest_first(runs: Iterable[Run]) -> list[Run]:
    """Order runs as `list_runs` does, wherever they lie; those with an unreadable manifest come first."""
    return sorted(runs, key=lambda run: place_of(run.path) or Place(0, "", run.id))


def with_earlier(run: Run, out: Path, most: int, after: Iterable[str]) -> list[Run]:
    """Return a run and the runs of its name right before it, at most `most` together, oldest first. Runs with
    an id of `after`, and runs that are older than these, are left out."""
    newest = max(after, default="")
    runs = [other for other in list_runs(out) if run_name(other.id) == run_name(run.id)]
    earlier = runs[: [other.id for other in runs].index(run.id)] if run.id in {o.id for o in runs} else []
    fit = [other for other in earlier if other.id > newest]
    return [*fit[max(0, len(fit) - most + 1) :], run]
