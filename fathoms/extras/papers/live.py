"""Compute the rows of a table by running their pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fathoms import corpora
from fathoms.errors import UsageError
from fathoms.experiment import load_experiment
from fathoms.extras.papers.figures import Figures, figures_of, profiles_of
from fathoms.extras.papers.tables import Table, TableRow
from fathoms.metrics.score_records import score
from fathoms.pipeline.preparation import Progress, silent
from fathoms.runner import runner
from fathoms.runner.active_run import Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.runner import Job, OnTally, Selection
from fathoms.runs.cache import Cache
from fathoms.scoring import VERDICTS, read_scoring, score_run


def run_rows(
    table: Table,
    rows: Sequence[TableRow],
    configs: Path,
    *,
    out: Path,
    cache: Cache,
    selection: Selection,
    budget: Budget | None = None,
    progress: Progress = silent,
    on_tally: OnTally = lambda tally: None,
    on_stop: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Figures], list[Outcome]]:
    """Run and score the pipelines of some rows, with the configurations in the folder `configs`.

    Returns the figures by row name and the outcome of each run. Rows without records have no figures. Raises
    UsageError if a configuration is missing, and the errors of `runner.run`.
    """
    jobs = [_job(row, configs) for row in rows]
    outcomes = runner.run(
        jobs,
        out=out,
        cache=cache,
        selection=selection,
        budget=budget,
        progress=progress,
        on_tally=on_tally,
        on_stop=on_stop,
    )
    figures = {}
    for row, outcome in zip(rows, outcomes, strict=True):
        store = outcome.run
        if records := store.records.all():
            score_run(store)
            known = store.verdicts(VERDICTS)
            scores = score(records, read_scoring(store.manifest), known, profiles_of(table))
            figures[row.row] = figures_of(table, records, scores)
    return figures, outcomes


def _job(row: TableRow, configs: Path) -> Job:
    """Load the pipeline and the data set of one row, named after the row."""
    path = configs / row.config
    if not path.is_file():
        raise UsageError(
            f"{path}: no such file: --configs DIR names the folder that holds {row.config} (the paper's own"
            " are in configs/ of the repository)"
        )
    experiment = load_experiment(path, model=row.model)
    corpus = corpora.load(experiment.data, path.parent)
    return Job(experiment.model_copy(update={"name": row.row}), corpus, path.parent)
