"""Reads parquet and Arrow files in batches: a table of pictures never has to fit into memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, MissingExtraError

BATCH = 16
"""Rows that are in memory at once; a page image has up to a few MB."""


def columns_of(path: Path) -> tuple[str, ...]:
    """Return the names of a table's columns; raises DataError if the file is neither parquet nor Arrow."""
    return tuple(_open(path)[0])


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dictionaries, with one row group in memory at a time. Columns that
    are not named are not read, nor are named columns that the table lacks."""
    known, batches_of = _open(path)
    import pyarrow

    wanted = list(known) if columns is None else [name for name in columns if name in known]
    try:
        for batch in batches_of(wanted):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as {_format(path)}: {error}") from error


def _open(path: Path) -> tuple[Sequence[str], Callable[[list[str]], Iterator[Any]]]:
    """Return the names of a table's columns, and a function that gives its batches with some of them. Raises
    MissingExtraError without pyarrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", f"{path.name}, a parquet file,") from error
    try:
        return _arrow(path) if path.suffix.lower() == ".arrow" else _parquet(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as {_format(path)}: {error}") from error


def _parquet(path: Path) -> tuple[Sequence[str], Callable[[list[str]], Iterator[Any]]]:
    """Return the columns of a parquet file, and what reads its rows in batches."""
    from pyarrow import parquet

    table = parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False)

    def batches(columns: list[str]) -> Iterator[Any]:
        for group in range(table.num_row_groups):
            # Asked for all row groups at once, pyarrow keeps those that were read until the last one is.
            yield from table.iter_batches(BATCH, row_groups=[group], columns=columns, use_threads=False)

    return table.schema_arrow.names, batches


def _arrow(path: Path) -> tuple[Sequence[str], Callable[[list[str]], Iterator[Any]]]:
    """Open a file of the library `datasets`, which has the stream format of Arrow."""
    import pyarrow

    reader = pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))

    def batches(columns: list[str]) -> Iterator[Any]:
        for batch in reader:
            chosen = batch.select(columns)
            yield from (chosen.slice(start, BATCH) for start in range(0, chosen.num_rows, BATCH))

    return reader.schema.names, batches


def _format(path: Path) -> str:
    """Return the name of a file's format."""
    return "Arrow" if path.suffix.lower() == ".arrow" else "parquet"
