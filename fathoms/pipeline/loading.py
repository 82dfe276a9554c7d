"""A corpus in a process that holds only what it needs of it: facts of all documents, and a few documents and
chunks, which are loaded when they are asked for."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar, overload

from fathoms.errors import StoreError
from fathoms.types import DocumentFacts

T = TypeVar("T")
IN_MEMORY = 5000
"""How many chunks of a corpus, or pages of its documents, stay in memory once they are loaded."""


@dataclass(frozen=True)
class CorpusFacts:
    """What is known of a whole corpus.

    `documents` and `chunks` hold the facts and the number of chunks of each document, in order. `index` is
    the name of the index of all chunks. `tables` and `pictures` are counts, `None` where the parser does not
    look for them.
    """

    documents: tuple[DocumentFacts, ...]
    chunks: tuple[int, ...]
    index: str
    tables: int | None
    pictures: int | None


class _Loading(threading.local):
    """The seconds for which this thread has loaded parts of corpora."""

    seconds = 0.0


_loading = _Loading()


def clock() -> float:
    """Return the seconds of a clock that stands still while this thread loads parts of a corpus: whether they
    were loaded before says nothing about the speed of a search."""
    return time.perf_counter() - _loading.seconds


class Parts(Sequence[T]):
    """A sequence in parts of known lengths, each of which is loaded when one of its items is first asked for.

    `load` returns a part, given its number. Those used last stay in memory, up to a sum of `weights`, which
    are the lengths if not given, of `IN_MEMORY`. Raises StoreError for a part of another length.
    """

    def __init__(
        self,
        load: Callable[[int], Sequence[T]],
        lengths: Iterable[int],
        weights: Sequence[int] | None = None,
        most: int = IN_MEMORY,
    ) -> None:
        self._load = load
        self._lengths = list(lengths)
        self._ends = list(accumulate(self._lengths))
        self._weights = self._lengths if weights is None else weights
        self._all_fit = sum(self._weights) <= most
        self._left = most
        self._loaded: OrderedDict[int, Sequence[T]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        place = range(len(self))[at]  # counts from the end where negative, and raises IndexError
        part = bisect_right(self._ends, place)
        return self.part(part)[place - self._ends[part] + self._lengths[part]]

    def __iter__(self) -> Iterator[T]:
        for number in range(len(self._lengths)):
            yield from self.part(number) if self._all_fit else self._read(number)

    def part(self, number: int) -> Sequence[T]:
        """Return a part, loaded if it is not in memory."""
        with self._lock:
            if (found := self._loaded.get(number)) is not None:
                self._loaded.move_to_end(number)
                return found
        found = self._read(number)
        with self._lock:
            if number not in self._loaded:
                self._loaded[number] = found
                self._left -= self._weights[number]
            while self._left < 0:
                oldest, _ = self._loaded.popitem(last=False)
                self._left += self._weights[oldest]
        return found

    def _read(self, number: int) -> Sequence[T]:
        """Load a part, and count the seconds as loading (`clock`). Raises StoreError if it has another length
        than was said."""
        started = time.perf_counter()
        loaded = self._load(number)
        _loading.seconds += time.perf_counter() - started
        if len(loaded) != self._lengths[number]:
            raise StoreError(
                f"{self._lengths[number]} items of a corpus are expected, and the cache holds {len(loaded)}:"
                " --refresh computes them again"
            )
        return loaded
