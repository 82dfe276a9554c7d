"""The order of the runs in a folder, read from their manifests. Importing this module is quick."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fathoms.errors import StoreError
from fathoms.paths import file_state
from fathoms.runs.folder import open_file, read_object, typed
from fathoms.runs.journal import JOURNAL

RUN_NAME = re.compile(r"^\d{8}T\d{6,9}Z_(?P<name>.+)_[0-9a-f]{6,}$")
"""The id of a run: `<UTC time>_<name>_<short fingerprint>`."""


class Place(NamedTuple):
    """The position of a run among others: by `sequence` (0 in runs of earlier versions), then by time."""

    sequence: int
    created: str
    id: str


_HEAD = 4096
_SEQUENCE = re.compile(rb'^  "sequence": (\d{1,15}),?$', re.MULTILINE)
_CREATED = re.compile(rb'^  "created": "([0-9T:.+-]{19,40})",?$', re.MULTILINE)


def place_of(path: Path) -> Place | None:
    """The position of a run, read from its manifest once as long as that does not change: folders hold
    thousands, and a command asks for their order several times. `None` where it cannot be read."""
    try:
        return _place_in(path, file_state(os.stat(f"{path}/manifest.json")))  # noqa: PTH116
    except OSError:
        return None


@lru_cache(maxsize=10_000)
def _place_in(path: Path, _: tuple[int, ...]) -> Place | None:
    """Read the position of a run from the first bytes of its manifest where possible, which can be long."""
    try:
        with open_file(path, "manifest.json") as file:
            head = file.read(_HEAD)
        if created := _CREATED.search(head):
            sequence = _SEQUENCE.search(head)
            return Place(int(sequence[1]) if sequence else 0, created[1].decode(), path.name)
        from fathoms.types.run.listed import ListedPlace

        found = read_object(path, "manifest.json")  # not formatted as fathoms writes it
        manifest = typed(ListedPlace, found, path / "manifest.json")
    except (OSError, StoreError):
        return None
    return Place(manifest.sequence, manifest.created, path.name) if manifest.created else None


def is_run(path: Path) -> bool:
    """Whether a folder holds a run, even a damaged one."""
    if os.path.lexists(f"{path}/manifest.json"):
        return path.is_dir()
    return bool(RUN_NAME.match(path.name)) and os.path.lexists(path / JOURNAL)


def placed(out: Path) -> list[tuple[Path, Place | None]]:
    """The runs in a folder sorted by name, with their positions."""
    try:
        # the copies with which fathoms works are hidden
        paths = [out / name for name in sorted(os.listdir(out)) if not name.startswith(".")]  # noqa: PTH208
        return [(path, place_of(path)) for path in paths if is_run(path)]
    except OSError as error:
        raise StoreError(f"{out} cannot be read: {error.strerror or error}") from error


def in_order(out: Path) -> list[Path]:
    """The folders of the runs in a folder, oldest first.

    Runs are ordered by `sequence`, whatever the clock said; runs of earlier versions, which have none, come
    first, ordered by time. A run whose manifest cannot be read is placed by the time in its id.
    """
    if not out.is_dir():
        return []
    found = placed(out)
    order = [path for path, _ in sorted(((p, w) for p, w in found if w), key=lambda pair: pair[1])]
    for path in (path for path, place in found if place is None):
        earlier = [number for number, other in enumerate(order, start=1) if other.name < path.name]
        order.insert(max(earlier, default=0), path)
    return order


def references(ids: Sequence[str]) -> list[str]:
    """The names by which the command line finds runs: NAME for the newest run of a name, NAME~1 for the one
    before, and the id where the name means something else. The ids are in order, the oldest first."""
    later: Counter[str] = Counter()
    found = []
    for id in reversed(ids):
        name = run_name(id)
        back = later[name]
        later[name] += 1
        found.append(id if name == "latest" or "~" in name else f"{name}~{back}" if back else name)
    return found[::-1]


def creation_time(id: str) -> str:
    """The day and the time of a run's id, in UTC: `27 Nov 13:28`; a dash if it has none."""
    try:
        return datetime.strptime(id[:13], "%Y%m%dT%H%M").strftime("%d %b %H:%M")
    except ValueError:
        return "-"


def times_apart(ids: Sequence[str]) -> list[str]:
    """Return the shortest text that tells runs with one name apart: the time of day in UTC, the day, or both,
    such as `13:28`, `13:28:05`, `27 Nov` or `27 Nov 13:28`; the ids where no time does."""
    try:
        times = [datetime.strptime(id[:15], "%Y%m%dT%H%M%S") for id in ids]
    except ValueError:
        return list(ids)
    day = "" if len({time.date() for time in times}) == 1 else "%d %b"
    day += " %Y" * (len({time.year for time in times}) > 1)
    for form in (day, f"{day} %H:%M", f"{day} %H:%M:%S"):
        texts = [time.strftime(form).strip() for time in times]
        if len(set(texts)) == len(ids):
            return texts
    return list(ids)


def run_name(id: str) -> str:
    """The name in a run's id, without time and fingerprint."""
    match = RUN_NAME.match(id)
    return match["name"] if match else id
