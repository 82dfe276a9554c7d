"""Shows the funnel of runs as tables: how much of the gold answers remained at each stage, and what it lost
or gained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fathoms.metrics.stages import STAGES
from fathoms.report.table import Row, figure
from fathoms.report.text import plain, squeeze
from fathoms.report.view import RunView

HEADS = ("in the documents", "retrieved", "in the prompt", "in the answer")
NOTE = (
    "phrase recall at each stage; below it the loss and the gain since the stage before, over the questions"
    " where both stages are known; n: the number of questions"
)

Figures = Mapping[str, Any]


def funnel_of(run: RunView, profile: str) -> Figures:
    """Return the funnel of a run under a profile.

    It is empty if the run was scored without a funnel, or if only its answers are known.
    """
    found: Figures = run.figures(profile).get("funnel") or {}
    overall = found.get("overall") or {}
    return found if any((overall.get(stage) or {}).get("n") for stage in STAGES[:-1]) else {}


def funnel_rows(funnel: Figures) -> Iterator[tuple[str, Figures]]:
    """Yield Overall, then every category; Overall has a star if its stages are means over different
    categories."""
    yield "Overall*" if any(partial(funnel)) else "Overall", funnel["overall"]
    yield from (funnel.get("categories") or {}).items()


def partial(funnel: Figures) -> Iterator[str]:
    """Yield a note for each figure of Overall that covers only some of the categories, as such stages do not
    add up."""
    total = len(funnel.get("categories") or {})
    for stage, head in zip(STAGES, HEADS, strict=True):
        for what, key in (("recall", "categories"), ("lost and gained", "compared_categories")):
            count = (funnel["overall"].get(stage) or {}).get(key)
            if count and count < total:
                yield f"{head}, {what}: {count} of {total} categories"


def funnel_panel(run: RunView, profile: str) -> list[RenderableType]:
    """Build the funnel table for the terminal; empty if there is no funnel."""
    funnel = funnel_of(run, profile)
    if not funnel:
        return []
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    table.add_column("where answers were lost", no_wrap=True)
    for head in STAGES:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for name, stages in funnel_rows(funnel):
        cells = [stage_cell(stages.get(stage) or {}) for stage in STAGES]
        table.add_row(Text(squeeze(name, 24)), *cells, "\n".join(count_lines(stages)))
    return [table, *(Text(plain(line), style="dim") for line in notes(funnel)), Text()]


def count_lines(stages: Figures) -> list[str]:
    """Format the number of questions behind recall at each stage and, on a second line, behind losses and
    gains.

    A line is one number if all stages agree, and the second line is omitted if it is the same as the first.
    """
    counts = [[str((stages.get(stage) or {}).get(key) or 0) for stage in STAGES] for key in ("n", "compared")]
    lines = ["/".join(line) if len(set(line)) > 1 else line[0] for line in counts]
    return lines if lines[0] != lines[1] else lines[:1]


def stage_cell(figures: Figures) -> str:
    """Format a stage as recall over loss and gain, `0.71` over `-.15 +.02`; a dash if the stage is not
    known."""
    if figures.get("recall") is None:
        return "-\n"
    steps = [
        f"{sign}{figure(value).removeprefix('0')}"
        for sign, key in (("-", "lost"), ("+", "gained"))
        if (value := figures.get(key)) is not None and f"{value:.2f}" != "0.00"
    ]
    return f"{figure(figures['recall'])}\n{' '.join(steps)}"


def notes(funnel: Figures) -> Iterator[str]:
    """Explain the figures, and list what they leave out."""
    yield NOTE
    left_out = ", ".join(f"{count} {reason}" for reason, count in (funnel.get("left_out") or {}).items())
    chance = funnel.get("chance")
    chances = "" if chance is None else f"; another document holds an answer by chance: {figure(chance)}"
    yield f"left out: {left_out or 'none'}{chances}"
    if said := list(partial(funnel)):
        yield f"* {'; '.join(said)}"
    if funnel.get("estimate"):
        yield f"estimated: the documents as {funnel['estimate']} reads them, not as this pipeline did"


def funnel_section(pairs: Sequence[tuple[RunView, Row]]) -> Iterator[tuple[Row, list[list[str]], list[str]]]:
    """Yield each run that has a funnel, with the cells of its table and its notes, for the Markdown
    report."""
    for run, row in pairs:
        if funnel := funnel_of(run, row.profile):
            rows = [
                [name, *(cell for stage in STAGES for cell in stage_cells(stages.get(stage) or {}))]
                for name, stages in funnel_rows(funnel)
            ]
            yield row, rows, list(notes(funnel))[1:]


def stage_cells(figures: Figures) -> list[str]:
    """Format recall, loss and gain of a stage, each with its number of questions."""
    pairs = (("recall", "n"), ("lost", "compared"), ("gained", "compared"))
    return [
        "n/a" if figures.get(key) is None else f"{figure(figures[key])} ({figures.get(count, 0)})"
        for key, count in pairs
    ]
