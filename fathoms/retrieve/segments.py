"""Vectors of chunks on the disk, in segments: files of the vectors of many documents that never change.

A corpus lists which of its documents are where. Documents that are added come into a segment of their own,
and documents that are removed are no longer listed, so neither costs more than the documents in question.
Vectors are mapped into memory block by block, so a search needs the memory of one block.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.paths import publish, temporary_folder
from fathoms.retrieve.indexes import load_index
from fathoms.runs.cache import Cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

_FILE = "vectors.npy"


@dataclass(frozen=True)
class Segment:
    """A file of vectors, float32 of shape (rows, d), that is mapped into memory. What is found out about
    damage is recorded in `cache`."""

    folder: Path
    vectors: Floats
    cache: Cache | None = None
    built: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What a search has opened that was made of the segment, by its name."""

    @classmethod
    def open(cls, folder: Path, cache: Cache | None = None) -> Segment | None:
        """Open what `write` wrote, after comparing every byte with its checksum (see `load_index`); `None` if
        it is missing or damaged, with a warning."""
        vectors = load_index(folder, _read, cache)
        return None if vectors is None else cls(folder, vectors, cache)

    @classmethod
    def write(cls, folder: Path, rows: int, blocks: Iterable[Floats]) -> None:
        """Write `rows` vectors, given in blocks (n, d), to a folder, which appears only when it is complete.
        Raises OSError, and what the blocks raise."""
        import numpy as np

        with temporary_folder(folder.parent) as unfinished:
            with (unfinished / _FILE).open("wb") as file:
                for number, block in enumerate(blocks):
                    if number == 0:
                        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, block.shape[1])}
                        np.lib.format.write_array_header_1_0(file, head)
                    file.write(np.ascontiguousarray(block, dtype="<f4").data)
            publish(unfinished, folder)

    def forget(self) -> None:
        """Let go of the memory that holds what was read of the file; it is read again when needed."""
        if isinstance(self.vectors.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.vectors.base.madvise(mmap.MADV_DONTNEED)


def _read(folder: Path) -> Floats | None:
    """Map the file of a segment into memory; `None` if it is not one."""
    import numpy as np

    mapped: Floats = np.load(folder / _FILE, mmap_mode="r", allow_pickle=False)
    return mapped if mapped.dtype == np.float32 and mapped.ndim == 2 else None


class SegmentedVectors:
    """The vectors of the chunks of a corpus, in segments.

    Document `i` has `counts[i]` rows, which are those from `first[i]` on of the segment `of[i]`. The rows of
    the corpus are those of its documents in order. Raises ValueError if a segment has no such rows, or if two
    documents share some.
    """

    def __init__(
        self, segments: Sequence[Segment], of: Sequence[int], first: Sequence[int], counts: Sequence[int]
    ) -> None:
        import numpy as np

        self.segments = segments
        starts = np.cumsum([0, *counts])
        self.shape = (int(starts[-1]), segments[0].vectors.shape[1] if segments else 0)
        if any(each.vectors.shape[1] != self.shape[1] for each in segments):
            raise ValueError("segments of different widths")
        if not len(of) == len(first) == len(counts):
            raise ValueError("a list of another number of documents")
        numbers = np.repeat(np.array(of, dtype=np.int64), counts)
        places = np.arange(self.shape[0]) + np.repeat(np.array(first, dtype=np.int64) - starts[:-1], counts)
        self.rows: list[Rows] = []
        """For each row of each segment, its row in the corpus; -1 if the corpus does not have it."""
        for number, segment in enumerate(segments):
            own = np.flatnonzero(numbers == number)
            rows = np.full(len(segment.vectors), -1, dtype=np.int64)
            if len(own) and (places[own].min() < 0 or places[own].max() >= len(rows)):
                raise ValueError("documents with other rows than the segments have")
            rows[places[own]] = own
            self.rows.append(rows)
        if sum(int((rows >= 0).sum()) for rows in self.rows) != self.shape[0]:
            raise ValueError("documents that share rows, or are in no segment")

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """The bytes of the vectors of the corpus."""
        return 4 * self.shape[0] * self.shape[1]

    def blocks(self, most: int) -> Iterator[tuple[Rows, Floats]]:
        """Yield at most so many vectors at a time, with their rows in the corpus. What was yielded is let go
        of at the next one."""
        for number in range(len(self.segments)):
            yield from self.blocks_of(number, most)

    def blocks_of(self, number: int, most: int) -> Iterator[tuple[Rows, Floats]]:
        """Yield the vectors of one segment as `blocks` does those of all."""
        segment, rows = self.segments[number], self.rows[number]
        for start in range(0, len(rows), most):
            block, own = segment.vectors[start : start + most], rows[start : start + most]
            used = own >= 0
            if used.all():
                yield own, block
            elif used.any():
                yield own[used], block[used]
            segment.forget()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """All vectors in memory, float32 of shape (n, d)."""
        import numpy as np

        found = np.empty(self.shape, dtype=np.float32)
        for rows, block in self.blocks(16_384):
            found[rows] = block
        return found if dtype is None else found.astype(dtype, copy=False)


if TYPE_CHECKING:
    Vectors = Floats | SegmentedVectors
    """Vectors in memory, float32 of shape (n, d), or on the disk."""
