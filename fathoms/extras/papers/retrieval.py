"""Computes tables of retrieval: from the scores that retrievers gave to MMDocIR's pages, or from runs.

The released `search.py` of MMDocIR ends with a list of the questions of the annotations, to each of which it
has added `domain`, `scores_page` (a score for each page of the document), `scores_layout` and
`layout_indices` (for each layout: its number, its page from 0, and its box). A file has this list as JSON, or
its rows as JSON lines, and is named `scores_BGE.json` by the retriever. The encoded vectors that the authors'
code writes are pickles, which may run code and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from fathoms.errors import DataError, UsageError, amount
from fathoms.extras.papers.figures import Columns, Figures
from fathoms.extras.papers.tables import PrintedRow, RetrievalTable
from fathoms.extras.papers.vidore import scored
from fathoms.importers.imported import fold_letters
from fathoms.metrics.registry import named
from fathoms.metrics.retrieval.gold import GoldBox
from fathoms.metrics.retrieval.layout import added_recall
from fathoms.metrics.retrieval.metrics import RetrievalMetric
from fathoms.runs.run import Run
from fathoms.safety.inputs import LARGEST_IMPORT, each_line, parse_json, read_text

_NAME = "scores_"
"""How the name of a file of scores begins; the name of the retriever follows."""


@dataclass(frozen=True)
class QuestionValues:
    """The category of a question, and the value of each metric for it; `None` where it has none."""

    category: str
    values: Mapping[str, float | None]


@dataclass
class Retrieved:
    """The figures of a table by row, rows that the paper does not have, why cells rest on less than the
    paper's, what was left out, as sentences, whether a file could not be read, and the row of the run."""

    figures: dict[str, Figures] = field(default_factory=dict)
    more: list[PrintedRow] = field(default_factory=list)
    partly: dict[tuple[str, str, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    damaged: bool = False
    run: str | None = None

    def add(self, table: RetrievalTable, name: str, questions: Sequence[QuestionValues]) -> None:
        """Add the figures of a retriever, in the row of its name if there is one."""
        row = next((one.row for one in table.rows if fold_letters(one.row) == fold_letters(name)), None)
        if row is None:
            row = name
            empty = dict.fromkeys(table.compare, (None,) * len(table.columns))
            self.more.append(PrintedRow(row=name, printed=empty))
        metrics = {shown: _columns(table, metric, questions) for shown, metric in table.compare.items()}
        self.figures[row] = Figures(metrics, ours={})
        if len(questions) < table.questions:
            why = f"{len(questions)} of {amount(table.questions, 'question')} are at hand"
            self.notes.append(f"{name}: {why}")
            places = ((row, shown, column) for shown in metrics for column in table.columns)
            self.partly |= dict.fromkeys(places, why)
        categories = {each.category for each in questions}
        without = [
            column for column, one in table.columns.items() if one.category and one.category not in categories
        ]
        if without:
            self.notes.append(
                f"{name}: there is no question of {', '.join(without)}, so the mean of the columns is missing"
            )


def _columns(table: RetrievalTable, metric: str, questions: Sequence[QuestionValues]) -> Columns:
    """Return the mean values of a metric by column, without those that do not exist."""
    found: dict[str, float | None] = {}
    for column, one in table.columns.items():
        name = metric + (f"-{one.modality}" if one.modality else "")
        own = [each.values.get(name) for each in questions if one.category in (None, each.category)]
        known = [value for value in own if value is not None]
        found[column] = fmean(known) if known else None
    single = [found[column] for column, one in table.columns.items() if one.category]
    for column, one in table.columns.items():
        if one.mean == "columns":
            known = [value for value in single if value is not None]
            found[column] = fmean(known) if len(known) == len(single) else None
    return {column: value for column, value in found.items() if value is not None}


def add_released(table: RetrievalTable, folder: Path, found: Retrieved) -> None:
    """Add the figures of every file of scores below a folder.

    A file that cannot be read is named and left out, and of two files of one retriever, the second. Raises
    UsageError if the folder does not exist, and DataError if no file can be used.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of results does not exist")
    paths = [path for path in sorted(folder.rglob(f"{_NAME}*")) if path.suffix in (".json", ".jsonl")]
    if not paths:
        pickles = any(folder.rglob("encoded_*.pkl"))
        raise DataError(
            f"{folder} contains no scores of retrievers: expected files such as {_NAME}BGE.json with the list"
            " of questions that MMDocIR's search.py has at its end (docs/reproduce.md says how to write it)"
            + ("; the pickles of vectors are not read, because a pickle can run code" if pickles else "")
        )
    metrics = _metrics(table)
    seen: dict[str, Path] = {}
    for path in paths:
        name = path.stem.removeprefix(_NAME)
        if (other := seen.setdefault(fold_letters(name), path)) is not path:
            found.notes.append(f"left out: {path} is of the same retriever as {other}")
            found.damaged = True
            continue
        try:
            questions = [_values_of(row, place, metrics) for place, row in _rows(path)]
        except DataError as error:
            found.notes.append(f"left out: {error}")
            found.damaged = True
            continue
        found.add(table, name, questions)
    if not found.figures:
        raise DataError("\n".join(found.notes))


def add_run(table: RetrievalTable, run: Run, found: Retrieved) -> None:
    """Add the figures of a run; repeats are averaged within their question.

    Raises DataError if no question of the run has a value.
    """
    only = run.is_scored and run.summary.retrieval_only
    values: dict[str, tuple[str, dict[str, list[float]]]] = {}
    lacking = set()
    for record, scores in scored(run, _metrics(table), only):
        own = values.setdefault(record.question.id, (record.question.category, {}))[1]
        for name, score in scores.items():
            if score.value is not None:
                own.setdefault(name, []).append(score.value)
        if not scores or all(score.value is None for score in scores.values()):
            lacking.add(record.question.id)
    questions = [
        QuestionValues(category, {name: fmean(each) for name, each in own.items()})
        for category, own in values.values()
        if own
    ]
    if not questions:
        raise DataError(
            f"{run.path}: no question has both gold and hits for {' and '.join(table.compare.values())}"
        )
    if lacking:
        found.notes.append(f"the run has no value for {amount(len(lacking), 'question')}, which are left out")
    found.run = f"{run.manifest.name} (run)"
    found.add(table, found.run, questions)


def _metrics(table: RetrievalTable) -> list[RetrievalMetric]:
    """Return the metrics of all columns of a table."""
    modalities = dict.fromkeys(one.modality for one in table.columns.values())
    names = [
        metric + (f"-{modality}" if modality else "")
        for metric in table.compare.values()
        for modality in modalities
    ]
    return [one for one in named(names) if isinstance(one, RetrievalMetric)]


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file of scores with their places."""
    if path.suffix == ".jsonl":
        for one in each_line(path):
            if isinstance(one, DataError):
                raise one
            yield f"{path}:{one[0]}", one[1]
        return
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path))
    if not isinstance(data, list):
        raise DataError(f"{path}: expected a list of questions")
    for number, row in enumerate(data, 1):
        yield f"{path}: question {number}", row


