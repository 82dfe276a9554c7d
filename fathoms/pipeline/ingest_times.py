"""Measures how long parsing, chunking and embedding took, as far as the cache did not have the results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any

from fathoms.models.embed.served.spent import EmbeddingCalls


class IngestTimes:
    """The seconds of each stage and its number of items: pages that were parsed or chunked, or texts that
    were embedded. What came from the cache is not an item, so a stage with 0 items only read the cache, and
    its seconds say nothing about its speed. Where a server embeds, `called` adds what its replies took."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._items: dict[str, int] = {}
        self._called: dict[str, EmbeddingCalls] = {}
        self._devices: dict[str, str] = {}
        self._taken: dict[str, dict[str, Any]] = {}
        self._lock = Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done inside as this stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.took(name, time.perf_counter() - started, 0)

    def took(self, name: str, seconds: float, items: int) -> None:
        """Add the seconds and the items of a stage."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds
        self.add_items(name, items)

    def add_items(self, name: str, items: int) -> None:
        """Add items of a stage."""
        self._items[name] = self._items.get(name, 0) + items

    def ran_on(self, name: str, device: str) -> None:
        """Record the device of the model that worked on the items of a stage."""
        self._devices[name] = device

    def called(self, name: str, took: EmbeddingCalls) -> None:
        """Add what the replies of a server took for a stage."""
        if took.replies:
            self._called.setdefault(name, EmbeddingCalls()).extend(took)

    def add_calls(self, name: str, seconds: float, took: EmbeddingCalls) -> None:
        """Add the seconds, the items and the replies of a server that was asked for a stage; nothing if it
        gave no reply."""
        with self._lock:  # questions may be embedded in several threads
            if took.replies:
                self.took(name, seconds, took.inputs)
                self.called(name, took)

    def calls(self, name: str) -> EmbeddingCalls:
        """What the replies of a server took for a stage so far."""
        with self._lock:
            return replace(self._called.get(name, EmbeddingCalls()))

    def take(self, name: str) -> dict[str, Any] | None:
        """Return what a stage took since this was called before, as `report` does; `None` where it was not
        measured."""
        if (now := self.report().get(name)) is None:
            return None
        before, self._taken[name] = self._taken.get(name, {}), now
        return less_times(now, before)

    def report(self) -> dict[str, dict[str, Any]]:
        """Return `seconds` and `made` of each stage, as the manifest stores them, and `calls`, `tokens` and
        `cost` where a server was asked, or the `device` of a local model where it is known."""
        return {
            name: {
                "seconds": round(seconds, 4),
                "made": self._items[name],
                **(called.report() if (called := self._called.get(name)) else {}),
                **({"device": self._devices[name]} if name in self._devices else {}),
            }
            for name, seconds in self._seconds.items()
        }


def less_times(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stage took between two reports."""
    return {
        key: value - (before.get(key) or 0) if isinstance(value, int | float) else value
        for key, value in now.items()
    }


def joined_times(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Add what a stage took in two commands, as `report` returns it; tokens and cost are unknown where one of
    them is."""
    keys = [*one, *(key for key in other if key not in one)]
    pairs = {key: (one.get(key, 0), other.get(key, 0)) for key in keys}
    return {key: None if None in pair else sum(pair) for key, pair in pairs.items()}
