"""The funnel of runs as tables: what each stage still held of the answers, and what it lost and gained."""

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
    "phrase recall at each stage; below it what was lost and gained there, over the questions where this"
    " stage and the one before it are known; n: the questions of each"
)

Figures = Mapping[str, Any]


def funnel_of(run: RunView, profile: str) -> Figures:
    """The funnel of a run under a profile; empty where it was scored without, or where nothing is known but
    the answers."""
    found: Figures = run.figures(profile).get("funnel") or {}
    overall = found.get("overall") or {}
    return found if any((overall.get(stage) or {}).get("n") for stage in STAGES[:-1]) else {}


def funnel_rows(funnel: Figures) -> Iterator[tuple[str, Figures]]:
    """Overall, with a star where it is not of the same categories at every stage, then every category."""
    yield "Overall*" if any(partial(funnel)) else "Overall", funnel["overall"]
    yield from (funnel.get("categories") or {}).items()


def partial(funnel: Figures) -> Iterator[str]:
    """What of Overall is a mean of some categories only; stages of different ones do not add up."""
    total = len(funnel.get("categories") or {})
    for stage, head in zip(STAGES, HEADS, strict=True):
        for what, key in (("recall", "categories"), ("lost and gained", "compared_categories")):
            count = (funnel["overall"].get(stage) or {}).get(key)
            if count and count < total:
                yield f"{head}, {what}: {count} of {total} categories"


def funnel_panel(run: RunView, profile: str) -> list[RenderableType]:
    """The funnel on the terminal; nothing where there is none."""
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
    """The questions behind recall, stage by stage, and below them those behind what was lost and gained;
    one number where all are the same."""
    counts = [[str((stages.get(stage) or {}).get(key) or 0) for stage in STAGES] for key in ("n", "compared")]
    lines = ["/".join(line) if len(set(line)) > 1 else line[0] for line in counts]
    return lines if lines[0] != lines[1] else lines[:1]


def stage_cell(figures: Figures) -> str:
    """`0.71` over `-.15 +.02`; a dash where the stage is not known."""
    if figures.get("recall") is None:
        return "-\n"
    steps = [
        f"{sign}{figure(value).removeprefix('0')}"
        for sign, key in (("-", "lost"), ("+", "gained"))
        if (value := figures.get(key)) is not None and f"{value:.2f}" != "0.00"
    ]
    return f"{figure(figures['recall'])}\n{' '.join(steps)}"


def notes(funnel: Figures) -> Iterator[str]:
    """What the figures are, and what is not in them."""
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
    """For Markdown: a run, the cells of its rows and its notes; runs without a funnel are left out."""
    for run, row in pairs:
        if funnel := funnel_of(run, row.profile):
            rows = [
                [name, *(cell for stage in STAGES for cell in stage_cells(stages.get(stage) or {}))]
                for name, stages in funnel_rows(funnel)
            ]
            yield row, rows, list(notes(funnel))[1:]


def stage_cells(figures: Figures) -> list[str]:
    """Recall, lost and gained of a stage, each with its number of questions."""
    pairs = (("recall", "n"), ("lost", "compared"), ("gained", "compared"))
    return [
        "n/a" if figures.get(key) is None else f"{figure(figures[key])} ({figures.get(count, 0)})"
        for key, count in pairs
    ]