def _values_of(row: Any, place: str, metrics: Sequence[RetrievalMetric]) -> QuestionValues:
    """Return the values of a question, by the rules of the released `metric_eval.py`.

    Equal scores stand in the order of the document. A question without gold counts 0.
    """
    if not isinstance(row, dict) or not isinstance(row.get("domain"), str):
        raise DataError(f"{place}: expected an object with the text 'domain'")
    values: dict[str, float | None] = {}
    for metric in metrics:
        if metric.level == "page":
            gold = _numbers(row, "page_id", place)
            pages = _best(_numbers(row, "scores_page", place), metric.k)
            values[metric.name] = len({*gold} & {*pages}) / len(gold) if gold else 0.0
        else:
            boxes = [_box(one, place) for one in _list(row, "layout_mapping", place)]
            layouts = _list(row, "layout_indices", place)
            scores = _numbers(row, "scores_layout", place)
            if len(layouts) != len(scores):
                raise DataError(f"{place}: 'layout_indices' and 'scores_layout' differ in length")
            best = [layouts[index] for index in _best(scores, metric.k)]
            found = [
                _placed(one[1:] if isinstance(one, list) else [], "layout_indices", place) for one in best
            ]
            values[metric.name] = added_recall(boxes, found) or 0.0
    return QuestionValues(row["domain"], values)


def _best(scores: Sequence[float], k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:k]


def _list(row: Mapping[str, Any], key: str, place: str) -> list[Any]:
    value = row.get(key)
    if not isinstance(value, list):
        raise DataError(f"{place}: '{key}' is missing, or no list")
    return value


def _numbers(row: Mapping[str, Any], key: str, place: str) -> list[float]:
    values = _list(row, key, place)
    if not all(type(value) in (int, float) for value in values):
        raise DataError(f"{place}: '{key}' has a value that is no number")
    return values


def _box(layout: Any, place: str) -> GoldBox:
    """Return the page and the box of a gold layout."""
    if not isinstance(layout, dict):
        raise DataError(f"{place}: 'layout_mapping' has a value that is no object")
    return _placed([layout.get("page"), *_list(layout, "bbox", place)], "layout_mapping", place)


def _placed(numbers: Sequence[Any], key: str, place: str) -> GoldBox:
    """Return a page and a box, given as five numbers."""
    if len(numbers) != 5 or not all(type(value) in (int, float) for value in numbers):
        raise DataError(f"{place}: '{key}' has a layout that is not a page and four numbers")
    page, left, top, right, bottom = numbers
    return ("", int(page)), (left, top, right, bottom)
