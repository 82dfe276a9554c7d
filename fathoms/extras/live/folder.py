"""The list of runs of a folder. Files that have not changed are not read again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from fathoms.errors import StoreError, UsageError
from fathoms.report.html.claims import cost_of
from fathoms.report.html.overview import printed
from fathoms.runs.listing import SUMMARY, Lines, Row, followed, state_of
from fathoms.runs.order import is_run
from fathoms.runs.run import Run

_FILES = ("manifest.json", SUMMARY, ".writer")
SHOWN = ("run", "name", "model", "data", "status", "why", "created", "expected", "answered", "errors")
FIGURES = ("correctness", "low", "high", "hallucination", "recall@10", "n", "searched", "cost", "seconds")
"""What the list shows of each run."""
_UNITS = {"cost": "US dollars", "seconds": "seconds"}


class Folder:
    """The runs of a folder; `path` is its real path."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._rows: dict[str, tuple[Any, Row]] = {}
        self._lines: dict[str, Lines] = {}
        self._lock = Lock()

    def rows(self) -> list[Row]:
        """Return what the list shows of each run, the newest first; raises StoreError."""
        with self._lock:
            try:
                names = [entry.name for entry in os.scandir(self.path) if entry.is_dir()]
            except OSError as error:
                raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error
            found = {name: row for name in names if (row := self._row(self.path / name)) is not None}
            self._rows = {name: self._rows[name] for name in found}
        return sorted(
            found.values(), key=lambda row: (row["sequence"], row["created"], row["run"]), reverse=True
        )

    def _row(self, path: Path) -> Row | None:
        """Return the row of one folder, `None` if it holds no run of this folder."""
        state = tuple(state_of(path, name) for name in _FILES)
        known = self._rows.get(path.name)
        if known is None or known[0] != state or known[1]["status"] == "running":
            if not self._is_here(path):
                return None
            known = state, followed(path)
            self._rows[path.name] = known
        row = known[1]
        if row["status"] == "running":
            answered = self._lines.setdefault(path.name, Lines(path)).count()
            row["answered"] = min(answered, row["expected"])
        return row

    def _is_here(self, path: Path) -> bool:
        """Whether a path is a run of this folder, and no link to one elsewhere."""
        return is_run(path) and path.resolve().parent == self.path

    def find(self, names: Sequence[str]) -> list[Run]:
        """Return the runs with these ids; raises UsageError for one that is not in the folder."""
        for name in names:
            if (
                name in ("", ".", "..")
                or Path(name).name != name
                or "\0" in name
                or not self._is_here(self.path / name)
            ):
                raise UsageError(f"there is no run '{name}' in {self.path.name}")
        return [Run(self.path / name) for name in dict.fromkeys(names)]


def shown(row: Row) -> dict[str, Any]:
    """Return what the page needs of a row."""
    texts = {key: printed(row.get(key), unit=_UNITS.get(key, "share"))["text"] for key in FIGURES}
    texts["cost"] = cost_of(row.get("cost"))
    texts["range"] = printed(None, row.get("low"), row.get("high"))["range"]
    return {key: row.get(key) for key in (*SHOWN, *FIGURES)} | {"text": texts}
