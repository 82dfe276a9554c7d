"""A comparison of runs as Python code and notebooks use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathoms.compare.compare import Comparison, Tested
from fathoms.compare.compare import compare as compare_runs
from fathoms.compare.question_scores import default_metrics
from fathoms.report.comparison import effect_cells, verdict
from fathoms.report.notebook.parts import grid, page, said, small
from fathoms.report.of_sweeps import read_all_scores
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

FLIPS = 10


@dataclass(frozen=True)
class Compared:
    """Runs compared with the first of them, question by question. `found` has all figures, as those that
    `fathoms compare --json` prints, and a notebook shows them as tables."""

    found: Comparison

    def __repr__(self) -> str:
        runs = ", ".join(each.run for each in self.found.unshared)
        return f"<Compared {runs} with {self.found.first}>"

    def _repr_html_(self) -> str:
        """Show the comparison in a notebook."""
        found = self.found
        parts = [said(f"A: {found.first}")]
        for each in found.unshared:
            parts.append(said(f"B: {each.run}"))
            for test in found.tests:
                if test.run == each.run:
                    parts += _shown(test)
        note = f"profile {found.profile}; [low, high]: 95 % intervals of the difference"
        return page(*parts, *map(small, [note, *found.notes]))


def _shown(test: Tested) -> list[str]:
    """The table of one metric, what the test says, and the questions that differ."""
    effects = [("Mean of the categories", test.overall), ("Mean of the questions", test.micro)]
    rows = [(name, *effect_cells(effect)) for name, effect in [*effects, *test.categories.items()]]
    flips = [f"{each.question} ({figure(each.first)} → {figure(each.second)})" for each in test.flips[:FLIPS]]
    more = f" and {len(test.flips) - FLIPS} more" if len(test.flips) > FLIPS else ""
    outcome = f"{verdict(test.p, test.p_holm)}; B wins {test.wins}, loses {test.losses}, ties {test.ties}"
    differ = [small(f"differ: {', '.join(flips)}{more}")] if flips else []
    return [grid(test.metric, ("", "n", "A", "B", "B - A"), rows, 4), said(outcome), *differ]


def compared(runs: Sequence[Run], metrics: Sequence[str], profile: str | None) -> Compared:
    """Compare runs with the first of them by some metrics, by default those that all have.

    Raises UsageError and DataError as `fathoms compare` does.
    """
    scores = [read_all_scores(run, profile) for run in runs]
    return Compared(compare_runs(scores, list(dict.fromkeys(metrics or default_metrics(scores)))))
