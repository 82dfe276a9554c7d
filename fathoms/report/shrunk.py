"""Correctness by category, shrunk towards the mean of the categories, beside the raw figure.

With few questions in a category its mean owes much to chance, and the highest and the lowest of many such
means more than the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.report.section import Lines, Section, table_of_runs
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

HEADS = ("category", "mean", "shrunk", "n")
NOTE = (
    "shrunk: pulled towards the mean of the categories, the more the fewer questions there are (empirical"
    " Bayes); the intervals belong to the raw means"
)
TOO_FEW = "fewer than four categories, which cannot be shrunk"


@dataclass(frozen=True)
class ShrunkCategory:
    """The mean correctness of a category, in [0, 1], with its empirical Bayes estimate and the number of
    questions."""

    mean: float
    shrunk: float
    n: int


def shrunk_categories(run: Run, scores: str | None = None) -> Mapping[str, ShrunkCategory]:
    """Return the categories of a run; empty if fewer than four have a correctness.

    The variance of a mean by chance is that of the questions within the categories, pooled, divided by the
    number of questions: that of a single small category is too uncertain, and 0 if its questions all went the
    same way.
    """
    import numpy as np

    from fathoms.stats.shrink import FEWEST, shrunk

    found: dict[str, list[float]] = {name: [] for name in run.summary.categories}
    for question in run.correctness(run.profile(scores)).values():
        found.setdefault(question.category, []).append(question.mean)
    found = {name: values for name, values in found.items() if values}
    if len(found) < FEWEST:
        return {}
    means = np.array([np.mean(values) for values in found.values()])
    counts = np.array([len(values) for values in found.values()])
    within = sum(len(values) * np.var(values) for values in found.values())
    pooled = within / max(1, counts.sum() - len(counts))
    estimates = shrunk(means, pooled / counts)
    return {
        name: ShrunkCategory(float(mean), float(estimate), int(n))
        for name, mean, estimate, n in zip(found, means, estimates, counts, strict=True)
    }


def shrunk_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the table of the shrunk categories of some runs."""

    def lines(run: Run) -> Lines:
        found = shrunk_categories(run, scores).items()
        rows = [[name, figure(one.mean), figure(one.shrunk), str(one.n)] for name, one in found]
        return rows, [] if rows else [TOO_FEW]

    return table_of_runs(runs, lines, "shrunk", "Shrunk categories", HEADS, [NOTE])
