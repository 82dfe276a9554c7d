"""The model of a published table, and loading it from YAML."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from fathoms.config import read_yaml, suggest, validate
from fathoms.errors import UsageError
from fathoms.metrics.aggregate import METRICS
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import RELEASED

SCORES = (*(profile.name for profile in PROFILES), RELEASED)
"""The scores that a table may be compared with."""
FORMATS = ("fathoms-rag", "answers")
"""The formats of result files."""

_TABLES = Path(__file__).parent / "tables"


def _one_of(noun: str, names: tuple[str, ...]) -> AfterValidator:
    """Return a validator that accepts only `names` and suggests a similar one otherwise."""

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
    """The base of all parts of a table file; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Difference(_Part):
    """A cell that is known to differ from the printed figure, and why.

    `ours` is the figure that fathoms computes, in the table's unit.
    """

    row: str
    metric: Metric
    column: str
    ours: float
    why: str


class TableRow(_Part):
    """One row: a system with its printed figures, the words that identify its result file, and the
    configuration that runs it."""

    row: str
    words: tuple[str, ...] = Field(min_length=1)
    config: str
    model: str | None = None
    """The model to run instead of the one in the configuration."""
    printed: Printed
    """The printed figures of each metric, in the order of the columns; null for an empty cell."""


class Table(_Part):
    """A published table: its printed cells, and where the figures to compare them with come from."""

    table: str
    paper: str
    results: Format = "fathoms-rag"
    """The format of the result files: FATHOMS-RAG's, or the rows that `fathoms import answers` reads."""
    questions: Path | None = None
    """The question file for `results: answers`, relative to the folder of the table file."""
    columns: dict[str, str | None]
    """The category that each column shows; null for the unweighted mean of all categories."""
    compare: dict[Metric, Profile]
    """The scoring profile under which each metric is compared; `released` are the scores in the files."""
    unit: Literal["fraction", "percent"] = "fraction"
    """The unit of the printed figures."""
    digits: int = Field(default=2, ge=0)
    """The number of digits printed after the decimal point."""
    differences: tuple[Difference, ...] = ()
    rows: tuple[TableRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Table:
        for row in self.rows:
            for metric, figures in row.printed.items():
                if metric not in self.compare:
                    raise ValueError(f"{row.row}: {metric} is printed, but 'compare' does not name it")
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
                "'questions' names the question file that 'results: answers' needs; other results have none"
            )
        return self

    def printed_text(self, value: float | None) -> str:
        """Format a figure, given in the table's unit, with the table's number of digits; `None` is `n/a`.

        Rounding is Python's, which rounds the exact binary value, and ties to even.
        """
        return "n/a" if value is None else f"{value:.{self.digits}f}"

    def text(self, share: float | None) -> str:
        """Format a computed figure, a share in [0, 1], as the table would print it."""
        scale = 100 if self.unit == "percent" else 1
        return self.printed_text(None if share is None else share * scale)

    def difference(self, row: str, metric: str, column: str) -> Difference | None:
        """Return the known difference of a cell, or `None`."""
        wanted = (row, metric, column)
        return next((d for d in self.differences if (d.row, d.metric, d.column) == wanted), None)

    def select(self, names: tuple[str, ...]) -> tuple[TableRow, ...]:
        """Return the named rows, or all if none is named; raises UsageError for an unknown name."""
        known = [row.row for row in self.rows]
        for name in names:
            if name not in known:
                raise UsageError(f"{self.table} has no row '{name}'{suggest(name, known)}")
        return tuple(row for row in self.rows if not names or row.row in names)


@cache
def table_names() -> tuple[str, ...]:
    """Return the names of the tables that come with fathoms, in the form `PAPER/TABLE`."""
    return tuple(
        sorted(path.relative_to(_TABLES).with_suffix("").as_posix() for path in _TABLES.rglob("*.yaml"))
    )


def load_table(name: str) -> Table:
    """Load a table by the name of one that comes with fathoms, or by the path of a YAML file.

    Raises UsageError if there is no table of that name, and ConfigError for an invalid file.
    """
    path = _TABLES / f"{name}.yaml" if name in table_names() else Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"there is no table '{name}'{suggest(name, table_names())}")
    table = validate(Table, read_yaml(path))
    if table.questions is None:
        return table
    return table.model_copy(update={"questions": path.parent / table.questions})
