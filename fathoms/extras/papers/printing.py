"""The parts of `fathoms reproduce` for ViDoRe, MMDocRAG, RAGChecker and MMDocIR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console
from fathoms.errors import ExitCode, UsageError, amount

if TYPE_CHECKING:
    from fathoms.extras.papers.tables import PreferenceTable, QuotesTable, RetrievalTable


def published_figures(
    name: str,
    results: Path,
    reference: str | None,
    subsets: tuple[str, ...],
    within: float | None,
    out: Path,
    *,
    as_json: bool,
) -> int:
    """Print the figures of a result file of MTEB, and those of a run with the differences.

    Without `within`, differences are shown and not judged: another machine, precision or version of a model
    changes the last digits. With it, a cell that differs by more ends the command with exit code 1, and so
    does one that the run has no figure for.
    """
    from fathoms.extras.papers.display_published import published_json, published_lines, published_panel
    from fathoms.extras.papers.mteb import read_published, task_of
    from fathoms.extras.papers.vidore import compare_published, differing_counts, figures_of_run
    from fathoms.runs.run import Run

    if within is not None and (reference is None or not within >= 0):
        raise UsageError("--within needs a run to compare (--run RUN), and a difference of 0 or more")
    published = read_published(results, task_of(name))
    run = None if reference is None else Run.open(reference, out)
    own = None if run is None else figures_of_run(run, published.metrics)
    cells = compare_published(published, own, subsets)
    notes = () if own is None else (*own.notes, *differing_counts(published, own))
    shown = None
    if run is not None:
        manifest = run.manifest
        shown = f"{manifest.name} on {manifest.data.name}"
    for line in notes:
        console.complain(line)
    if as_json:
        console.show_json(published_json(published, cells, shown, notes))
    else:
        console.show(*published_panel(published, cells, shown))
        for line in published_lines(cells):
            console.say(line)
    far = within is not None and any(
        cell.difference is None or abs(cell.difference) > within for cell in cells
    )
    return ExitCode.FAILED if far else ExitCode.OK


def quotes_figures(
    name: str, table: QuotesTable, results: Path, chosen: tuple[str, ...], *, as_json: bool
) -> int:
    """Print a table of MMDocRAG beside the figures of the released answers in a folder.

    A difference ends the command with exit code 1, and so do a table or a chosen row of which nothing was
    compared, and a file that is left out. Of a table without printed rows, nothing needs to be compared.
    """
    from fathoms.extras.papers.beside import compare
    from fathoms.extras.papers.display import reproduced_lines, reproduced_panel
    from fathoms.extras.papers.display_quotes import quotes_json, quotes_lines, quotes_panel
    from fathoms.extras.papers.quotes import figures_of_modes, figures_of_runs, quotes_runs

    rows = table.select(chosen)
    runs, damaged = quotes_runs(table, results)
    partly = {}
    if table.modes is not None:
        more, figures = figures_of_modes(table, runs)
        why = f"the mean over {amount(len(more), 'model')} whose two runs are at hand"
        places = [(table.rows[0].row, name, column) for name in table.compare for column in table.columns]
        partly = dict.fromkeys(places, f"{why}; the paper does not name its models")
    else:
        runs = [run for run in runs if not chosen or run.row in rows]
        more, figures = [run.row for run in runs if run.row not in rows], figures_of_runs(table, runs)
    comparison = compare(table, figures, [*rows, *more], partly=partly)
    for line in (*damaged, *(line for run in runs for line in run.notes)):
        console.complain(line)
    absent = [one.row for one in comparison.rows if one.row in chosen and not one.compared]
    for row in absent:
        console.complain(f"{results} has no answers of the row '{row}', so it was not compared")
    if as_json:
        console.show_json(quotes_json(name, table, comparison, runs))
    else:
        if table.modes is not None:
            panel, lines = reproduced_panel(table, comparison, {}), reproduced_lines(comparison)
        else:
            panel, lines = quotes_panel(table, comparison, runs), quotes_lines(comparison)
        console.show(*panel)
        for line in lines:
            console.say(line)
    good = (comparison.reproduced or not table.rows) and not absent and not damaged
    return ExitCode.OK if good else ExitCode.FAILED


def preference_agreement(
    name: str, table: PreferenceTable, results: Path, chosen: tuple[str, ...], *, as_json: bool
) -> int:
    """Print how far metrics agree with people's preferences, beside the printed coefficients. A difference
    ends the command with exit code 1, unless the files hold fewer instances than the paper."""
    from fathoms.extras.papers.beside import compare
    from fathoms.extras.papers.display import reproduced_json, reproduced_lines, reproduced_panel
    from fathoms.extras.papers.preferences import preference_figures

    rows = table.select(chosen)
    found = preference_figures(table, results, rows)
    comparison = compare(table, found.figures, rows, partly=found.partly)
    for note in found.notes:
        console.complain(note)
    if as_json:
        agreement = [
            {"row": row, "metric": metric, "column": column, **one._asdict()}
            for (row, metric, column), one in found.cells.items()
        ]
        shown = reproduced_json(name, table, comparison, {})
        console.show_json({**shown, "agreement": agreement, "left_out": found.notes})
    else:
        console.show(*reproduced_panel(table, comparison, {}))
        for line in reproduced_lines(comparison):
            console.say(line)
    return ExitCode.OK if comparison.reproduced else ExitCode.FAILED


def retrieval_figures(
    name: str,
    table: RetrievalTable,
    results: Path | None,
    reference: str | None,
    chosen: tuple[str, ...],
    out: Path,
    *,
    as_json: bool,
) -> int:
    """Print a table of retrievers beside the figures of their released scores, and those of a run.

    A difference from released scores ends the command with exit code 1, unless they hold fewer questions than
    the paper, and so do a chosen row of which nothing was compared, and a file that is left out. A run is
    shown in a row of its own, because its retriever is not the paper's.
    """
    from fathoms.extras.papers.beside import compare
    from fathoms.extras.papers.display import (
        contradictions,
        reproduced_json,
        reproduced_lines,
        reproduced_panel,
    )
    from fathoms.extras.papers.retrieval import Retrieved, add_released, add_run
    from fathoms.runs.run import Run

    rows, found = table.select(chosen), Retrieved()
    if results is not None:
        add_released(table, results, found)
    if reference is not None:
        add_run(table, Run.open(reference, out), found)
    more = [row for row in found.more if not chosen or row.row == found.run]
    comparison = compare(table, found.figures, [*rows, *more], partly=found.partly)
    if results is not None:
        absent = [one.row for one in comparison.rows if one.row in chosen and not one.compared]
        found.notes += [
            f"{results} has no scores of the row '{row}', so it was not compared" for row in absent
        ]
    for line in found.notes:
        console.complain(line)
    if as_json:
        console.show_json({**reproduced_json(name, table, comparison, {}), "left_out": found.notes})
    else:
        console.show(*reproduced_panel(table, comparison, {}))
        for line in (*reproduced_lines(comparison), *contradictions(table)):
            console.say(line)
    good = results is None or (comparison.reproduced and not absent and not found.damaged)
    return ExitCode.OK if good else ExitCode.FAILED
