"""The table of further metrics: those besides correctness and hallucination that a run was asked for.

Metrics that are computed for every run, such as latency, are shown
where somebody asks for them by name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathoms.errors import UsageError, amount_of, suggest
from fathoms.metrics.retrieval.names import DEFAULT
from fathoms.report.leaderboard import run_labels
from fathoms.report.modalities import is_in_table
from fathoms.report.quotes import is_group_part
from fathoms.report.section import Section
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure, measured, percent
from fathoms.types.run.figures import MetricFigure, MetricFigures
from fathoms.types.run.part import Number
from fathoms.types.run.rows import ScoredRepeat

MAIN = ("correctness", "hallucination")
"""The metrics of the leaderboard, which has a table of its own."""
RETRIEVAL = "retrieval"
"""The group of the metrics of retrieval."""
MEANS = (
    "Overall: the mean of the categories, or as the metric says; Questions: the mean of all questions; n: the"
    " number of questions"
)
SEARCHED = "recall-in-retrieved"
"""The metric that every run has which only searched, if its questions have gold phrases."""
_SAID = ("share", "seconds", "US dollars")
"""Units that every figure itself says."""
_AT_K = re.compile(r"@([1-9]\d{0,5})$")
ARROWS = {"higher": "↑", "lower": "↓"}


@dataclass(frozen=True)
class MetricLine:
    """The figures of one metric of one run."""

    run: str
    metric: str
    figures: MetricFigures

    @property
    def head(self) -> str:
        """The name of the metric, its unit unless it is a share, and an arrow for the better direction."""
        unit = "" if self.figures.unit in _SAID else f" ({self.figures.unit})"
        return f"{self.metric}{unit} {ARROWS[self.figures.direction]}"

    def text(self, found: MetricFigure, *, interval: bool = False) -> str:
        """Format a figure of this metric, with its interval if wanted."""
        unit = self.figures.unit
        return measured(found.value, unit) + (bracket(found.bounds, unit) if interval else "")

    def corrected(self, *, interval: bool) -> str:
        """Format the figure as labels of people correct it; empty without enough of them."""
        if not self.figures.people or not (found := self.figures.people.overall):
            return ""
        unit = self.figures.unit
        return measured(found.value, unit) + (bracket((found.low, found.high), unit) if interval else "")


@dataclass(frozen=True)
class MetricTable:
    """The further metrics of some runs, run by run, with notes on what runs lack and on judges."""

    lines: tuple[MetricLine, ...]
    categories: tuple[str, ...]
    notes: tuple[str, ...]


def metric_table(
    runs: Sequence[Run],
    scores: str | None = None,
    extra: Sequence[str] = (),
    group: str | None = None,
    *,
    others: bool = False,
) -> MetricTable:
    """Return the metrics of some runs that are shown besides the leaderboard: headline metrics, those that
    the runs were scored by on request, and the `extra` ones; the name `all` stands
    for all. For runs that only searched, metrics without a value are left out, which are those of answers.
    With `others`, only the metrics are returned that neither this table nor the leaderboard would show.

    Only metrics of the `group` are returned, by default those that belong to none.

    Raises UsageError for a metric that none of the runs has.
    """
    known = [run.metrics(scores) for run in runs]
    names = dict.fromkeys(name for figures in known for name in figures)
    for name in extra:
        if name not in names and name != "all":
            raise UsageError(f"no run has a metric '{name}'{suggest(name, names)}")
    lines, notes = [], []
    counted: dict[tuple[str, str], list[str]] = {}
    judged: dict[str, dict[str, list[str]]] = {}
    for run, label, figures in zip(runs, run_labels(runs), known, strict=True):
        for name, found in figures.items():
            requested = name in extra or is_requested(name, found)
            if found.group != group or not (requested or is_measured(run, name)):
                continue
            shown = name in extra or is_shown(run, name, found)
            if others:
                shown = not shown and name not in MAIN and has_value(run, found)
            if shown or ("all" in extra and has_value(run, found)):
                lines.append(MetricLine(label, name, found))
                if found.missing:
                    notes.append(f"{label}: {found.missing}" if len(runs) > 1 else found.missing)
                elif found.judge:
                    judged.setdefault(judge_note(run, found), {}).setdefault(name, []).append(label)
                for what, count in found.counted.items():
                    counted.setdefault((label, amount_of(count, what)), []).append(name)
    differ = Counter(name for of in judged.values() for name in of)  # then a note is that of some runs alone
    for note, of in judged.items():
        whose = (f"{name} of {', '.join(by)}" if differ[name] > 1 else name for name, by in of.items())
        notes.append(f"{', '.join(whose)}: {note}")
    notes += [f"{line.metric} of {line.run}: {note}" for line in lines for note in people_notes(line.figures)]
    notes += [f"{', '.join(names)} of {label}: {what}" for (label, what), names in counted.items()]
    categories = dict.fromkeys(category for run in runs for category in run.summary.categories)
    return MetricTable(tuple(lines), tuple(categories), tuple(dict.fromkeys(notes)))


def metrics_sections(
    runs: Sequence[Run],
    scores: str | None = None,
    extra: Sequence[str] = (),
    groups: Sequence[str | None] = (None, RETRIEVAL),
    *,
    interval: bool = True,
    by_category: bool = False,
    others: bool = False,
) -> list[Section]:
    """Return the tables of the further metrics of some runs and of those of retrieval, a row for each run and
    metric, with columns for the categories if wanted. Parts of a metric with a figure of their own stand
    below it. With `others`, they have the metrics that are not shown without being asked for. Raises as
    `metric_table` does."""
    tables = [(group, metric_table(runs, scores, extra, group, others=others)) for group in groups]
    return [
        _section(found, group, several=len(runs) > 1, interval=interval, by_category=by_category)
        for group, found in tables
        if found.lines
    ]


def _section(
    found: MetricTable, group: str | None, *, several: bool, interval: bool, by_category: bool
) -> Section:
    """Return the table of the metrics of a group."""
    categories = found.categories if by_category else ()
    has_labels = any(line.figures.people and line.figures.people.overall for line in found.lines)
    rows = []
    for line in found.lines:
        figures = line.figures
        cells = [figures.overall, figures.micro, *map(figures.cell, categories)]
        texts = [line.text(cell, interval=interval) for cell in cells]
        corrected = [line.corrected(interval=interval)] if has_labels else []
        rows.append([line.run, line.head, *texts, *corrected, str(figures.overall.n)])
        for what, part in listed_parts(line.metric, figures):
            text = line.text(part, interval=interval)
            rows.append(
                [
                    line.run,
                    f"{line.metric}, {what}",
                    "",
                    text,
                    *[""] * (len(categories) + has_labels),
                    str(part.n),
                ]
            )
    first = 0 if several else 1
    labels = ["PPI++"] if has_labels else []
    header = ["run", group or "metric", "Overall", "Questions", *categories, *labels, "n"][first:]
    title = "Retrieval" if group == RETRIEVAL else "Further metrics"
    notes = [f"{MEANS}; [low, high]: 95 % intervals" if interval else MEANS, *found.notes]
    rows = [row[first:] for row in rows]
    return Section(group or "metrics", title, header, rows, notes, numbers=len(header) - 2 + first)


def is_requested(name: str, figures: MetricFigures) -> bool:
    """Return whether a run has a metric only because it was asked for; every run has those of retrieval."""
    return figures.asked and name not in DEFAULT


def is_measured(run: Run, metric: str) -> bool:
    """Return whether a run retrieved enough for a metric: hit@5 says nothing new of 2 retrieved chunks."""
    return _reaches(metric, run.manifest.most_chunks)


def _reaches(metric: str, most: int | None) -> bool:
    """Return whether the k of a metric is at most that of the retrieved chunks, as far as that is known."""
    found = _AT_K.search(metric)
    return found is None or most is None or int(found[1]) <= most


def listed_parts(metric: str, figures: MetricFigures) -> list[tuple[str, MetricFigure]]:
    """Return the parts of a metric that stand beside it, which are those that no table of their own shows."""
    return [
        (part, found)
        for part, found in figures.parts.items()
        if not (is_in_table(metric, part) or is_group_part(metric, part))
    ]


def is_shown(run: Run, name: str, figures: MetricFigures) -> bool:
    """Return whether a metric is shown besides the leaderboard without being asked for now."""
    wanted = (
        figures.headline
        or figures.asked
        or figures.group is not None
        or (run.summary.retrieval_only and name == SEARCHED)
    )
    return wanted and name not in MAIN and has_value(run, figures)


def has_value(run: Run, figures: MetricFigures) -> bool:
    """Return whether a metric has a value in a run that only searched; for a run of answers, always true:
    there, what it lacks is said."""
    return not run.summary.retrieval_only or figures.overall.value is not None


def page_metrics(run: Run, profile: str) -> dict[str, MetricFigures]:
    """Return the metrics that the page of a run shows besides the leaderboard."""
    return {
        name: found
        for name, found in run.metrics(profile).items()
        if name not in MAIN
        and has_value(run, found)
        and (is_requested(name, found) or is_measured(run, name))
        and not run.summary.all_failed
    }


def judge_note(run: Run, figures: MetricFigures) -> str:
    """Say who judged a metric, how well that judge agrees with people, and what was not judged."""
    judging = run.summary.judging
    text = f"judged by {figures.judge_sentence}, {figures.checked.sentence}"
    if judging and judging.claims and figures.splits:
        text += f"; {judging.claims.sentence}"
    found = figures.judged
    if found and found.unjudged:
        text += (
            f"; {percent(found.share, 1)} of {found.items} items have no verdict: between"
            f" {figure(found.lowest)} and {figure(found.highest)} if all of them were wrong or right"
        )
    if found and figures.people and figures.people.why:
        text += f"; {figures.people.why}"
    return text


def people_notes(figures: MetricFigures) -> Iterator[str]:
    """Yield what the labels of people make of a judged metric, if there are enough of them."""
    if figures.people and not figures.people.why:
        yield figures.people.sentence


SPENDING = frozenset({"latency", "prompt-tokens", "completion-tokens", "cost"})
"""Metrics that the reports of single answers show anyway."""


def answer_metrics(repeat: ScoredRepeat) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each further metric of one answer: its value, its parts, and the reason
    that the metric gives. hit@5 says nothing new of an answer with 2 retrieved chunks."""
    most = None if repeat.hits is None else max(1, len(repeat.hits))
    for name, found in repeat.metrics.items():
        if name not in SPENDING and _reaches(name, most):
            parts = [f"{part} {_number(value)}" for part, value in found.get("parts", {}).items()]
            why = dict(found.get("why", {}))
            value = _number(found.get("value"))
            reasons = [f"{key}: {reason(one)}" for key, one in why.items()]
            details = "; ".join([", ".join(parts), *reasons]).removeprefix("; ")
            if lacks := why.get("lacks"):
                value, details = f"does not apply: it needs {lacks}", ""
            yield name, f"{value} ({details})" if details else value


def _number(value: Number | None) -> str:
    """Format a value of a metric or of a part of it."""
    return "n/a" if value is None else f"{value:.4g}"


def reason(value: object) -> str:
    """Format a reason that a metric gives; verdicts as `supported: CLAIM`."""
    if not isinstance(value, list):
        return str(value)
    rows = [
        f"{row['label']}: {row['claim']}"
        for row in value
        if isinstance(row, dict) and row.keys() >= {"label", "claim"}
    ]
    return " | ".join(rows) if len(rows) == len(value) else str(value)
