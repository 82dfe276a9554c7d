"""Writes all files of a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fathoms.errors import StoreError, UsageError
from fathoms.models.calling.collecting import rare_collections
from fathoms.paths import write_atomic
from fathoms.report import PICTURED
from fathoms.report.as_csv import report_csv, section_csv
from fathoms.report.as_json import report_json
from fathoms.report.html import report_html
from fathoms.report.latex import report_latex
from fathoms.report.markdown import report_markdown
from fathoms.report.radar import TITLES, Scale, draw_radar, remove_radar
from fathoms.report.section import Section
from fathoms.runs.run import Run

QUICK = 150
"""The most answers for which `report.html` is written by default: it takes under half a second."""


@rare_collections()
def write_report(
    runs: Sequence[Run],
    out: Path,
    scores: str | None = None,
    *,
    html: bool | None = None,
    thumbnails: bool | None = False,
    intervals: bool = False,
    plots: bool = True,
    scale: Scale = "plain",
    metrics: Sequence[str] = (),
    shrink: bool = False,
    tables: Sequence[Section] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write the report of some runs into the folder `out` and return the files written, `report.html` first.

    The files are `report.html`, `report.md`, `table.tex`, `scores.csv`, `report.json` and the radar plots.
    `scores` names the scoring profile; with `None` each run is shown under its own headline profile. `html`
    says whether to write `report.html`; with `None` it is written only if that is quick (`QUICK`). If it is
    not written, an old one is deleted. `thumbnails` adds page pictures to it, by `None` where there are at
    most `PICTURED` answers and the documents are on this machine, and `warn` is called with a
    sentence about each thing that it leaves out. `intervals` adds confidence intervals to `table.tex`; the
    other files always have them. Without `plots`, which take longer than everything else, no radar plots are
    drawn, and old ones are deleted, because they may show other scores; runs that only searched, or whose
    calls all failed, have none. `scale` is that of the radar plots.
    `metrics` names further metrics to show, `all` for all. `shrink` adds the shrunk categories to `report.md`
    and `report.json`. `tables` are added to `table.tex`, and written as `tables/<key>.csv`.

    Raises UsageError if `runs` is empty or `scores` is not the name of a profile, and DataError if a run was
    not scored under it; nothing is written then. Raises StoreError if the folder or a file cannot be written.
    """
    if not runs:
        raise UsageError("a report needs at least one run")
    answered = [run for run in runs if not run.summary.retrieval_only]
    drawn_runs = [run for run in answered if not run.summary.all_failed]
    answers = sum(run.summary.counts.done for run in runs)
    page = html if html is not None else answers <= QUICK
    pictured = False if thumbnails is None and answers > PICTURED else thumbnails
    figures = report_json(runs, scores, shrink=shrink)
    # the page reads all questions, so it comes before scores.csv, which then need not
    texts = {
        **({"report.html": report_html(runs, scores, thumbnails=pictured, warn=warn)} if page else {}),
        "report.md": report_markdown(
            runs, out, scores, plots=plots and bool(drawn_runs), page=page, metrics=metrics, shrink=shrink
        ),
        "table.tex": report_latex(runs, scores, intervals, metrics, tables),
        "scores.csv": report_csv(runs, scores),
        "report.json": json.dumps(figures, indent=2, ensure_ascii=False) + "\n",
        **{f"tables/{table.key}.csv": section_csv(table) for table in tables if table.rows},
    }
    try:
        if not page:
            (out / "report.html").unlink(missing_ok=True)  # an old page may show other scores
        for name, text in texts.items():
            write_atomic(out / name, text.encode("utf-8", "backslashreplace"))
        drawn: list[Path] = []
        for metric in TITLES:
            path = out / f"radar-{metric}"
            if plots and drawn_runs:
                drawn += draw_radar(drawn_runs, metric, path, scores, scale=scale)
            else:
                remove_radar(path)
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror or error}") from error
    return [*(out / name for name in texts), *drawn]
