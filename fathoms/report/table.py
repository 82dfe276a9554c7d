"""Converts the scores of runs into table rows, which the terminal, Markdown and LaTeX reports share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fathoms.report.view import RunView

Metric = Literal["correctness", "hallucination"]
MEANS = ("correctness", "hallucination", "abstention")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Cell:
    """The scores of one run for one category, or over all categories.

    `n` is the denominator of correctness and `hallucination_n` that of hallucination, which excludes failed
    questions. `intervals` maps each metric with a known 95 % interval to its low and high bound.
    """

    correctness: float | None = None
    hallucination: float | None = None
    n: int = 0
    hallucination_n: int = 0
    errors: int = 0
    abstention: float | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def value(self, metric: Metric) -> float | None:
        """Return the value of a headline metric, `None` if it does not apply."""
        return self.correctness if metric == "correctness" else self.hallucination

    def count(self, metric: Metric) -> int:
        """Return the denominator of a headline metric."""
        return self.n if metric == "correctness" else self.hallucination_n

    def text(self, metric: Metric) -> str:
        """Format the value of a headline metric with its interval."""
        return figure(self.value(metric)) + bracket(self.intervals.get(metric))

    @property
    def counts(self) -> str:
        """The denominators as text: `n`, or `n/hallucination_n` if the two differ."""
        same = self.n == self.hallucination_n
        return str(self.n) if same else f"{self.n}/{self.hallucination_n}"


@dataclass(frozen=True)
class Row:
    """The scores of one run under one profile.

    `label` is the run's name, extended if another run has the same name. `mark` is the footnote mark of an
    incomplete run, otherwise empty.
    """

    run: str
    label: str
    name: str
    model: str | None
    profile: str
    mark: str
    overall: Cell
    micro: Cell
    categories: Mapping[str, Cell]

    def cell(self, category: str) -> Cell:
        """Return the cell of a category, an empty cell if the run does not have it."""
        return self.categories.get(category, Cell())


@dataclass(frozen=True)
class ScoreTable:
    """Several runs side by side: `categories` is the union of their categories, `notes` are the footnotes
    with marks."""

    categories: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def cells(self, row: Row) -> Iterator[tuple[str, Cell]]:
        """Yield the column header and cell of Overall (the macro mean), Micro and every category."""
        yield "Overall", row.overall
        yield "Micro", row.micro
        for category in self.categories:
            yield category, row.cell(category)


def score_table(runs: Sequence[RunView], scores: str | None = None) -> ScoreTable:
    """Build the table of some runs under the profile `scores`, or, with `None`, under each run's headline
    profile."""
    marks: dict[str, str] = {}
    labelled = zip(runs, run_labels(runs), strict=True)
    rows = tuple(make_row(run, label, scores, marks) for run, label in labelled)
    listed = [category for run in runs for category in run.categories]
    scored = [category for row in rows for category in row.categories]
    notes = [f"{mark} {reason}" for reason, mark in marks.items()]
    profiles = sorted({row.profile for row in rows})
    if len(profiles) > 1:
        notes.append(f"Not comparable: the runs are scored under {' and '.join(profiles)}; name one profile.")
    return ScoreTable(tuple(dict.fromkeys(listed + scored)), rows, tuple(notes))


def make_row(run: RunView, label: str, scores: str | None, marks: dict[str, str]) -> Row:
    """Build the row of one run; a reason for being incomplete that is not in `marks` yet is added to it."""
    figures = run.figures(scores)
    overall = figures.get("overall") or {}
    intervals = overall.get("intervals") or {}
    micro = {**overall, **{mean: overall.get(f"micro_{mean}") for mean in MEANS}}
    micro["intervals"] = {mean: intervals.get(f"micro_{mean}") for mean in MEANS}
    categories = figures.get("categories") or {}
    return Row(
        run=run.run,
        label=label,
        name=run.name,
        model=run.model,
        profile=run.profile(scores),
        mark=footnote_mark(run, marks),
        overall=make_cell(overall),
        micro=make_cell(micro),
        categories={str(name): make_cell(values) for name, values in categories.items()},
    )


def make_cell(values: Mapping[str, Any]) -> Cell:
    """Build a cell from an entry of `summary.json`."""
    return Cell(
        correctness=values.get("correctness"),
        hallucination=values.get("hallucination"),
        n=values.get("n") or 0,
        hallucination_n=values.get("hallucination_n") or 0,
        errors=values.get("errors") or 0,
        abstention=values.get("abstention"),
        intervals={
            metric: (found["low"], found["high"])
            for metric, found in (values.get("intervals") or {}).items()
            if found
        },
    )


def footnote_mark(run: RunView, marks: dict[str, str]) -> str:
    """Return the superscript number for the reason why a run is incomplete, empty if it is complete.

    Runs that are incomplete for the same reason share a number.
    """
    if run.summary.get("complete", False):
        return ""
    reasons = run.summary.get("incomplete") or ["the run does not say why"]
    reason = "incomplete: " + "; ".join(str(part).rstrip(".") for part in reasons)
    return marks.setdefault(reason, str(len(marks) + 1).translate(SUPERSCRIPTS))


def figure(value: float | None, digits: int = 2) -> str:
    """Format a score, as in all reports: `n/a` if the metric does not apply."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def bracket(interval: tuple[float, float] | None) -> str:
    """Format an interval to follow its value: ` [.17, .42]`, empty if it is not known."""
    return f" [{', '.join(map(short_figure, interval))}]" if interval else ""


def short_figure(value: float) -> str:
    """Format a bound in [0, 1] without a leading zero, and 1.00 as `1`."""
    text = f"{value:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def interval_note(run: RunView, profile: str) -> str | None:
    """Explain the bracketed intervals of one run; `None` if it has none."""
    figures = run.figures(profile)
    found = ((figures.get("overall") or {}).get("intervals") or {}).get("correctness")
    if not found:
        return None
    parts = ["[low, high]: 95 % intervals, for other questions on these documents"]
    methods = [
        ((values.get("intervals") or {}).get("correctness") or {}).get("method")
        for values in (figures.get("categories") or {}).values()
    ]
    if "wilson-conservative" in methods:
        parts.append("conservative for means of fractions")
    groups, clustered = found.get("groups"), found.get("clustered")
    if clustered:
        wide = bracket((clustered["low"], clustered["high"])).strip()
        parts.append(f"overall correctness for other documents too: {wide}, {groups} groups")
    elif groups is not None:
        parts.append(f"{groups} group{'s' * (groups != 1)} of documents, not clustered")
    return "; ".join(parts)


def run_labels(runs: Sequence[RunView]) -> list[str]:
    """Return a distinct label for each run: its name, followed by the model, or by the run id if names and
    models are both the same."""
    names = [run.name for run in runs]
    pairs = [(run.name, run.model) for run in runs]
    labels = []
    for run, pair in zip(runs, pairs, strict=True):
        more = run.run if pairs.count(pair) > 1 else run.model
        labels.append(f"{run.name} ({more})" if more and names.count(run.name) > 1 else run.name)
    return labels
