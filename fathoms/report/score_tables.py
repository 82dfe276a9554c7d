"""The tables of scores: of whole runs, and by category."""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.report.funnel import of
from fathoms.report.leaderboard import (
    Leaderboard,
    Metric,
    interval_note,
    labelled,
    leaderboard,
    with_interval,
)
from fathoms.report.section import Section, said_of_runs
from fathoms.report.text import abbreviate
from fathoms.runs.run import Run
from fathoms.text.amounts import UNKNOWN, bracket, duration, figure
from fathoms.types.run.figures import MeanScores

DASH = "-"
WIDTH = 80
"""The cells of a usual terminal, to which names of categories are shortened."""
METRICS: dict[Metric, str] = {"correctness": "correctness ↑", "hallucination": "hallucination ↓"}
MEANS = "Overall is the mean of the categories, Questions that of all questions"
NOTE = (
    "a failed question scores 0 in correctness and has no hallucination; n: the number of questions, in round"
    " brackets where a figure has another number"
)


def scores_section(runs: Sequence[Run], scores: str | None = None, *, timed: bool = True) -> Section | None:
    """Return the table of scores, with a row for each run of answers, and with the time of the run if wanted;
    `None` without any."""
    if not runs:
        return None
    labels, notes = labelled(runs)
    rows, figures = [], {}
    for run, label in zip(runs, labels, strict=True):
        found, wall = run.figures(scores), run.summary.seconds.wall
        overall, lines = found.overall, found.abstention_table.lines.values()
        abstained = sum(line.abstained for line in lines)
        known = abstained + sum(line.answered for line in lines)
        means = {name: overall.mean(name) for name in ("correctness", "hallucination")}
        figures[run.original_id] = {
            **means,
            "abstained": abstained,
            "of": known,
            "failed": overall.errors,
            "seconds": wall,
        }
        rows.append(
            [
                label,
                *(figure(mean) + bracket(overall.bounds(name)) for name, mean in means.items()),
                f"{abstained}/{known}" if known else DASH,
                str(overall.errors),
                DASH if wall is None else duration(wall),
            ]
        )
    if len(profiles := sorted({run.profile(scores) for run in runs})) > 1:
        notes.append(
            f"Not comparable: scored under {' and '.join(profiles)}; 'fathoms score' takes one --profile"
        )
    header: tuple[str, ...] = ("", "correctness", "hallucination", "abstained", "failed", "time")
    filled = [
        n for n in range(len(header) - (not timed)) if any(row[n] not in (UNKNOWN, DASH) for row in rows)
    ]
    rows = [[row[n] for n in filled] for row in rows]
    header = tuple(header[n] for n in filled)
    return Section("scores", "Scores", header, rows, notes, {"runs": figures}, numbers=len(filled) - 1)


def categories_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return the correctness of each run by category; `None` where there are fewer than two categories."""
    found = [run.figures(scores).categories for run in runs]
    listed = [name for run in runs for name in run.summary.categories] + [
        name for one in found for name in one
    ]
    values = {
        name: [one[name].correctness if name in one else None for one in found]
        for name in dict.fromkeys(listed)
    }
    values = {name: each for name, each in values.items() if any(value is not None for value in each)}
    if len(values) < 2:
        return None
    labels, _ = labelled(runs)
    rows = [
        [label, *(DASH if each[number] is None else figure(each[number]) for each in values.values())]
        for number, label in enumerate(labels)
    ]
    keys = sorted({run.grouped_by for run in runs if run.grouped_by})
    head = f"by {', '.join(keys)}" if keys else "correctness"
    long = sum(len(name) + 2 for name in values) > WIDTH - 16
    names = abbreviate(list(values), 12) if long else list(values)
    figures = {
        run.original_id: {name: each[n] for name, each in values.items()} for n, run in enumerate(runs)
    }
    title = "Correctness by category"
    return Section("categories", title, (head, *names), rows, [], {"runs": figures}, numbers=len(names))


def category_sections(
    runs: Sequence[Run], scores: str | None = None, *, interval: bool = True
) -> list[Section]:
    """Return the scores of runs of answers by category: of one run a table with a row for each category, of
    several a table for each metric with a row for each run."""
    if not runs:
        return []
    scored = leaderboard(runs, scores)
    pairs = zip(runs, scored.rows, strict=True)
    intervals = ((row.label + row.mark, interval_note(run, row.profile)) for run, row in pairs if interval)
    notes = [
        f"profile {' and '.join(sorted({row.profile for row in scored.rows}))}; {MEANS}; {NOTE}",
        *said_of_runs(((label, note) for label, note in intervals if note), len(runs)),
        *(note.removesuffix(".") for note in scored.notes),
    ]
    if len(runs) > 1:
        return [
            _of_runs(scored, "correctness", notes, interval=interval),
            _of_runs(scored, "hallucination", [], interval=interval),
        ]
    (row,) = scored.rows
    rows = [
        [
            name,
            _cell(means, "correctness", means.n, interval=interval),
            _cell(means, "hallucination", means.n, interval=interval),
            figure(means.abstention),
            str(means.n),
            str(means.errors),
        ]
        for name, means in scored.cells(row)
    ]
    rows[0][0] += row.mark
    header = (runs[0].grouped_by or "category", *METRICS.values(), "abstained", "n", "failed")
    return [Section("by-category", "Scores by category", header, rows, notes, numbers=5)]


def _of_runs(scored: Leaderboard, metric: Metric, notes: Sequence[str], *, interval: bool) -> Section:
    """Return the table of one metric, with a row for each run and below them the numbers of questions."""
    rows = scored.rows
    columns = zip(*(scored.cells(row) for row in rows), strict=True)
    known = [one for one in columns if any(cell.mean(metric) is not None for _, cell in one)]
    counts = [max(cell.count(metric) for _, cell in column) for column in known]
    by_model = len({row.model for row in rows}) > 1
    ranked = metric == "correctness" and any(row.rank for row in rows)
    distinct = by_model and len({(row.name, row.model) for row in rows}) == len(rows)
    lines = [
        [
            (row.name if distinct else row.label) + row.mark,
            *([row.model or UNKNOWN] if by_model else []),
            *([row.rank_text] if ranked else []),
            *(_cell(one[at][1], metric, n, interval=interval) for one, n in zip(known, counts, strict=True)),
        ]
        for at, row in enumerate(rows)
    ]
    heads = (METRICS[metric], *(["model"] if by_model else []), *(["rank"] if ranked else []))
    lines.append(["n", *[""] * (len(heads) - 1), *map(str, counts)])
    header = (*heads, *(column[0][0] for column in known))
    title = f"{metric.capitalize()} of all runs by category"
    return Section(metric, title, header, lines, notes, numbers=len(header) - 1 - by_model)


def _cell(means: MeanScores, metric: Metric, n: int, *, interval: bool) -> str:
    """Format a mean, with its interval if wanted, and with its number of questions where that is not `n`."""
    mean = with_interval(means, metric) if interval else figure(means.mean(metric))
    return mean + of(means.count(metric), n)
