"""Writes the tables of a run as CSV or Parquet files, question by question."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from fathoms.errors import DataError, MissingExtraError
from fathoms.extras.exchange.writing.columns import COLUMN_KEYS, Column
from fathoms.extras.exchange.writing.folders import new_folder
from fathoms.extras.exchange.writing.tables import Row, Table, tables_of
from fathoms.runs.run import Run
from fathoms.safety.spreadsheet import harmless

_ROWS = 5_000
"""Rows of a Parquet file that are written together."""


class _File(Protocol):
    """A file of one table that is being written."""

    def write(self, row: Row) -> None:
        """Add a row at the end of the table."""

    def close(self) -> None:
        """Write the rows that wait in memory, and close the file."""


class CsvFile:
    """A table as RFC 4180 CSV in UTF-8, with line ends CR LF. Missing values are empty, and flags 1 or 0."""

    ending = ".csv"

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._file = path.open("x", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self.write(tuple(column.name for column in columns))

    def write(self, row: Row) -> None:
        """Add a row at the end of the table."""
        self._writer.writerow(map(_cell, row))

    def close(self) -> None:
        """Close the file, whose rows are all written."""
        self._file.close()


class ParquetFile:
    """A table as Parquet. The meaning of a column is the `description` of its field."""

    ending = ".parquet"

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise MissingExtraError("pyarrow", "parquet", "a Parquet file") from error
        kinds = {
            "text": pyarrow.string(),
            "integer": pyarrow.int64(),
            "number": pyarrow.float64(),
            "flag": pyarrow.bool_(),
        }
        fields = [
            pyarrow.field(column.name, kinds[column.kind], metadata={"description": column.meaning})
            for column in columns
        ]
        self._schema, self._arrow = pyarrow.schema(fields), pyarrow
        self._writer = parquet.ParquetWriter(path, self._schema)
        self._rows: list[Row] = []

    def write(self, row: Row) -> None:
        """Add a row, which is written with others as one row group."""
        self._rows.append(row)
        if len(self._rows) == _ROWS:
            self._flush()

    def close(self) -> None:
        """Write the last rows and close the file."""
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        """Write the rows that wait in memory."""
        columns: Any = zip(*self._rows, strict=True)
        arrays = [self._array(*one) for one in zip(columns, self._schema, strict=True)]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def _array(self, values: Sequence[Any], field: Any) -> Any:
        """Convert the values of a column; raises DataError for a number that its type cannot hold."""
        try:
            return self._arrow.array(values, type=field.type)
        except OverflowError:
            raise DataError(
                f"a value of '{field.name}' is larger than Parquet's integers: 'fathoms export csv' writes it"
            ) from None


def write_csv(run: Run, target: Path, scores: str | None = None) -> list[Path]:
    """Write the tables of a run as CSV files in a new folder, with the list of their columns.

    Returns the paths. Raises UsageError if the folder exists, and as `Run.profile` does.
    """
    tables = tables_of(run, scores)
    with new_folder(target) as folder:
        written = write_tables(run, tables, folder, CsvFile)
        listed = CsvFile(folder / "columns.csv", [Column(key, "text", "") for key in COLUMN_KEYS])
        for row in columns_of(written):
            listed.write(row)
        listed.close()
    return [target / f"{name}.csv" for name in (*(table.name for table, _ in written), "columns")]


def write_parquet(run: Run, target: Path, scores: str | None = None) -> list[Path]:
    """Write the tables of a run as Parquet files in a new folder; returns the paths, and raises as
    `write_csv` does, and MissingExtraError without pyarrow."""
    tables = tables_of(run, scores)
    with new_folder(target) as folder:
        written = write_tables(run, tables, folder, ParquetFile)
    return [target / f"{table.name}.parquet" for table, _ in written]


def write_tables(
    run: Run, tables: Sequence[Table], folder: Path, kind: type[CsvFile] | type[ParquetFile]
) -> list[tuple[Table, int]]:
    """Write those tables that have rows into a folder; returns them with their numbers of rows.

    Raises DataError if none has any.
    """
    files: dict[str, _File] = {}
    counts = dict.fromkeys((table.name for table in tables), 0)
    with ExitStack() as opened:
        for view in run.questions():
            for table in tables:
                for row in table.rows(view):
                    if table.name not in files:
                        files[table.name] = kind(folder / f"{table.name}{kind.ending}", table.columns)
                        opened.callback(files[table.name].close)
                    files[table.name].write(row)
                    counts[table.name] += 1
    if not files:
        raise DataError(f"{run.original_id} holds no answers, so there is nothing to export")
    return [(table, counts[table.name]) for table in tables if counts[table.name]]


def columns_of(written: Sequence[tuple[Table, int]]) -> Iterator[Row]:
    """Yield the name, the type and the meaning of every column, after the name of its table."""
    for table, _ in written:
        for column in table.columns:
            yield table.name, column.name, column.kind, column.meaning


def _cell(value: Any) -> Any:
    """Convert a value for a CSV file."""
    if isinstance(value, bool):
        return int(value)
    return harmless(value.replace("\0", "")) if isinstance(value, str) else value
