"""Page vectors kept in a table of LanceDB, as an alternative to `multi_vectors` with an approximate index.

LanceDB compares columns of many vectors by the sum over the query's vectors of the smallest cosine distance
to a vector of the page. Where all vectors have length one, that is the number of the query's vectors minus
MaxSim, so without an index its search is exact. With an index, it looks for the neighbours of each vector of
the query by itself and knows only some of the products of a page, so it misses some of the best pages. It was
slower than `max_sim` in every measurement so far (benchmarks/README.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fathoms.errors import DataError, MissingExtraError, ModelError, StoreError
from fathoms.paths import publish, temporary_folder
from fathoms.retrieve.max_sim import check_query
from fathoms.retrieve.multi_vectors import check_page

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_TABLE = "pages"
_COLUMN = "vectors"
_LENGTHS = 0.01
"""How far the length of a vector may be from one; float16 and pooling change it by less."""

LanceIndex = Literal["none", "ivf-flat", "ivf-pq"]


class LanceMultiVectors:
    """The vectors of many pages in a table of LanceDB. `write` makes such a folder, `open` reads one."""

    def __init__(self, table: Any, folder: Path) -> None:
        """Search an opened table; called by `open`."""
        self._table = table
        self.nbytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        """The bytes of all files of the table."""
        self.width = int(table.schema.field(_COLUMN).type.value_type.list_size)
        """Numbers in a vector."""

    @classmethod
    def write(cls, folder: Path, pages: Iterable[Floats], index: LanceIndex = "none") -> LanceMultiVectors:
        """Write pages, each a float32 array (vectors, width) of vectors of length one, and open the table.

        Pages are taken one at a time. The folder appears under its name only when it is complete, and
        replaces what was there. `ivf-flat` groups all vectors around centres and compares those of the
        nearest groups; `ivf-pq` also compresses them by product quantisation. Raises DataError for a page
        that cannot be used, or if there is none, StoreError if the table cannot be written, and
        MissingExtraError.
        """
        library, arrow = _libraries()
        taken = iter(pages)
        first = next(taken, None)
        if first is None:
            raise DataError("there are no vectors of pages to store: check that the documents have pages")
        width = _check(first, 0, 0).shape[1]
        schema = arrow.schema(
            [("page", arrow.int64()), (_COLUMN, arrow.list_(arrow.list_(arrow.float32(), width)))]
        )
        trouble: list[Exception] = []
        batches = _batches(arrow, schema, first, taken, width, trouble)
        try:
            with temporary_folder(folder.parent) as unfinished:
                reader = arrow.RecordBatchReader.from_batches(schema, batches)
                table = library.connect(str(unfinished)).create_table(_TABLE, data=reader)
                if index != "none":
                    _make_index(table, index)
                publish(unfinished, folder)
        except (
            Exception
        ) as error:  # LanceDB raises RuntimeError, ValueError and OSError for all that can happen
            if trouble:  # an error of a page, which LanceDB wraps in one of its own
                raise trouble[0] from None
            raise StoreError(
                f"LanceDB cannot write the vectors of pages to {folder} ({error}): free some space, or check"
                " that the folder can be written to"
            ) from error
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> LanceMultiVectors:
        """Open what `write` wrote; raises StoreError, and MissingExtraError. Damage inside the files of the
        table is noticed by LanceDB when it reads them, if at all."""
        library, _ = _libraries()
        try:
            return cls(library.connect(str(folder)).open_table(_TABLE), folder)
        except Exception as error:
            raise StoreError(
                f"{folder} holds no table of page vectors that LanceDB can open: embed the pages again"
            ) from error

    def __len__(self) -> int:
        """The number of pages in the index."""
        return int(self._table.count_rows())

    def search(
        self, queries: Sequence[Floats], top_k: int, *, groups: int | None = None, refine: int = 10
    ) -> list[list[tuple[int, float]]]:
        """Return the `top_k` best pages of each query (vectors, width) with their MaxSim, best first.

        Pages with equal scores come in their order. The last two options are those of a table with an index:
        how many `groups` of vectors are compared (by default, LanceDB decides), and how many times `top_k`
        pages are compared exactly. Raises ModelError for a query that cannot be compared, or whose vectors do
        not have length one, and StoreError if the table cannot be read.
        """
        found = []
        for query in queries:
            checked = check_query(query, self.width)
            if not _has_length_one(checked):
                raise ModelError(
                    "embed: a question has vectors that do not have length one, which LanceDB needs; use the"
                    " store of fathoms instead"
                )
            try:
                search = self._table.search(checked, vector_column_name=_COLUMN).distance_type("cosine")
                search = search.refine_factor(refine).limit(top_k)
                if groups is not None:
                    search = search.nprobes(groups)
                rows = search.select(["page", "_distance"]).to_arrow()
            except Exception as error:
                raise StoreError(
                    f"LanceDB cannot search the vectors of pages ({error}): embed the pages again"
                ) from error
            scores = [len(checked) - distance for distance in rows["_distance"].to_pylist()]
            pairs = zip(rows["page"].to_pylist(), scores, strict=True)
            found.append(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
        return found


def _batches(
    arrow: Any, schema: Any, first: Floats, others: Iterator[Floats], width: int, trouble: list[Exception]
) -> Iterator[Any]:
    """Yield one record batch per page. An error is also put into `trouble`."""
    import numpy as np

    try:
        page: Floats | None = first
        number = 0
        while page is not None:
            checked = np.ascontiguousarray(_check(page, number, width))
            vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(checked.reshape(-1)), width)
            ends = arrow.array([0, len(checked)], arrow.int32())
            columns = [arrow.array([number]), arrow.ListArray.from_arrays(ends, vectors)]
            yield arrow.record_batch(columns, schema=schema)
            page = next(others, None)
            number += 1
    except Exception as error:
        trouble.append(error)
        raise


def _make_index(table: Any, index: LanceIndex) -> None:
    """Build an index of the vectors of all pages."""
    from lancedb.index import IvfFlat, IvfPq

    kinds = {"ivf-flat": IvfFlat, "ivf-pq": IvfPq}
    table.create_index(_COLUMN, config=kinds[index](distance_type="cosine"))


def _check(page: Floats, number: int, width: int) -> Floats:
    """Return a page as float32; raises DataError if it cannot be stored."""
    checked = check_page(page, number, width)
    if not _has_length_one(checked):
        raise DataError(
            f"page {number} has vectors that do not have length one, which LanceDB needs because it compares"
            " by cosine: normalise them, or use the store of fathoms instead"
        )
    return checked


def _has_length_one(vectors: Floats) -> bool:
    """Whether every vector has length one, up to rounding."""
    import numpy as np

    return bool((np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _LENGTHS).all())


def _libraries() -> tuple[Any, Any]:
    """Import LanceDB and Arrow; raises MissingExtraError if one is not installed."""
    try:
        import lancedb
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "lancedb", "lancedb", "a table of LanceDB") from error
    return lancedb, pyarrow
