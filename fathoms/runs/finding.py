"""Lists the runs in a folder, and finds a run by the reference that a user gives."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fathoms.config import suggest
from fathoms.errors import UsageError
from fathoms.paths import safe_name
from fathoms.runs.order import RUN_NAME, Place, in_order, is_run, place_of
from fathoms.runs.store import Run


def list_runs(out: Path) -> list[Run]:
    """Every run in a folder, oldest first (`in_order`)."""
    return [Run(path) for path in in_order(out)]


def oldest_first(runs: Iterable[Run]) -> list[Run]:
    """Order runs as `list_runs` does, wherever they lie; those with an unreadable manifest come first."""
    return sorted(runs, key=lambda run: place_of(run.path) or Place(0, "", run.id))


def find_run(reference: str, out: Path) -> Run:
    """Find a run by path, id, `latest`, `NAME` (its newest run) or `NAME~1` (the run before that).

    Raises UsageError with a suggestion or a list of the names there are.
    """
    for path in (Path(reference), out / reference):
        with suppress(OSError, ValueError):  # not a valid path, so it is a name
            if is_run(path):
                return Run(path)
    name, _, back = reference.partition("~")
    if back and not back.isdigit():
        raise UsageError(f"'{reference}': expected NAME~1 for the run before the newest")
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


def with_earlier(run: Run, out: Path, most: int, after: Iterable[str]) -> list[Run]:
    """Return a run and the runs of its name right before it, at most `most` together, oldest first. Runs with
    an id of `after`, and runs that are older than these, are left out."""
    newest = max(after, default="")
    runs = [other for other in list_runs(out) if run_name(other) == run_name(run)]
    earlier = runs[: [other.id for other in runs].index(run.id)] if run.id in {o.id for o in runs} else []
    fit = [other for other in earlier if other.id > newest]
    return [*fit[max(0, len(fit) - most + 1) :], run]


def run_name(run: Run) -> str:
    """The name in a run's id, without time and fingerprint."""
    match = RUN_NAME.match(run.id)
    return match["name"] if match else run.id
