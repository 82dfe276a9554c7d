"""Writes `table.tex`: runs as rows, and categories as columns of correctness and hallucination, as in Table
II of the FATHOMS-RAG paper.

The text is a `table*` to include with `\\input`. It needs the package booktabs, and also graphicx if the
table is too wide for a page and has to be scaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fathoms.report.leaderboard import Leaderboard, Metric, leaderboard
from fathoms.report.metrics_table import RETRIEVAL, MetricTable, metric_table
from fathoms.report.section import Section
from fathoms.report.stage_times import times_section
from fathoms.report.text import plain, wrap
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import MeanScores

SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedblright{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*-"},  # [ or * after \\ starts an argument, -- becomes a dash
    **{sign: rf"\textsuperscript{{{digit}}}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
TABLE = str.maketrans(SPECIAL)
METRICS: dict[Metric, str] = {"correctness": r"C\,$\uparrow$", "hallucination": r"H\,$\downarrow$"}
Figure = tuple[MeanScores, Metric]
WIDEST = 6
"""The largest number of two-column groups that fit a page beside the names; tables with more are scaled."""
HEAD = 14
"""The largest number of characters on one line of a column head."""


def report_latex(
    runs: Sequence[Run],
    scores: str | None = None,
    intervals: bool = False,
    metrics: Sequence[str] = (),
) -> str:
    """Return the table of some runs under one profile, with `intervals` after the values if wanted. Further
    metrics, including those named by `metrics`, follow in a table of their own. Those of retrieval follow if
    `metrics` names any, and the seconds if it has `latency` or `all`; runs that only searched always have
    them.

    Values have two digits. Bold marks the Overall correctness of a run that is shown to
    be better than all others, and nothing else. Runs that only searched are in the table of further metrics
    alone. The last line gives the number of questions behind each
    value. Raises as `leaderboard` does.
    """
    searched = all(run.summary.retrieval_only for run in runs)
    further = list(metric_lines(metric_table(runs, scores, metrics), intervals))
    if metrics or searched:
        retrieval = metric_table(runs, scores, metrics, RETRIEVAL)
        further += metric_lines(retrieval, intervals, "Retrieval", RETRIEVAL)
    timed = searched or not {"latency", "all"}.isdisjoint(metrics)
    times = list(section_lines([times_section(runs, interval=intervals)])) if timed else []
    runs = [run for run in runs if not run.summary.retrieval_only]
    if not runs:
        return "\n".join([*further, *times]) + "\n"
    scored = leaderboard(runs, scores)
    groups = ["Overall", *scored.categories]
    wide = intervals or len(groups) > WIDEST
    lines = [
        "% " + r"\usepackage{booktabs}" + (r", \usepackage{graphicx}" if wide else ""),
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{caption(scored, intervals)}}}",
        r"\label{tab:fathoms}",
        *([r"\resizebox{\linewidth}{!}{%"] if wide else []),
        *tabular(runs, scored, groups, intervals),
        *(["}"] if wide else []),
        *(rf"\par\footnotesize {escape(note)}" for note in scored.notes),
        r"\end{table*}",
        *further,
        *times,
    ]
    return "\n".join(lines) + "\n"


def metric_lines(
    found: MetricTable, intervals: bool, title: str = "Further metrics", label: str = "metrics"
) -> Iterator[str]:
    """Yield a table of metrics: a line per run, and a column per metric; empty if there are none."""
    if not found.lines:
        return
    heads = {line.metric: line.head for line in found.lines}
    cells: dict[str, dict[str, str]] = {}
    for line in found.lines:
        cells.setdefault(line.run, {})[line.metric] = line.text(line.figures.overall, interval=intervals)
    yield r"\begin{table*}"
    yield r"\centering\small"
    yield rf"\caption{{{title}; " + (
        "in brackets: 95\\,\\% intervals.}"
        if intervals
        else "means of the category means, or as the metric says.}"
    )
    yield rf"\label{{tab:fathoms-{label}}}"
    yield rf"\begin{{tabular}}{{l{'r' * len(heads)}}}"
    yield r"\toprule"
    arrows = {"↑": r"$\uparrow$", "↓": r"$\downarrow$"}
    shown = [escape(head[:-1]) + arrows[head[-1]] for head in heads.values()]
    yield " & ".join(["", *shown]) + r" \\"
    yield r"\midrule"
    for run, values in cells.items():
        yield " & ".join([escape(run), *(escape(values.get(name, "")) for name in heads)]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield from (rf"\par\footnotesize {escape(note)}" for note in found.notes)
    yield r"\end{table*}"


def section_lines(found: Iterable[Section | None]) -> Iterator[str]:
    """Write some tables, each with its title as its caption, and with its notes."""
    for section in found:
        if section is None or not section.rows:
            continue
        texts = len(section.header) - section.numbers
        rows = [list(section.header), *section.rows]
        head, *body = (line([stacked_lines(cell) for cell in row]) for row in rows)
        yield r"\begin{table*}"
        yield r"\centering\small"
        yield rf"\caption{{{escape(section.title)}}}"
        yield rf"\label{{tab:fathoms-{section.key}}}"
        yield rf"\begin{{tabular}}{{{'l' * texts}{'r' * section.numbers}}}"
        yield from (r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
        yield from (rf"\par\footnotesize {escape(note)}." for note in section.notes)
        yield r"\end{table*}"


def stacked_lines(cell: str) -> str:
    """Write a cell, with its lines below one another if it has several."""
    lines = [*map(escape, cell.split("\n"))]
    return lines[0] if len(lines) == 1 else r"\shortstack{" + r"\\".join(lines) + "}"


def escape(text: object) -> str:
    """Escape text so that LaTeX prints it literally, on one line."""
    return plain(text).translate(TABLE)


def caption(scored: Leaderboard, intervals: bool) -> str:
    """Explain the values in the caption."""
    profiles = " and ".join(sorted({escape(row.profile) for row in scored.rows}))
    parts = [
        f"Correctness (C) and hallucination rate (H) under the profile {profiles}.",
        "Overall is the unweighted mean of the categories.",
    ]
    if any(row.is_best for row in scored.rows):
        parts += ["The figure in bold is shown to be the best."]
    parts += ["In brackets: 95\\,\\% intervals."] if intervals else []
    return " ".join([*parts, "$n$: questions behind a figure."])


def tabular(
    runs: Sequence[Run], scored: Leaderboard, groups: Sequence[str], intervals: bool
) -> Iterator[str]:
    """Yield the lines of the `tabular` environment."""
    rows: list[list[Figure]] = []
    for row in scored.rows:
        cells = [row.overall, *map(row.cell, scored.categories)]
        rows.append([(cell, metric) for cell in cells for metric in METRICS])
    columns = list(zip(*rows, strict=True))
    ranked = any(row.rank for row in scored.rows)
    heads = ["Pipeline", "Model", *(["Rank"] if ranked else [])]
    gap = [""] * len(heads)
    yield rf"\begin{{tabular}}{{{'l' * len(heads)}*{{{len(columns)}}}{{r}}}}"
    yield r"\toprule"
    yield line([*gap, *(rf"\multicolumn{{2}}{{c}}{{{stacked(group)}}}" for group in groups)])
    first = len(heads) + 1
    yield "".join(rf"\cmidrule(lr){{{at}-{at + 1}}}" for at in range(first, len(columns) + first, 2))
    yield line([*heads, *(head for _ in groups for head in METRICS.values())])
    yield r"\midrule"
    for name, row, figures in zip(pipeline_names(runs, scored), scored.rows, rows, strict=True):
        overall, *others = (cell_text(*figure, intervals) for figure in figures)
        rank = [row.rank_text.replace(" to ", "--")] if ranked else []
        values = [rf"\textbf{{{overall}}}" if row.is_best else overall, *others]
        yield line([escape(name + row.mark), escape(row.model or ""), *rank, *values])
    yield r"\midrule"
    yield line(["$n$", *gap[1:], *map(counts, columns)])
    yield from (r"\bottomrule", r"\end{tabular}")


def stacked(name: str) -> str:
    """Break the name of a category into short lines, so that it does not widen its column."""
    return stacked_lines("\n".join(wrap(name, HEAD, 3)))


def line(cells: Sequence[str]) -> str:
    """Format one line of the table."""
    return " & ".join(cells) + r" \\"


def pipeline_names(runs: Sequence[Run], scored: Leaderboard) -> list[str]:
    """Name each run by its pipeline if pipeline and model identify the runs, otherwise by its label."""
    pairs = {(run.pipeline, run.summary.model) for run in runs}
    return [run.pipeline for run in runs] if len(pairs) == len(runs) else [row.label for row in scored.rows]


def cell_text(cell: MeanScores, metric: Metric, intervals: bool) -> str:
    """Format a value, with its interval on request."""
    interval = bracket(cell.bounds(metric)).strip() if intervals else ""
    return printed(cell.mean(metric)) + (rf" {{\scriptsize {interval}}}" if interval else "")


def printed(value: float | None) -> str:
    """Format a value as `.19` or `1.00`, a dash if the metric does not apply."""
    return "--" if value is None else figure(value)


def counts(column: Sequence[Figure]) -> str:
    """Format the number of questions behind a column, as a range if it differs between runs."""
    found = sorted({cell.count(metric) for cell, metric in column})
    return str(found[0]) if len(found) == 1 else f"{found[0]}--{found[-1]}"
