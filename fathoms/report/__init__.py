"""Reports of runs: tables for the terminal, for Markdown, LaTeX, spreadsheets and programs, and radar plots.

The room reads what runs keep on disk (`manifest.json`, `summary.json`, `questions/`) as plain data, so a
report needs nothing that made the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fathoms.errors import StoreError, UsageError
from fathoms.paths import write_atomic
from fathoms.report.as_csv import report_csv
from fathoms.report.as_json import report_json
from fathoms.report.change import last_comparable
from fathoms.report.html import report_html
from fathoms.report.latex import report_latex
from fathoms.report.markdown import report_markdown
from fathoms.report.question import question_panel
from fathoms.report.radar import draw_radar, radar_figure
from fathoms.report.review.answer import context_panel, review_panel
from fathoms.report.terminal import comparison_panel, summary_panel
from fathoms.report.view import RunView, load

__all__ = [
    "RunView",
    "comparison_panel",
    "context_panel",
    "draw_radar",
    "last_comparable",
    "load",
    "question_panel",
    "radar_figure",
    "report_csv",
    "report_html",
    "report_json",
    "report_latex",
    "report_markdown",
    "review_panel",
    "summary_panel",
    "write_report",
]

QUICK = 150
"""Answers of which `report.html` is written in less than half a second."""


def write_report(
    runs: Sequence[RunView],
    out: Path,
    scores: str | None = None,
    *,
    html: bool | None = None,
    thumbnails: bool = False,
    intervals: bool = False,
    pdf: bool = True,
    warn: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write `report.html`, `report.md`, `table.tex`, `scores.csv`, `report.json` and the radar plots of some
    runs into the folder `out`.

    `scores` names the profile; without it each run is shown under its own. `html` says whether the page is
    written; if not given, it is where that takes less than half a second, and else an old one is deleted.
    `thumbnails` are for the page, and `warn` hears what is not in it. `intervals` stand in `table.tex` on
    request, elsewhere always. `pdf` draws the radar plots as PDF too: their fonts take longer than all else.
    Returns the files written, the page first.

    Raises UsageError without a run or where `scores` names no profile, and DataError where a run has no such
    scores; then nothing is written. Raises StoreError where the folder cannot be made or written.
    """
    if not runs:
        raise UsageError("a report needs at least one run")
    page = html if html is not None else _answers(runs) <= QUICK
    texts = {
        **({"report.html": report_html(runs, scores, thumbnails=thumbnails, warn=warn)} if page else {}),
        "report.md": report_markdown(runs, out, scores, pdf=pdf, page=page),
        "table.tex": report_latex(runs, scores, intervals),
        "scores.csv": report_csv(runs, scores),
        "report.json": json.dumps(report_json(runs, scores), indent=2, ensure_ascii=False) + "\n",
    }
    try:
        if not page:
            (out / "report.html").unlink(missing_ok=True)  # it would tell of other scores
        for name, text in texts.items():
            write_atomic(out / name, text.encode("utf-8", "backslashreplace"))
        plots = [
            *draw_radar(runs, "correctness", out / "radar-correctness", scores, pdf=pdf),
            *draw_radar(runs, "hallucination", out / "radar-hallucination", scores, pdf=pdf),
        ]
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error
    return [*(out / name for name in texts), *plots]


def _answers(runs: Sequence[RunView]) -> int:
    """How many answers a report shows."""
    counts = [run.summary.get("counts") or {} for run in runs]
    return sum((known.get("answered") or 0) + (known.get("errors") or 0) for known in counts)
