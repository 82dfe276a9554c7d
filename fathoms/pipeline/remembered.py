"""What is known of a corpus that was parsed and chunked before, so that a later run need not load all of it.

The cache holds each document and its chunks as compressed JSON. Decoding them takes longer than searching
them, and a run of a few questions needs only those that it finds. So the numbers and hashes that a run states
of its corpus are stored too, under a hash of the very bytes of all documents and chunks. They are valid
exactly as long as each of these is in the cache and its checksum fits.
"""

from __future__ import annotations

import hashlib
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar, overload

from fathoms.config import VERSION, fingerprint
from fathoms.errors import StoreError
from fathoms.runs.cache import Cache
from fathoms.types import DocumentFacts, StoredValue

T = TypeVar("T")


class CorpusFacts(StoredValue):
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


_KIND = "corpus"


class Stored:
    """The bytes of the documents of a corpus and of their chunks, in the order of the documents, and what is
    known of them: `facts`, `None` if they were not looked at before. `about` is what the facts depend on
    besides these bytes."""

    def __init__(
        self, cache: Cache, documents: Sequence[bytes], chunks: Sequence[bytes], about: object
    ) -> None:
        self.documents, self.chunks = documents, chunks
        self._cache = cache
        self._key = fingerprint(VERSION, about, _digest(documents), _digest(chunks))
        self.facts = cache.load(_KIND, self._key, CorpusFacts.model_validate_json)

    def remember(self, facts: CorpusFacts) -> None:
        """Store what was found out about them."""
        self._cache.put_text(_KIND, self._key, facts.model_dump_json())


def stored(
    cache: Cache, documents: Mapping[str, str], chunks: Mapping[str, str], about: object
) -> Stored | None:
    """Read the documents and chunks of a corpus, given their keys in the cache by the documents' ids; `None`
    if one is missing or damaged."""
    of_documents, of_chunks = list(documents.values()), list(chunks.values())
    if not (cache.holds("document", of_documents) and cache.holds("chunks", of_chunks)):
        return None  # before anything is read
    found = cache.get_many("document", of_documents)
    made = cache.get_many("chunks", of_chunks)
    try:
        pages = [found[key] for key in of_documents]
        texts = [made[key] for key in of_chunks]
    except KeyError:
        return None
    return Stored(cache, pages, texts, (about, list(documents)))


def _digest(values: Iterable[bytes]) -> str:
    """A hash of byte strings, in order."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(b"%d:" % len(value))
        digest.update(value)
    return digest.hexdigest()


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
    Raises StoreError for a part of another length."""

    def __init__(self, loads: Sequence[Callable[[], Sequence[T]]], lengths: Iterable[int]) -> None:
        self._loads = loads
        self._ends = list(accumulate(lengths))
        self._loaded: dict[int, Sequence[T]] = {}

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
        return self._part(part)[place - self._ends[part]]

    def __iter__(self) -> Iterator[T]:
        for part in range(len(self._loads)):
            yield from self._part(part)

    def _part(self, part: int) -> Sequence[T]:
        """Return a part, loaded when first asked for."""
        if part not in self._loaded:
            started = time.perf_counter()
            loaded = self._loads[part]()
            _loading.seconds += time.perf_counter() - started
            length = self._ends[part] - (self._ends[part - 1] if part else 0)
            if len(loaded) != length:
                raise StoreError(
                    f"{length} items of a corpus are expected, and the cache holds {len(loaded)}: --refresh"
                    " computes them again"
                )
            self._loaded[part] = loaded
        return self._loaded[part]
