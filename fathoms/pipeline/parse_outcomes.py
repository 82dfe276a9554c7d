"""What comes of files that are parsed: documents are stored, many short ones together, and then told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from fathoms.errors import DocumentError
from fathoms.ingest.workers.parallel import Outcome
from fathoms.pdf.parsed import Parsed

SECONDS = 0.2
"""So long documents wait for others at most: a transaction takes as long as storing one of them."""


class ParseOutcomes:
    """Gives documents to `store`, and tells of each only when it is stored, so that nothing that was told is
    lost if this process is killed. `failed` are the files that could not be read, by name."""

    def __init__(
        self, store: Callable[[Mapping[str, Parsed]], None], tell: Callable[[str, Outcome, float], Any]
    ) -> None:
        self.failed: dict[str, DocumentError] = {}
        self._store, self._tell = store, tell
        self._waiting: dict[str, tuple[Parsed, float]] = {}
        self._kept = time.monotonic()

    def done(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Take what came of a file, which a worker had for so many seconds."""
        if isinstance(outcome, DocumentError):
            self.failed[name] = outcome
            self._tell(name, outcome, seconds)
            return
        self._waiting[name] = outcome, seconds
        if time.monotonic() - self._kept > SECONDS:
            self.keep()

    def keep(self) -> None:
        """Store the documents that wait."""
        if self._waiting:
            self._store({name: parsed for name, (parsed, _) in self._waiting.items()})
        told, self._waiting = self._waiting, {}
        for name, (parsed, seconds) in told.items():
            self._tell(name, parsed, seconds)
        self._kept = time.monotonic()
