"""Computes how far metrics agree with people's preferences between two answers, from RAGChecker's release.

Two people rate for each pair of answers, from -2 to 2, which one is better. The rating of a metric is the
difference of its scores. As in the released `meta_eval.py`, both are compared once for each label, so each
pair counts twice, and a difference that is missing is the median of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from fathoms.errors import DataError, UsageError, amount
from fathoms.extras.papers.figures import Figures
from fathoms.extras.papers.tables import PreferenceRow, PreferenceTable
from fathoms.safety.inputs import LARGEST_IMPORT, parse_json, read_text

if TYPE_CHECKING:
    from fathoms.stats.ranking import Coefficient

_PEOPLE = "human_labeled*.json"
_FIRST, _SECOND = "model1", "model2"

Place = tuple[str, str, str]
"""A cell by its row, metric and column."""


@dataclass(frozen=True)
class Preferred:
    """The coefficients of the cells whose files are there, the figures of the table by row, why cells rest on
    less than the paper's, and what was left out, as sentences."""

    cells: Mapping[Place, Coefficient]
    figures: Mapping[str, Figures]
    partly: Mapping[Place, str]
    notes: tuple[str, ...]


def preference_figures(table: PreferenceTable, folder: Path, rows: Sequence[PreferenceRow]) -> Preferred:
    """Compute the cells of some rows. Raises UsageError if the folder does not exist, and DataError if it has
    no labels of people, or a file cannot be read."""
    from fathoms.stats.ranking import pearson, spearman

    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of results does not exist")
    labels = _labels(folder, table)
    files: dict[str, dict[str, Any] | None] = {one.of: _scores(folder, one.of) for one in rows}
    notes = [f"there is no file baseline_{of}*.json" for of in files if of != "people" and files[of] is None]
    cells: dict[Place, Coefficient] = {}
    partly: dict[Place, str] = {}
    figures: dict[str, Figures] = {}
    for row in rows:
        scores = files[row.of]
        for column, label in table.columns.items():
            sides = _sides(labels[label], None if row.of == "people" else scores, row, label)
            if not sides[0]:
                continue
            for name, kind in table.compare.items():
                found = (pearson if kind == "pearson" else spearman)(*sides)
                place = (row.row, name, column)
                if found.value is None:
                    continue
                cells[place] = found
                figures.setdefault(row.row, Figures({}, {})).metrics.setdefault(name, {})[column] = (
                    found.value
                )
                if (number := len(set(sides[2]))) < table.instances:
                    partly[place] = _why(number, table.instances, found)
    if not cells:
        raise DataError("\n".join([f"{folder} contains nothing that {table.table} rests on", *notes]))
    return Preferred(cells, figures, partly, tuple(notes))


def _why(number: int, of: int, found: Coefficient) -> str:
    bounds = (
        ""
        if found.low is None or found.high is None
        else f", which give {100 * found.low:.0f} to {100 * found.high:.0f} with 95 % confidence"
    )
    return f"the files have {number} of {amount(of, 'instance')}{bounds}"


def _sides(
    labels: Mapping[str, Sequence[float]], scores: Mapping[str, Any] | None, row: PreferenceRow, label: str
) -> tuple[list[float], list[float], list[str]]:
    """Return both sides of a cell, with the instance of each item: of people, the first label of each
    instance and the second."""
    if row.of == "people":
        both = {id: said for id, said in labels.items() if len(said) > 1}
        return [said[0] for said in both.values()], [said[1] for said in both.values()], list(both)
    figure = row.figure or label
    found = (
        {}
        if scores is None
        else {id: _difference(scores[id], row.of, figure) for id in labels if id in scores}
    )
    known = [value for value in found.values() if value is not None]
    if not known:
        return [], [], []
    filled = {id: median(known) if value is None else value for id, value in found.items()}
    items = [(value, said, id) for id, value in filled.items() for said in labels[id]]
    return [one[0] for one in items], [one[1] for one in items], [one[2] for one in items]


def _difference(row: Any, of: str, figure: str) -> float | None:
    """Return by how much the second answer is better; `None` where a score is missing."""
    sides = []
    for side in (_FIRST, _SECOND):
        given = row[side].get(of) if isinstance(row.get(side), dict) else None
        value = given.get(figure) if isinstance(given, dict) else None
        sides.append(value if isinstance(value, int | float) and not isinstance(value, bool) else None)
    first, second = sides
    return None if first is None or second is None else second - first


def _labels(folder: Path, table: PreferenceTable) -> dict[str, dict[str, list[float]]]:
    """Return people's labels of each kind by instance, in the order of the file."""
    found: dict[str, dict[str, list[float]]] = {label: {} for label in table.columns.values()}
    rows = _rows(folder, _PEOPLE)
    if rows is None:
        raise DataError(f"{folder} contains no people's labels: expected a file {_PEOPLE}")
    for place, row in rows:
        for label, by_instance in found.items():
            value = row.get(label)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise DataError(f"{place}: expected a number as '{label}'")
            by_instance.setdefault(str(row.get("instance_id")), []).append(value)
    return found


def _scores(folder: Path, of: str) -> dict[str, Any] | None:
    """Return the rows of a metric's file by instance; `None` if there is none."""
    rows = _rows(folder, f"baseline_{of}*.json")
    return None if rows is None else {str(row.get("instance_id")): row for _, row in rows}


def _rows(folder: Path, pattern: str) -> list[tuple[str, dict[str, Any]]] | None:
    """Return the rows of the one file with a name, with their places; `None` if there is none."""
    paths = sorted(folder.rglob(pattern))
    if len(paths) > 1:
        raise DataError(f"{folder} has several files {pattern}: {', '.join(map(str, paths))}")
    if not paths:
        return None
    (path,) = paths
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise DataError(f"{path}: expected a list of objects")
    return [(f"{path}: row {number}", row) for number, row in enumerate(data, 1)]
