"""Writes `table.tex`: the scores with runs as rows and categories as columns, like Table II of the paper of
FATHOMS-RAG, and other tables.

Each is a `table*`, to include with `\\input`. They need the package booktabs, and also graphicx where a table
is too wide for a page and has to be scaled.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from fathoms.report.metrics_table import RETRIEVAL, metrics_sections
from fathoms.report.score_tables import category_sections
from fathoms.report.section import Section
from fathoms.report.stage_times import times_section
from fathoms.report.text import plain
from fathoms.runs.run import Run

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
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{sign: rf"\textsuperscript{{{digit}}}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
TABLE = str.maketrans(SPECIAL)
WIDEST = 110
"""The characters of a line that fit a page."""
HEAD = 14
"""The largest number of characters on one line of a column head."""


def report_latex(
    runs: Sequence[Run],
    scores: str | None = None,
    intervals: bool = False,
    metrics: Sequence[str] = (),
    tables: Sequence[Section] = (),
) -> str:
    """Return the tables of some runs under one profile, with `intervals` after the values if wanted. Further
    metrics, including those named by `metrics`, follow in a table of their own. Those of retrieval follow if
    `metrics` names any, and the seconds if it has `latency` or `all`; runs that only searched always have
    them. Other `tables` follow, or stand in place of those with the same key. Raises as `leaderboard` does.
    """
    answered = [run for run in runs if not run.summary.retrieval_only]
    groups = (None, RETRIEVAL) if metrics or not answered else (None,)
    timed = not answered or not {"latency", "all"}.isdisjoint(metrics)
    found = [
        *category_sections(answered, scores, interval=intervals),
        *metrics_sections(runs, scores, metrics, groups, interval=intervals),
        *([times] if timed and (times := times_section(runs, interval=intervals)) else []),
        *tables,
    ]
    lines = section_lines({one.key: one for one in found}.values())
    return "\n".join([r"% \usepackage{booktabs}, \usepackage{graphicx}", *lines]) + "\n"


def section_lines(found: Iterable[Section]) -> Iterator[str]:
    """Write some tables, each with its title as its caption, and with its notes; the heads of figures are
    broken into short lines, and a table that is too wide for a page is scaled."""
    for section in found:
        if not section.rows:
            continue
        texts = len(section.header) - section.numbers
        heads = [*section.header[:texts], *map(broken, section.header[texts:])]
        head, *body = (line([stacked_lines(cell) for cell in row]) for row in (heads, *section.rows))
        columns = zip(heads, *section.rows, strict=True)
        width = sum(max(len(part) for cell in column for part in cell.split("\n")) + 2 for column in columns)
        yield r"\begin{table*}"
        yield r"\centering\small"
        yield rf"\caption{{{escape(section.title)}}}"
        yield rf"\label{{tab:fathoms-{section.key}}}"
        yield from [r"\resizebox{\linewidth}{!}{%"] if width > WIDEST else []
        yield rf"\begin{{tabular}}{{{'l' * texts}{'r' * section.numbers}}}"
        yield from (r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
        yield from ["}"] if width > WIDEST else []
        yield from (rf"\par\footnotesize {escape(note)}." for note in section.notes)
        yield r"\end{table*}"


def broken(head: str) -> str:
    """Break the head of a column into short lines, so that it does not widen the column."""
    return "\n".join(textwrap.wrap(plain(head), HEAD)) or head


def line(cells: Sequence[str]) -> str:
    """Format one line of a table."""
    return " & ".join(cells) + r" \\"


def stacked_lines(cell: str) -> str:
    """Write a cell, with its lines below one another if it has several."""
    lines = [*map(escape, cell.split("\n"))]
    return lines[0] if len(lines) == 1 else r"\shortstack{" + r"\\".join(lines) + "}"


def escape(text: object) -> str:
    """Escape text so that LaTeX prints it literally, on one line."""
    return plain(text).translate(TABLE)
