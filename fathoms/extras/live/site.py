"""Writes a site of static files about many runs, for GitHub Pages or any other host of files.

The site has the leaderboard, the page of each run, trends of the pipelines with several runs, and all figures
to download. Its links are relative, and its pages ask nobody for anything.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, StoreError, UsageError
from fathoms.extras.live.folder import shown
from fathoms.extras.live.list_page import list_page, trends_page
from fathoms.paths import temporary_folder
from fathoms.report.as_csv import report_csv
from fathoms.report.as_json import report_json
from fathoms.report.html import report_html
from fathoms.report.leaderboard import ranks_of
from fathoms.report.trends import gate_verdicts, trend
from fathoms.runs.listing import SUMMARY, followed, is_written
from fathoms.runs.order import run_name
from fathoms.runs.run import Run
from fathoms.safety.spreadsheet import harmless

MARKER = "fathoms-site.json"
"""The file by which a site is known that may be replaced."""
_OWN = {"index.html", "trends.html", "leaderboard.json", "leaderboard.csv", "runs", ".nojekyll", MARKER}
COLUMNS = ("run", "name", "model", "data", "profile", "rank", "correctness", "low", "high", "hallucination")
COUNTS = ("n", "errors", "cost", "seconds", "created", "status", "page")
"""The columns of `leaderboard.csv`, and the keys of each run in `leaderboard.json`."""
Json = dict[str, Any]


def write_site(
    runs: Sequence[Run],
    to: Path,
    scores: str | None = None,
    *,
    logs: Sequence[Path] = (),
    thumbnails: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write the site of some runs, oldest first, as the folder `to`, and return its first page.

    The folder takes its place when it is complete; the same runs always give the same bytes. `logs` have what
    the gate said, and `note` is called with a sentence about each thing that is left out: runs without scores
    or in progress, and pictures. Raises UsageError if there is nothing to show, if two runs have the same
    id, if a log cannot be read, or if `to` holds something else than a site, DataError if a run was not
    scored under `scores`, and StoreError.
    """
    _require_replaceable(to)
    said = gate_verdicts(logs)
    scored = list(_scored(_different(runs), note))
    if not scored:
        raise UsageError("a site needs at least one scored run")
    try:
        with temporary_folder(to.absolute().parent) as temporary:
            site = temporary / "site"
            _write_runs(scored, site, scores, thumbnails=thumbnails, note=note)
            rows = _rows(scored, scores)
            several = _write_trends(scored, site, said)
            _write_front(rows, site, trends=several)
            _replace(to, site, temporary / "old")
    except OSError as error:
        raise StoreError(f"{to} cannot be written: {error.strerror or error}") from error
    return to / "index.html"


def _require_replaceable(to: Path) -> None:
    """Raise UsageError for a folder that holds anything other than a site."""
    if not os.path.lexists(to):
        return
    is_folder = to.is_dir() and not to.is_symlink()
    names = {path.name for path in to.iterdir()} if is_folder else set()
    if not is_folder or (names and MARKER not in names):
        raise UsageError(f"{to} holds something else than a site of fathoms: name a new folder")
    if others := sorted(names - _OWN):  # such as `.git`, which would go with the old site
        raise UsageError(
            f"{to} would be replaced as a whole, and it also holds files that are not part of a site"
            f" ({', '.join(others[:5])}): move that elsewhere, or name a new folder and copy its files"
        )


