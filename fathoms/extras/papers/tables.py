"""The model of a published table, and loading it from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from fathoms.config import read_yaml, validate
from fathoms.errors import UsageError, suggest
from fathoms.importers.imported import fold_letters
from fathoms.metrics.aggregate import METRICS
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.retrieval.names import from_name
from fathoms.metrics.score_records import RELEASED

SCORES = (*(profile.name for profile in PROFILES), RELEASED)
"""The scores that a table may be compared with."""
FORMATS = ("fathoms-rag", "answers")
"""The formats of result files of systems; `mirage` are judgements of people."""

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
    metric: str
    column: str
    ours: float
    why: str


class Contradiction(_Part):
    """A figure that the paper's text gives otherwise than its table."""

    where: str
    """The place of the text, such as a section."""
    text: str
    table: str


class PrintedRow(_Part):
    """One row of printed figures."""

    row: str
    printed: Mapping[str, tuple[float | None, ...]]
    """The printed figures of each metric, in the order of the columns; null for an empty cell."""


Row = TypeVar("Row", bound=PrintedRow)


class PrintedTable(_Part, Generic[Row]):
    """The printed cells of a published table, and how they are printed; the base of all kinds of tables.

    `columns`, and `compare` for the metrics, say where the figures of fathoms come from.
    """

    table: str
    paper: str
    columns: Mapping[str, Any]
    compare: Mapping[str, Any]
    unit: Literal["fraction", "percent"] = "fraction"
    """The unit of the printed figures."""
    digits: int = Field(default=2, ge=0)
    """The number of digits printed after the decimal point."""
    differences: tuple[Difference, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    rows: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_cells(self) -> Self:
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
            if known.metric not in self.compare:
                raise ValueError(
                    f"differences: no metric '{known.metric}'{suggest(known.metric, self.compare)}"
                )
        return self

    def printed_text(self, value: float | None, column: str = "") -> str:
        """Format a figure, given in the table's unit, with the table's number of digits; `None` is `n/a`.

        Rounding is Python's, which rounds the exact binary value, and ties to even.
        """
        return "n/a" if value is None else f"{value:.{self.digits}f}"

    def text(self, share: float | None, column: str = "") -> str:
        """Format a computed figure, a share in [0, 1], as the table would print it in a column."""
        scale = 100 if self.unit == "percent" else 1
        return self.printed_text(None if share is None else share * scale)

    def difference(self, row: str, metric: str, column: str) -> Difference | None:
        """Return the known difference of a cell, or `None`."""
        wanted = (row, metric, column)
        return next((d for d in self.differences if (d.row, d.metric, d.column) == wanted), None)

    def select(self, names: tuple[str, ...]) -> tuple[Row, ...]:
        """Return the named rows, or all if none is named; raises UsageError for an unknown name."""
        known = [row.row for row in self.rows]
        for name in names:
            if name not in known:
                raise UsageError(f"{self.table} has no row '{name}'{suggest(name, known)}")
        return tuple(row for row in self.rows if not names or row.row in names)


class TableRow(PrintedRow):
    """One row: a system with its printed figures, the words that identify its result file, and the
    configuration that runs it."""

    words: tuple[str, ...] = Field(min_length=1)
    config: str
    model: str | None = None
    """The model to run instead of the one in the configuration."""
    printed: Printed


class Table(PrintedTable[TableRow]):
    """A table of systems: its printed cells, and where the figures to compare them with come from."""

    results: Format = "fathoms-rag"
    """The format of the result files: FATHOMS-RAG's, or the rows that `fathoms import answers` reads."""
    questions: Path | None = None
    """The question file for `results: answers`, relative to the folder of the table file."""
    columns: dict[str, str | None]
    """The category that each column shows; null for the unweighted mean of all categories."""
    compare: dict[Metric, Profile]
    """The scoring profile under which each metric is compared; `released` are the scores in the files."""
    rows: tuple[TableRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_questions(self) -> Table:
        if (self.results == "answers") != (self.questions is not None):
            raise ValueError(
                "'questions' names the question file that 'results: answers' needs; other results have none"
            )
        return self


class MetricSource(_Part):
    """A figure that a metric gave to every answer: the folder of its files below `metric_outputs`, and the
    key of the figure in them."""

    folder: str
    key: str


class Source(_Part):
    """What a row or a column of a table of agreement shows; those of a cell together name its two sides.

    `ratings` is the number of a person in the names of the files of quality judgements, `annotator` that of a
    person in the names of the files of claim judgements. `figure` is the share of claims of the answer
    (`precision`) or of the reference (`recall`) that the annotator finds supported, or their harmonic mean.
    `grounding` is the share of an answer's claims that people found in the sources, and `metric` a figure of
    an automatic metric.
    """

    annotator: int | None = None
    ratings: int | None = None
    figure: Literal["f1", "precision", "recall"] | None = None
    grounding: bool | None = None
    metric: MetricSource | None = None

    def with_(self, other: Source) -> Source:
        """Return this source completed by another."""
        return self.model_copy(update={name: getattr(other, name) for name in other.model_fields_set})

    @property
    def sides(self) -> tuple[Source, ...]:
        """What is compared with what: each side alone, two if the cell can be computed."""
        return tuple(
            side
            for side in (
                Source(metric=self.metric),
                Source(annotator=self.annotator, figure=self.figure),
                Source(grounding=self.grounding),
                Source(ratings=self.ratings),
            )
            if all(getattr(side, name) is not None for name in side.model_fields_set)
        )


class AgreementRow(PrintedRow):
    """One row of a table of agreement.

    `folders` replaces folders of metrics' files: the authors released some of their files in two versions,
    and not all rows of a table rest on the same one.
    """

    of: Source = Source()
    folders: dict[str, str] = Field(default_factory=dict)


class AgreementTable(PrintedTable[AgreementRow]):
    """A table of the agreement of rankings, from the files that MiRAGE released.

    A cell is Kendall's tau-b between two rankings of the systems, by a person or by a metric."""

    results: Literal["mirage"]
    columns: dict[str, Source]
    compare: dict[str, Source]
    rows: tuple[AgreementRow, ...] = Field(min_length=1)

    def source(self, row: AgreementRow, metric: str, column: str) -> Source:
        """Return where the figure of a cell comes from."""
        found = row.of.with_(self.compare[metric]).with_(self.columns[column])
        if found.metric is None or found.metric.folder not in row.folders:
            return found
        folder = row.folders[found.metric.folder]
        return found.with_(Source(metric=MetricSource(folder=folder, key=found.metric.key)))


class PreferenceRow(PrintedRow):
    """One row: a metric, by the name of its file (`baseline_NAME.json`) and of its `figure` there, which is
    that of the people's label if not given; or `people`, the second of the two with the first."""

    of: str
    figure: str | None = None


class PreferenceTable(PrintedTable[PreferenceRow]):
    """A table of the agreement of metrics with people's preferences, from the files that RAGChecker released;
    its columns are kinds of labels, and `instances` is the number of pairs of answers in the paper."""

    results: Literal["ragchecker"]
    instances: int
    columns: dict[str, str]
    compare: dict[str, Literal["pearson", "spearman"]]
    rows: tuple[PreferenceRow, ...] = Field(min_length=1)


class RetrievalColumn(_Part):
    """A column of a table of retrieval: the questions of a category, or all of them; all evidence, or that of
    one modality; and the mean of the questions, or of the columns of single categories."""

    category: str | None = None
    modality: str | None = None
    mean: Literal["questions", "columns"] = "questions"


class RetrievalTable(PrintedTable[PrintedRow]):
    """A table of retrievers by name, from the scores that they gave to pages and layouts of MMDocIR, or
    beside a run; `questions` is their number in the paper."""

    results: Literal["mmdocir", "run"]
    """`run` is a table that cannot be computed from anything released."""
    questions: int
    columns: dict[str, RetrievalColumn]
    compare: dict[str, str]
    """The retrieval metric of fathoms that a printed one is."""

    @model_validator(mode="after")
    def _check_metrics(self) -> Self:
        for name in self.compare.values():
            if from_name(name) is None:
                raise ValueError(f"compare: '{name}' is no retrieval metric, such as recall@10")
        return self


_MODES = {"pure-text": "", "pure-text-ocr": " (OCR)", "multimodal": " (MM)"}
"""How the names of rows end by what the model was shown of pictures."""


class QuotesColumn(_Part):
    """A column of a table of MMDocRAG: a metric, in percent with one digit, or a grade with two."""

    metric: str
    unit: Literal["percent", "grade"] = "percent"


class QuotesRow(PrintedRow):
    """One row: a model, by its name in the names of the released files, and what it was shown: pictures
    (`multimodal`) or texts in their place (`pure-text`)."""

    model: str
    mode: str


class QuotesTable(PrintedTable[QuotesRow]):
    """A table of MMDocRAG, from the answers and the judge's grades that its authors released."""

    results: Literal["mmdocrag"]
    quotes: int = 20
    """The number of candidate quotes of each question."""
    modes: tuple[str, str] | None = None
    """Two modes, such as `pure-text` and `pure-text-ocr`: a row then has both runs of one model, and the
    first printed row is the mean over the models."""
    columns: dict[str, QuotesColumn]
    compare: dict[str, Literal["released", "first", "second", "difference"]]
    """`released` is the run of the row; with `modes`, a run of a mode, or the first minus the second."""
    rows: tuple[QuotesRow, ...] = ()
    """The printed rows; none where the printed figures are not known."""

    def printed_text(self, value: float | None, column: str = "") -> str:
        """Format a figure as the column prints it."""
        if value is None or column not in self.columns:
            return super().printed_text(value)
        return f"{value:.{1 if self.columns[column].unit == 'percent' else 2}f}"

    def text(self, share: float | None, column: str = "") -> str:
        """Format a computed figure as the column would print it."""
        scale = 100 if self.columns[column].unit == "percent" else 1
        return self.printed_text(None if share is None else share * scale, column)

    def row_of(self, model: str, mode: str) -> QuotesRow | None:
        """Return the row of a model, given in letters and digits alone, and a mode."""
        return next((row for row in self.rows if (fold_letters(row.model), row.mode) == (model, mode)), None)

    def unprinted(self, model: str, mode: str = "pure-text") -> QuotesRow:
        """Return a row for a run that the table does not have, with the name that it has for the model."""
        known = self.row_of(fold_letters(model), "pure-text")
        shown = _MODES.get(mode, f" ({mode})")
        return QuotesRow(
            row=f"{known.row if known else model}{shown}",
            model=model,
            mode=mode,
            printed=dict.fromkeys(self.compare, (None,) * len(self.columns)),
        )


@cache
def table_names() -> tuple[str, ...]:
    """Return the names of the tables that come with fathoms, in the form `PAPER/TABLE`."""
    return tuple(
        sorted(path.relative_to(_TABLES).with_suffix("").as_posix() for path in _TABLES.rglob("*.yaml"))
    )


_KINDS: dict[str, type[AgreementTable | QuotesTable | PreferenceTable | RetrievalTable]] = {
    "mirage": AgreementTable,
    "mmdocrag": QuotesTable,
    "ragchecker": PreferenceTable,
    "mmdocir": RetrievalTable,
    "run": RetrievalTable,
}
"""The kinds of tables by their `results`; all others are tables of systems."""


def load_table(name: str) -> Table | AgreementTable | PreferenceTable | QuotesTable | RetrievalTable:
    """Load a table by the name of one that comes with fathoms, or by the path of a YAML file.

    Raises UsageError if there is no table of that name, and ConfigError for an invalid file.
    """
    path = _TABLES / f"{name}.yaml" if name in table_names() else Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"there is no table '{name}'{suggest(name, table_names())}")
    source = read_yaml(path)
    kind = _KINDS.get(str(source.data.get("results")))
    if kind is not None:
        return validate(kind, source)
    table = validate(Table, source)
    if table.questions is None:
        return table
    return table.model_copy(update={"questions": path.parent / table.questions})
