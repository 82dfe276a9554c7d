"""A published table as data."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from fathoms.config import read_yaml, suggest, validate
from fathoms.errors import UsageError
from fathoms.metrics import METRICS, PROFILES, RELEASED

SCORES = (*(profile.name for profile in PROFILES), RELEASED)
FORMATS = ("fathoms-rag", "answers")

_TABLES = Path(__file__).parent / "tables"


def _one_of(noun: str, names: tuple[str, ...]) -> AfterValidator:
    """A name that there is, or else a suggestion."""

    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"no {noun} '{value}'{suggest(value, names)}")
        return value

    return AfterValidator(check)


Metric = Annotated[str, _one_of("metric", METRICS)]
Profile = Annotated[str, _one_of("profile", SCORES)]
Format = Annotated[str, _one_of("format of results", FORMATS)]
Printed = dict[Metric, tuple[float | None, ...]]


class _Part(BaseModel):
    """A part of the file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Difference(_Part):
    """A cell that is known to come out otherwise, and why; `ours` is what comes out, in the table's unit."""

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
    """By metric, the figures in the order of the columns; null where a cell is empty."""


class Table(_Part):
    """The whole table."""

    table: str
    paper: str
    results: Format = "fathoms-rag"
    """The format of the result files: FATHOMS-RAG's, or the rows that `fathoms import answers` reads."""
    questions: Path | None = None
    """The questions that `results: answers` answer, from the folder of the table."""
    columns: dict[str, str | None]
    """The category that each column shows; null for the mean of all categories."""
    compare: dict[Metric, Profile]
    """The profile, or `released`, under which each metric is compared."""
    unit: Literal["fraction", "percent"] = "fraction"
    """What the printed figures are."""
    digits: int = Field(default=2, ge=0)
    """Digits after the point, as printed."""
    differences: tuple[Difference, ...] = ()
    rows: tuple[TableRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Table:
        for row in self.rows:
            for metric, figures in row.printed.items():
                if metric not in self.compare:
                    raise ValueError(f"{row.row}: {metric} is printed, and 'compare' does not name it")
                if len(figures) != len(self.columns):
                    raise ValueError(
                        f"{row.row}: {metric} has {len(figures)} cells for {len(self.columns)} columns"
                    )
        rows = {row.row for row in self.rows}
        for known in self.differences:
            if known.row not in rows or known.column not in self.columns:
                raise ValueError(f"differences: there is no cell {known.row}, {known.column}")
        if (self.results == "answers") != (self.questions is not None):
            raise ValueError(
                "'questions' names the file that 'results: answers' answer, and goes with it alone"
            )
        return self

    def printed_text(self, value: float | None) -> str:
        """A figure in the table's unit as the table prints it: Python's rounding, half to even on the binary
        value."""
        return "n/a" if value is None else f"{value:.{self.digits}f}"

    def text(self, share: float | None) -> str:
        """A figure of ours, in [0, 1], as the table would print it."""
        scale = 100 if self.unit == "percent" else 1
        return self.printed_text(None if share is None else share * scale)

    def difference(self, row: str, metric: str, column: str) -> Difference | None:
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
    path = _TABLES / f"{name}.yaml" if name in table_names() else Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"there is no table '{name}'{suggest(name, table_names())}")
    table = validate(Table, read_yaml(path))
    if table.questions is None:
        return table
    return table.model_copy(update={"questions": path.parent / table.questions})
