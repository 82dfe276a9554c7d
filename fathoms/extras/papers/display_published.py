"""Shows published figures of ViDoRe, beside those of a run where there is one; the caller prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from fathoms.extras.papers.mteb import TASKS
from fathoms.report.grid import Grid
from fathoms.report.terminal import WIDTH, note, with_blank_lines
from fathoms.report.text import plain, shorten

if TYPE_CHECKING:
    from fathoms.extras.papers.mteb import Published
    from fathoms.extras.papers.vidore import MtebCell

DIGITS = 5
"""The digits that MTEB writes."""


def published_panel(published: Published, cells: Sequence[MtebCell], run: str | None) -> list[RenderableType]:
    """Build the table of cells, with the figures of the run named `run` and the differences to them."""
    shown = Grid("subset", "metric", "published", *(("ours", "difference", "n") if run else ()))
    last = None
    for cell in cells:
        own = (_text(cell.ours), _signed(cell.difference), str(cell.n or "-")) if run else ()
        subset = plain(cell.subset) if cell.subset != last else ""
        shown.add_row(Text(subset), Text(cell.metric), _text(cell.published), *own)
        last = cell.subset
    title = f"{published.task} (vidore/{TASKS[published.task]})"
    source = f"published: {published.program}" + (f", {published.model}" if published.model else "")
    return [
        Text(shorten(title, WIDTH), style="bold"),
        note(shorten(source + (f"; ours: {run}" if run else ""), WIDTH)),
        with_blank_lines(shown),
    ]


def published_lines(cells: Sequence[MtebCell]) -> Iterator[str]:
    """Yield the sentence that sums up the comparison; nothing without figures of a run."""
    differences = [cell.difference for cell in cells if cell.difference is not None]
    if not differences:
        return
    equal = sum(cell.same for cell in cells)
    yield (
        f"{len(differences)} of {len(cells)} cells compared: {equal} are the same in {DIGITS} digits; the"
        f" largest difference is {max(map(abs, differences)):.{DIGITS}f}"
    )


def published_json(
    published: Published, cells: Sequence[MtebCell], run: str | None, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the same as JSON data, with figures that are not rounded."""
    return {
        "task": published.task,
        "data": f"vidore/{TASKS[published.task]}",
        "made_by": published.program,
        "model": published.model,
        "run": run,
        "cells": [
            {
                "subset": cell.subset,
                "metric": cell.metric,
                "published": cell.published,
                "ours": cell.ours,
                "difference": cell.difference,
                "same": cell.same,
                "n": cell.n,
            }
            for cell in cells
        ],
        "notes": list(notes),
    }


def _text(share: float | None) -> str:
    return "-" if share is None else f"{share:.{DIGITS}f}"


def _signed(difference: float | None) -> str:
    if difference is None:
        return "-"
    rounded = round(difference, DIGITS)
    return f"{rounded:+.{DIGITS}f}" if rounded else f"{0:.{DIGITS}f}"
