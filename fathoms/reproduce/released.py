"""The rows of a table from the result files that its authors released."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fathoms.corpora import read_questions
from fathoms.errors import DataError, UsageError
from fathoms.importers import Imported, read_answers, read_result_file
from fathoms.metrics import Scoring, score
from fathoms.reproduce.figures import Figures, figures_of
from fathoms.reproduce.tables import Table

_PATTERNS = {"fathoms-rag": "*.json", "answers": "*.jsonl"}
_NOT_LETTERS = re.compile(r"[\W_]+")


def find_results(table: Table, folder: Path) -> tuple[dict[str, Imported], tuple[str, ...]]:
    """The result files of a folder by the row that they belong to, and sentences about those of no row.

    A file belongs to the row all of whose words stand in its name or in the names of its models. Raises
    UsageError for a folder that is not there, DataError where two files belong to one row, or none to any.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of results")
    found: dict[str, Imported] = {}
    places: dict[str, Path] = {}
    strays = []
    for path in sorted(folder.glob(_PATTERNS[table.results])):
        imported = _read(table, path)
        names = " ".join(map(_fold, (path.stem, imported.model or "")))
        rows = [row.row for row in table.rows if all(_fold(word) in names for word in row.words)]
        if len(rows) != 1:
            strays.append(f"{path} is of no row of {table.table}, or of several")
        elif rows[0] in found:
            raise DataError(f"two files are of the row '{rows[0]}': {places[rows[0]]} and {path}")
        else:
            found[rows[0]], places[rows[0]] = imported, path
    if not found:
        raise DataError("\n".join([f"{folder} holds no result file of {table.table}", *strays]))
    return found, tuple(strays)


def _read(table: Table, path: Path) -> Imported:
    """One result file in the table's format."""
    if table.questions is None:
        return read_result_file(path)
    return read_answers(path, read_questions(table.questions).questions)


def released_figures(table: Table, results: Mapping[str, Imported], scoring: Scoring) -> dict[str, Figures]:
    """The figures of every row that has a file."""
    return {
        row: figures_of(table, imported.records, score(imported.records, scoring))
        for row, imported in results.items()
    }


def _fold(text: str) -> str:
    """Letters and digits alone."""
    return _NOT_LETTERS.sub("", text).lower()
