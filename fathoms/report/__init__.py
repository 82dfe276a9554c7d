"""Reports of runs: terminal tables, Markdown, HTML, LaTeX, CSV and JSON files, and radar plots.

This package reads the files of a run through `fathoms.runs.reading`, so a report can be made without the
models, extras or documents that the run needed.
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
from fathoms.report.grouping import grouped
from fathoms.report.html import report_html
from fathoms.report.latex import report_latex
from fathoms.report.markdown import report_markdown
from fathoms.report.question import question_panel
from fathoms.report.radar import Scale, draw_radar, radar_figure
from fathoms.report.review.answer import context_panel, review_panel
from fathoms.report.terminal import leaderboard_panel, summary_panel
from fathoms.runs.reading import ScoredRun, load

__all__ = [
    "Scale",
    "ScoredRun",
    "context_panel",
    "draw_radar",
    "grouped",
    "last_comparable",
    "leaderboard_panel",
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
"""The most answers for which `report.html` is written by default: it takes under half a second."""


def write_report(
    runs: Sequence[ScoredRun],
    out: Path,
    scores: str | None = None,
    *,
    html: bool | None = None,
    thumbnails: bool = False,
    intervals: bool = False,
    pdf: bool = True,
    scale: Scale = "plain",
    metrics: Sequence[str] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write the report of some runs into the folder `out` and return the files written, `report.html` first.

    The files are `report.html`, `report.md`, `table.tex`, `scores.csv`, `report.json` and the radar plots.
    `scores` names the scoring profile; with `None` each run is shown under its own headline profile. `html`
    says whether to write `report.html`; with `None` it is written only if that is quick (`QUICK`). If it is
    not written, an old one is deleted. `thumbnails` adds page pictures to it, and `warn` is called with a
    sentence about each thing that it leaves out. `intervals` adds confidence intervals to `table.tex`; the
    other files always have them. `pdf` also draws the radar plots as PDF, which takes longer than everything
    else because of the fonts. `scale` is that of the radar plots. `metrics` names further
    metrics to show, `all` for all.

    Raises UsageError if `runs` is empty or `scores` is not the name of a profile, and DataError if a run was
    not scored under it; nothing is written then. Raises StoreError if the folder or a file cannot be written.
    """
    if not runs:
        raise UsageError("a report needs at least one run")
    answers = sum(run.summary.counts.done for run in runs)
    page = html if html is not None else answers <= QUICK
    texts = {
        **({"report.html": report_html(runs, scores, thumbnails=thumbnails, warn=warn)} if page else {}),
        "report.md": report_markdown(runs, out, scores, pdf=pdf, page=page, metrics=metrics),
        "table.tex": report_latex(runs, scores, intervals, metrics),
        "scores.csv": report_csv(runs, scores),
        "report.json": json.dumps(report_json(runs, scores), indent=2, ensure_ascii=False) + "\n",
    }
    try:
        if not page:
            (out / "report.html").unlink(missing_ok=True)  # an old page may show other scores
        for name, text in texts.items():
            write_atomic(out / name, text.encode("utf-8", "backslashreplace"))
        plots = [
            *draw_radar(runs, "correctness", out / "radar-correctness", scores, scale=scale, pdf=pdf),
            *draw_radar(runs, "hallucination", out / "radar-hallucination", scores, scale=scale, pdf=pdf),
        ]
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error
    return [*(out / name for name in texts), *plots]
