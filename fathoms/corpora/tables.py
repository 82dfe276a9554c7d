"""Reads parquet files in batches, so that a table of pictures never has to fit into memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, MissingExtraError

BATCH = 16
"""Rows that are in memory at once; a page image has up to a few MB."""


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the names of a table's columns; raises DataError if the file is not parquet."""
    return tuple(_open(path).schema_arrow.names)


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dictionaries, of which one row group is in memory at a time. Columns that
    are not named are not read, nor are named columns that the table lacks."""
    table = _open(path)
    import pyarrow

    known = table.schema_arrow.names
    wanted = known if columns is None else [name for name in columns if name in known]
    try:
        for group in range(table.num_row_groups):
            # Asked for all row groups at once, pyarrow keeps those that were read until the last one is.
            for batch in table.iter_batches(BATCH, row_groups=[group], columns=wanted, use_threads=False):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as parquet: {error}") from error


def _open(path: Path) -> Any:
    """Open a parquet file; raises MissingExtraError without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", f"{path.name}, a parquet file,") from error
    try:
        return parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as parquet: {error}") from error
