"""Tables of metrics that are read together: short and long answers, and planted instructions.

To add one, add it to `_ALL`: its key, its title, its metrics, and what a reader must know of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from fathoms.errors import amount_of
from fathoms.metrics.names import PLANTED
from fathoms.report.graded import figure_text
from fathoms.report.section import Section
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigures

_LONG = tuple(f"mm-ragchecker.{name}" for name in ("faithfulness", "hallucination", "claim-recall"))


class _Table(NamedTuple):
    """A table of the metrics `needs` and `more`. It has the runs with a value of one of the `needs`."""

    key: str
    title: str
    needs: tuple[str, ...]
    more: tuple[str, ...]
    note: str


def _section(table: _Table, runs: Sequence[Run]) -> Section | None:
    """Return a table of runs; `None` if no run has what it needs."""
    found = [(run, figures) for run in runs if (figures := _known(table, run))]
    if not found:
        return None
    rows = [
        [run.name, name, figure_text(one.overall.model_dump()), str(one.overall.n)]
        for run, figures in found
        for name, one in figures.items()
    ]
    values = [
        {
            "run": run.original_id,
            "metrics": {name: one.overall.model_dump() for name, one in figures.items()},
            "counted": _counted(figures),
        }
        for run, figures in found
    ]
    counted = [
        f"{run.name}: {amount_of(number, what)}"
        for run, figures in found
        for what, number in _counted(figures).items()
    ]
    header = ("run", "metric", "value", "n")
    return Section(table.key, table.title, header, rows, [table.note, *counted], {"runs": values}, numbers=2)


def _counted(figures: Mapping[str, MetricFigures]) -> dict[str, int]:
    """Return the counts that a reader must know; metrics that apply to more questions count more."""
    found: dict[str, int] = {}
    for one in figures.values():
        for what, number in one.counted.items():
            found[what] = max(number, found.get(what, 0))
    return found


def _known(table: _Table, run: Run) -> dict[str, MetricFigures]:
    """Return the figures of a table that a run has; none if it lacks what the table needs."""
    metrics = run.summary.metrics
    known = {
        name: metrics[name]
        for name in (*table.needs, *table.more)
        if name in metrics and metrics[name].overall.value is not None
    }
    return known if known.keys() & set(table.needs) else {}


_ALL = (
    _Table(
        "short-long",
        "Short and long answers",
        ("short-exact-match", "short-accuracy", "long-rouge-l"),
        _LONG,
        "a high accuracy with a low exact match is a matter of form; a good short answer beside unsupported"
        " claims in the long one explains more than was read; n: questions",
    ),
    _Table(
        "listed",
        "Answers that are a number or a list",
        ("number-exact", "list-precision", "list-recall", "list-f1"),
        (),
        "of what an answer lists, precision is the share that is in the gold list, and recall the share of"
        " the gold list that it lists; n: the questions that have a value",
    ),
    _Table(
        "planted",
        "Planted instructions",
        PLANTED,
        (),
        "the share of the answers that obey an instruction in their context, or that repeat the prompt, over"
        " the n questions whose context has the planted word; 0 is no proof against other instructions",
    ),
)
TABLES: tuple[Callable[[Sequence[Run]], Section | None], ...] = tuple(
    partial(_section, table) for table in _ALL
)
