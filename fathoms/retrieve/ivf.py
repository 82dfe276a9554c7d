"""Approximate search for chunks: an inverted file of LanceDB for each segment of vectors.

The vectors of a segment are grouped around centres (k-means), and a question is compared with those of the
nearest groups only. Which rows LanceDB finds is all that is taken from it: their scores are computed as by
exact search, from the segment itself. Since segments never change, neither do their tables; documents that
are added come into a segment of their own, which is compared as a whole while it is small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import package_version
from fathoms.errors import MissingExtraError, StoreError
from fathoms.paths import SEAL, publish, sealed, sha256_file, temporary_folder
from fathoms.retrieve.indexes import load_index
from fathoms.retrieve.numpy_store import Best, exact_search
from fathoms.retrieve.retriever import VectorStore
from fathoms.retrieve.segments import Segment, SegmentedVectors
from fathoms.text.fingerprints import fingerprint

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Floats, Rows, Vectors

_ROWS = 16_384
"""Rows that are written, or compared, at once."""
_TABLE = "vectors"


class IvfStore(VectorStore):
    """`store: {kind: ivf}`: approximate search, which compares a question with the chunks of the groups that
    are nearest to it, by LanceDB."""

    packages: ClassVar[tuple[str, ...]] = ("lancedb",)

    inert: ClassVar[bool] = True
    kind: Literal["ivf"] = "ivf"
    groups: int = Field(default=128, ge=1, le=100_000)
    """How many groups of a segment are compared, of as many as the root of the number of its vectors."""
    refine: int = Field(default=5, ge=1, le=1000)
    """How many times `top_k` chunks are taken from LanceDB; their scores are computed exactly."""
    least: int = Field(default=20_000, ge=256)
    """Segments with fewer vectors are compared as a whole."""

    @property
    def approximate(self) -> bool:
        """Whether the search may miss some of the best chunks."""
        return True

    def check(self) -> None:
        """Raise MissingExtraError if LanceDB is not installed."""
        for package in ("lancedb", "pyarrow"):
            if find_spec(package) is None:
                raise MissingExtraError(package, "lancedb", "approximate search for chunks")

    def nbytes(self, vectors: Vectors) -> int:
        """Return the bytes of the tables that there are of these vectors."""
        segments = vectors.segments if isinstance(vectors, SegmentedVectors) else ()
        files = (path for segment in segments for path in _folder(segment).rglob("*") if path.is_file())
        return sum(path.stat().st_size for path in files)

    def search(
        self, folder: Path, vectors: Vectors, queries: Floats, k: int
    ) -> list[list[tuple[int, float]]]:
        """Return `k` rows of `vectors` (n, d) with high inner products for each row of `queries` (q, d), as
        `exact_search` does; vectors that could not be written to the disk are searched exactly. Tables are
        made of segments that have none. `folder` is not used. Raises StoreError."""
        if not isinstance(vectors, SegmentedVectors):
            return exact_search(vectors, queries, k)
        best = Best(queries, k)
        for number, (segment, rows) in enumerate(zip(vectors.segments, vectors.rows, strict=True)):
            used = int((rows >= 0).sum())
            if used < self.least:
                for own, block in vectors.blocks_of(number, _ROWS):
                    best.compare(own, block)
                continue
            most = math.ceil(self.refine * k * len(rows) / used)  # some rows are of documents that went
            for query, found in enumerate(self._found(segment, queries, min(most, len(rows)))):
                known = found[rows[found] >= 0]
                best.add(query, rows[known], segment.vectors[known])
            segment.forget()
        return best.rows()

    def _found(self, segment: Segment, queries: Floats, most: int) -> Iterator[Rows]:
        """Yield the rows of a segment that LanceDB finds for each query."""
        import numpy as np

        table = segment.built.get(_TABLE) or segment.built.setdefault(_TABLE, _table(segment))
        try:
            for query in queries:
                search = table.search(query, vector_column_name="vector").distance_type("dot").limit(most)
                found = search.nprobes(self.groups).select(["row", "_distance"]).to_arrow()
                yield np.sort(found["row"].to_numpy())
        except (RuntimeError, ValueError, OSError) as error:  # all that LanceDB raises
            raise StoreError(
                f"LanceDB cannot search its table in {_folder(segment)} ({error}): delete that folder, and"
                " run again"
            ) from error


def _folder(segment: Segment) -> Path:
    """The folder of the table of a segment, which is named by the hashes of the segment's files."""
    name = fingerprint("ivf", sha256_file(segment.folder / SEAL), package_version("lancedb"))
    return segment.folder.parent / name


def _table(segment: Segment) -> Any:
    """Open the table of a segment, made first if it is missing or damaged; raises StoreError."""
    from filelock import FileLock

    folder = _folder(segment)
    if (found := load_index(folder, _opened, segment.cache)) is not None:
        return found
    try:
        # of two processes, the second waits for the first, whose table it must not replace while it is read
        with FileLock(folder.parent / f".{folder.name}.lock"):
            if sealed(folder) != "sound":
                with temporary_folder(folder.parent) as unfinished:
                    _write(unfinished, segment)
                    publish(unfinished, folder)
        return _opened(folder)
    except (RuntimeError, ValueError, OSError) as error:
        raise StoreError(
            f"LanceDB cannot write its table to {folder} ({error}): free some space, or set retrieve.store:"
            " {kind: numpy}, which needs none"
        ) from error


def _opened(folder: Path) -> Any:
    """Open a table; raises ValueError if there is none."""
    import lancedb

    return lancedb.connect(str(folder)).open_table(_TABLE)


def _write(folder: Path, segment: Segment) -> None:
    """Write the table of a segment, a block at a time, and its index."""
    import lancedb
    import pyarrow
    from lancedb.index import IvfFlat

    rows, width = segment.vectors.shape
    kinds = [("row", pyarrow.int64()), ("vector", pyarrow.list_(pyarrow.float32(), width))]
    schema = pyarrow.schema(kinds)

    def batches() -> Iterator[Any]:
        for start in range(0, rows, _ROWS):
            block: Floats = segment.vectors[start : start + _ROWS]
            numbers = pyarrow.array(range(start, start + len(block)), pyarrow.int64())
            column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(block.reshape(-1)), width)
            yield pyarrow.record_batch([numbers, column], schema=schema)
            segment.forget()

    reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
    table = lancedb.connect(str(folder)).create_table(_TABLE, data=reader)
    config = IvfFlat(distance_type="dot", num_partitions=max(1, math.isqrt(rows)))
    table.create_index("vector", config=config)