def _different(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, each once; raises UsageError if two have the same id, which names their folders."""
    found: dict[str, Run] = {}
    for run in runs:
        known = found.setdefault(run.id, run)
        if known.path.resolve() != run.path.resolve():
            raise UsageError(
                f"{known.path} and {run.path} have the same id: a site can hold only one of them"
            )
    return list(found.values())


def _scored(runs: Sequence[Run], note: Callable[[str], None]) -> Iterator[Run]:
    """Yield the runs that can be shown."""
    for run in runs:
        if is_written(run.path):
            note(f"{run.id} is left out: it is in progress")
        elif not (run.path / SUMMARY).is_file():
            note(f"{run.id} is left out: it has no scores; 'fathoms score {run.path}' scores it")
        else:
            yield run


def _write_runs(
    runs: Sequence[Run], site: Path, scores: str | None, *, thumbnails: bool, note: Callable[[str], None]
) -> None:
    """Write the page and the files of each run; only one run is in memory at a time."""
    for run in runs:
        folder = site / "runs" / run.id
        folder.mkdir(parents=True)
        loaded = [Run.scored(run.path)]
        page = report_html(loaded, scores, thumbnails=thumbnails, warn=note, home="../../index.html")
        figures = json.dumps(report_json(loaded, scores), indent=2, ensure_ascii=False) + "\n"
        texts = {"index.html": page, "scores.csv": report_csv(loaded, scores), "report.json": figures}
        for name, text in texts.items():
            (folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))


def _rows(runs: Sequence[Run], scores: str | None) -> list[Json]:
    """Return what the leaderboard shows of each run, the newest first."""
    loaded = [Run.scored(run.path) for run in runs]
    ranks = _ranks(loaded, scores)
    rows = []
    for run, found in zip(runs, loaded, strict=True):
        overall = found.figures(scores).overall
        low, high = overall.bounds("correctness") or (None, None)
        rows.append(
            shown(followed(run.path))
            | {"profile": found.profile(scores), "rank": ranks.get(run.id), "low": low, "high": high}
            | {"correctness": overall.correctness, "hallucination": overall.hallucination, "n": overall.n}
            | {"page": f"runs/{run.id}/index.html"}
        )
    return rows[::-1]


def _ranks(runs: Sequence[Run], scores: str | None) -> dict[str, str]:
    """Return the interval of ranks of each run among those with the same questions of a data set and the same
    profile."""
    groups: dict[tuple[str | None, str, frozenset[str]], list[Run]] = {}
    for run in runs:
        question_ids = frozenset(run.manifest.data.asked_ids)
        groups.setdefault((run.summary.data, run.profile(scores), question_ids), []).append(run)
    found = {}
    for group in groups.values():
        for run, rank in zip(group, ranks_of(group, scores)[0], strict=True):
            if rank is not None:
                low, high = rank
                found[run.path.name] = str(low) if low == high else f"{low} to {high}"
    return found


def _write_trends(runs: Sequence[Run], site: Path, said: Mapping[str, tuple[str, str]]) -> bool:
    """Write the trends of the pipelines with several runs and what the gate said (`said`, by run), and return
    whether there are any."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run_name(run.id), []).append(run)
    found = []
    for name, nights in by_name.items():
        with suppress(UsageError, DataError):  # the newest run has no metric that can be drawn
            if len(nights) > 1:
                found.append(trend(name, nights, None, said))
    if found:
        (site / "trends.html").write_text(trends_page("trends", found, served=False), encoding="utf-8")
    return bool(found)


def _write_front(rows: Sequence[Json], site: Path, *, trends: bool) -> None:
    """Write the leaderboard as a page, as JSON and as CSV, and what marks the folder as a site."""
    links = [["trends.html", "Trends"]] if trends else []
    links += [["leaderboard.csv", "CSV"], ["leaderboard.json", "JSON"]]
    files = {
        row["run"]: [[f"runs/{row['run']}/{name}", name] for name in ("scores.csv", "report.json")]
        for row in rows
    }
    page = list_page(
        rows,
        "leaderboard",
        heading="Leaderboard",
        sort="correctness",
        links=links,
        files=files,
        address={row["run"]: row["page"] for row in rows},
    )
    table = [{key: row.get(key) for key in (*COLUMNS, *COUNTS)} for row in rows]
    texts = {
        "index.html": page,
        "leaderboard.json": json.dumps(table, indent=2, ensure_ascii=False) + "\n",
        "leaderboard.csv": _csv(table),
        MARKER: json.dumps({"schema": 1, "runs": [row["run"] for row in rows]}, indent=2) + "\n",
        ".nojekyll": "",  # GitHub Pages then serves the files as they are
    }
    for name, text in texts.items():
        (site / name).write_bytes(text.encode("utf-8", "backslashreplace"))


def _csv(rows: Sequence[Json]) -> str:
    """Return the leaderboard as RFC 4180 CSV; an empty cell means that a value is not known."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, (*COLUMNS, *COUNTS))
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {key: harmless(value) if isinstance(value, str) else value for key, value in row.items()}
        )
    return file.getvalue()


def _replace(to: Path, site: Path, old: Path) -> None:
    """Put the new site in the place of the one before, which stays if that fails or is interrupted."""
    try:
        if to.is_dir():
            os.replace(to, old)  # noqa: PTH105
        os.replace(site, to)  # noqa: PTH105
    except BaseException:
        if old.is_dir() and not to.is_dir():
            os.replace(old, to)  # noqa: PTH105
        raise
