"""Compute the rows of a table from the result files that its authors released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fathoms.corpora import read_questions
from fathoms.errors import DataError, UsageError, amount, some_of
from fathoms.extras.papers.figures import Figures, figures_of, profiles_of
from fathoms.extras.papers.tables import Table
from fathoms.importers import Imported, read_answers, read_result_file, result_files
from fathoms.importers.imported import fold_letters
from fathoms.metrics.nearest_neighbour import RELEASED_EXEMPLARS, released_exemplars
from fathoms.metrics.profiles import headline, profile_named
from fathoms.metrics.score_records import Scoring, score

_IN_REPOSITORY = Path("evaluation") / RELEASED_EXEMPLARS


def find_results(
    table: Table, folders: Sequence[Path]
) -> tuple[dict[str, Imported], tuple[str, ...], tuple[str, ...]]:
    """Read the result files below some folders and assign them to rows.

    Returns the results by row name, one message per file that matches no row or several, and one per file
    that cannot be read. A file matches a row if its file name or its model name contains all of the row's
    `words`; only letters and digits are compared, ignoring case. Raises UsageError if a folder does not
    exist, and DataError if two files match the same row or no file matches any.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: the folder of results does not exist")
    found: dict[str, Imported] = {}
    places: dict[str, Path] = {}
    questions = None if table.questions is None else read_questions(table.questions).questions
    strays, damaged = [], []
    paths: list[Path] = []
    for folder in folders:
        if table.results == "answers":
            paths += sorted(folder.rglob("*.jsonl"))
            continue
        of_folder, others = result_files(folder)
        paths += of_folder
        strays += _no_results(folder, [path for path in others if path.name != RELEASED_EXEMPLARS])
    for path in {path.resolve(): path for path in paths}.values():
        try:
            imported = read_result_file(path) if questions is None else read_answers(path, questions)
        except DataError as error:
            damaged.append(f"left out: {error}")
            continue
        names = " ".join(map(fold_letters, (path.stem, imported.model or "")))
        rows = [row.row for row in table.rows if all(fold_letters(word) in names for word in row.words)]
        if len(rows) != 1:
            strays.append(f"{path} matches no row of {table.table}, or more than one")
        elif rows[0] in found:
            raise DataError(f"two files match the row '{rows[0]}': {places[rows[0]]} and {path}")
        else:
            found[rows[0]], places[rows[0]] = imported, path
    if not found:
        named = " and ".join(map(str, folders))
        raise DataError("\n".join([f"no result file of {table.table} is in {named}", *strays, *damaged]))
    return found, tuple(strays), tuple(damaged)


def _no_results(folder: Path, others: Sequence[Path]) -> list[str]:
    """Name the JSON files of a folder that hold no results, all of them in one message."""
    if not others:
        return []
    names = some_of(sorted(str(path.relative_to(folder)) for path in others))
    return [f"{folder}: {amount(len(others), 'JSON file')} without results, left out: {names}"]


def with_exemplars(folders: Sequence[Path]) -> Scoring:
    """Return the scoring by which `ours` is computed: the paper's rule with the exemplars that its authors
    released, where these are beside the results or in the pulled data set, or else our own classifier."""
    places = [found for folder in folders for found in sorted(folder.rglob(RELEASED_EXEMPLARS))]
    beside = (RELEASED_EXEMPLARS, _IN_REPOSITORY)
    places += [folder.resolve().parent / name for folder in folders for name in beside]
    path = next((path for path in places if path.is_file()), None) or released_exemplars()
    if path is None:
        return Scoring()
    of_paper = profile_named(headline("fathoms-rag")).classifier(Scoring().abstention)
    return Scoring(abstention=of_paper.model_copy(update={"exemplars": path}))


def released_figures(table: Table, results: Mapping[str, Imported], scoring: Scoring) -> dict[str, Figures]:
    """Score the results and return the figures of every row that has a file."""
    profiles = profiles_of(table)
    rows = {row: tuple(imported.records) for row, imported in results.items()}
    return {
        row: figures_of(table, records, score(records, scoring, profiles=profiles))
        for row, records in rows.items()
    }
