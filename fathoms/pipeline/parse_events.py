"""Events about documents that are parsed: each says how far and how fast the whole corpus is."""

from __future__ import annotations

import logging
import time
from typing import Any

from fathoms.errors import DocumentError
from fathoms.pdf.parsed import Parsed
from fathoms.runs.events import happened


class ParseEvents:
    """Tells of each document that was parsed, or failed, as an event.

    `total` are all documents of the corpus and `done` those that were there before. Besides its own facts, an
    event has those of the corpus: documents `done`, `left` and `failed`, documents `per_second` since the
    start, and the `slowest` so far with its seconds.
    """

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._made = total, done, 0
        self._failed = 0
        self._slowest, self._slowest_seconds = "", -1.0
        self._started = time.monotonic()

    def tell(self, name: str, outcome: Parsed | DocumentError, seconds: float) -> None:
        """Tell what came of a document, which took so many seconds with its worker."""
        self._done += 1
        self._made += 1
        if seconds > self._slowest_seconds:
            self._slowest, self._slowest_seconds = name, seconds
        if isinstance(outcome, Parsed):
            happened("document-parsed", document=name, pages=outcome.facts.pages, **self._facts(seconds))
            return
        self._failed += 1
        why = {"kind": outcome.reason, "error": outcome.detail}
        happened("document-failed", level=logging.WARNING, document=name, **self._facts(seconds), **why)

    def _facts(self, seconds: float) -> dict[str, Any]:
        """The seconds of a document, and the facts of the corpus."""
        passed = time.monotonic() - self._started
        return {
            "seconds": round(seconds, 3),
            "done": self._done,
            "left": self._total - self._done,
            "failed": self._failed,
            "per_second": round(self._made / passed, 3) if passed > 0 else None,
            "slowest": self._slowest,
            "slowest_seconds": round(self._slowest_seconds, 3),
        }
