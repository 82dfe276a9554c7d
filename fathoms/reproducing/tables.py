"""A published table as data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fathoms.config import read_yaml, suggest, validate
from fathoms.errors import UsageError

Metric = Literal["correctness", "hallucination"]
Printed = dict[Metric, tuple[float | None, ...]]

_TABLES = Path(__file__).parent / "tables"


class _Part(BaseModel):
    """A part of the file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Difference(_Part):
    """A cell that is known to come out otherwise, and why; `ours` is what comes out."""

    row: str
    metric: Metric
    column: str
    ours: float
    why: str


class TableRow(_Part):
    """One system: what is printed, the words that name its result file, the configuration that runs it."""

    row: str
    words: tuple[str, ...] = Field(min_length=1)
    config: str
    model: str | None = None
    """Another model than the configuration has."""
    printed: Printed
    """By metric, the figures in the order of the columns."""


class Table(_Part):
    """The whole table."""

    table: str
    paper: str
    results: Literal["fathoms-rag"] = "fathoms-rag"
    """The format of the result files."""
    columns: dict[str, str | None]
    """The category that each column shows; null for the mean of all categories."""
    compare: dict[Metric, str]
    """The profile, or `released`, under which each metric is compared."""
    digits: int = Field(default=2, ge=0)
    """Digits after the point, as printed."""
    differences: tuple[Difference, ...] = ()
    rows: tuple[TableRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Table:
        for row in self.rows:
            for metric, figures in row.printed.items():
                if len(figures) != len(self.columns):
                    raise ValueError(
                        f"{row.row}: {metric} has {len(figures)} cells for {len(self.columns)} columns"
                    )
        rows = {row.row for row in self.rows}
        for known in self.differences:
            if known.row not in rows or known.column not in self.columns:
                raise ValueError(f"differences: there is no cell {known.row}, {known.column}")
        return self

    def cell_text(self, value: float | None) -> str:
        """A figure as the table prints it: Python's rounding, half to even on the binary value."""
        return "n/a" if value is None else f"{value:.{self.digits}f}"

    def difference(self, row: str, metric: Metric, column: str) -> Difference | None:
        """What is known of a cell."""
        wanted = (row, metric, column)
        return next((d for d in self.differences if (d.row, d.metric, d.column) == wanted), None)

    def select(self, names: tuple[str, ...]) -> tuple[TableRow, ...]:
        """Some rows by name, all without a name; raises UsageError."""
        known = [row.row for row in self.rows]
        for name in names:
            if name not in known:
                raise UsageError(f"{self.table} has no row '{name}'{suggest(name, known)}")
        return tuple(row for row in self.rows if not names or row.row in names)


@cache
def table_names() -> tuple[str, ...]:
    """The tables that come with fathoms, as `PAPER/TABLE`."""
    return tuple(
        sorted(path.relative_to(_TABLES).with_suffix("").as_posix() for path in _TABLES.rglob("*.yaml"))
    )


def load_table(name: str) -> Table:
    """A table by name, or from a YAML file; raises UsageError, and ConfigError for a file that is wrong."""
    if name in table_names():
        return validate(Table, read_yaml(_TABLES / f"{name}.yaml"))
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return validate(Table, read_yaml(path))
    raise UsageError(f"there is no table '{name}'{suggest(name, table_names())}")
