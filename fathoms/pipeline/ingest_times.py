"""Measures how long parsing, chunking and embedding took, as far as the cache did not have the results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class IngestTimes:
    """The seconds that each stage took, and how many items it made: pages that were parsed or chunked, or
    texts that were embedded. What came from the cache is not an item, so a stage with 0 items only read the
    cache, and its seconds say nothing about its speed."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._made: dict[str, int] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done inside as this stage."""
        started = time.perf_counter()
        self._made.setdefault(name, 0)
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - started

    def made(self, name: str, items: int) -> None:
        """Count items that a stage made now."""
        self._made[name] = self._made.get(name, 0) + items

    def report(self) -> dict[str, dict[str, float | int]]:
        """Return `seconds` and `made` of each stage, as the manifest stores them."""
        return {
            name: {"seconds": round(seconds, 4), "made": self._made[name]}
            for name, seconds in self._seconds.items()
        }
