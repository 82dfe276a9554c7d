"""Shows a published table of MMDocRAG beside the figures that come out of its released answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from fathoms.errors import amount
from fathoms.extras.papers.display import SYMBOLS, reproduced_json, sentence
from fathoms.report.grid import Grid
from fathoms.report.terminal import WIDTH, note, with_blank_lines
from fathoms.report.text import plain, shorten
from fathoms.runs.grades import QUALITY

if TYPE_CHECKING:
    from fathoms.extras.papers.beside import Cell, Comparison
    from fathoms.extras.papers.quotes import QuotesRun
    from fathoms.extras.papers.tables import QuotesTable

_HEADS = {
    "image P": "img P",
    "image R": "R",
    "image F1": "F1",
    "text P": "txt P",
    "text R": "R",
    "text F1": "F1",
    "quote F1": "both",
    "fluency": "flu.",
    "citation": "cit.",
    "coherence": "coh.",
    "logic": "log.",
    "factuality": "fac.",
    "quality": "avg.",
}
_NAME = 22


def quotes_panel(
    table: QuotesTable, comparison: Comparison, runs: Sequence[QuotesRun]
) -> list[RenderableType]:
    """Build the table, with a line of printed cells for each row and a line of ours for each run at hand, and
    the mean grades under both ways of counting."""
    shown = Grid("row", "", *(_HEADS.get(column, column) for column in table.columns))
    for row in comparison.rows:
        name = shorten(plain(row.row), _NAME)
        if any(cell.paper != "n/a" for cell in row.cells):
            shown.add_row(Text(name), "printed", *(_dash(cell.paper) for cell in row.cells))
            name = ""
        if any(cell.ours for cell in row.cells):
            shown.add_row(Text(name), "ours", *map(_ours, row.cells))
    return [
        Text(shorten(f"{table.table}, {table.paper}", WIDTH), style="bold"),
        note(
            "precision, recall and F1 of picture and of text quotes and of both, in percent; grades of the"
            " judge from 0 to 5, counted as in the release"
        ),
        with_blank_lines(shown),
        *_grades(runs),
    ]


def _grades(runs: Sequence[QuotesRun]) -> Iterator[RenderableType]:
    """Yield the table of mean grades by the default, which leaves out what cannot be read."""
    graded = [run for run in runs if run.judge]
    if not graded:
        return
    names = [*QUALITY, "answer-quality"]
    grades = (_HEADS[key] for key in ("fluency", "citation", "coherence", "logic"))
    shown = Grid("row", *grades, "fac.", "avg.", "answers", "not read")
    for run in graded:
        values = [run.values.get(f"mmdocrag.{name}") for name in names]
        cells = ["-" if value is None else f"{value:.2f}" for value in values]
        counts = (str(run.counts["grades"]), str(run.counts["unread_grades"]))
        shown.add_row(Text(shorten(plain(run.row.row), _NAME)), *cells, *counts)
    yield Text("The mean grades that were given (mmdocrag-quality)", style="bold")
    yield note("a misspelt key counts as its name, and what cannot be read is left out and counted")
    yield with_blank_lines(shown)


def quotes_lines(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for every difference, and how much was compared."""
    yield from map(sentence, comparison.cells("differs"))
    printed = [row for row in comparison.rows if any(cell.paper != "n/a" for cell in row.cells)]
    others = amount(len(comparison.rows) - len(printed), "run")
    if not printed:
        yield f"{others}; our sources have no printed figures of this table to compare with"
        return
    compared = sum(row.compared for row in printed)
    counts = f"{len(comparison.cells('same'))} the same, {len(comparison.cells('differs'))} differ"
    more = f"; not in it: {others}" if len(comparison.rows) > len(printed) else ""
    yield f"{compared} of {len(printed)} rows compared; of their printed cells {counts}{more}"


def quotes_json(
    name: str, table: QuotesTable, comparison: Comparison, runs: Sequence[QuotesRun]
) -> dict[str, Any]:
    """Return the same comparison as JSON data, with the values of all metrics of each run, not rounded:
    shares in [0, 1], and grades from 0 to 5."""
    return {**reproduced_json(name, table, comparison, {}), "runs": [_run(run) for run in runs]}


def _run(run: QuotesRun) -> Mapping[str, Any]:
    return {
        "row": run.row.row,
        "model": run.setting.model,
        "mode": run.setting.mode,
        "answers": str(run.answers),
        "judge": None if run.judge is None else str(run.judge),
        "metrics": dict(run.values),
        "counts": dict(run.counts),
        "notes": list(run.notes),
    }


def _dash(text: str) -> str:
    return "-" if text == "n/a" else text


def _ours(cell: Cell) -> str:
    return f"{cell.ours or '-'}{SYMBOLS[cell.status]}"
