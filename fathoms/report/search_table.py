"""The table of searches: recall at each k, seconds and the size of the index, one row per run.

The terminal and Markdown share it. It has the runs that only searched, and the runs of answers whose
questions have gold pages, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.report.leaderboard import bracket, figure, run_labels
from fathoms.report.text import describe
from fathoms.runs.run import Run
from fathoms.types.run.summary import CurvePoint, RecallCurves

SHOWN = (1, 3, 5, 10, 20, 50, 100)
"""The k of the columns, as far as a run goes so deep."""
BUDGETS = (128, 512, 2048, 8192, 32768)
"""The tokens of the columns of the second table, as far as any run has so many."""
NOTE = (
    "recall@k: the share of the gold {level}s among the first k {level}s, as the mean of the categories;"
    " [low, high]: 95 % intervals; n: questions with gold; seconds: for one question; index: bytes of the"
    " vectors, and of the word scores of BM25"
)


@dataclass(frozen=True)
class SearchRow:
    """One run: the text and the interval of recall by k, and `within` so many tokens, the questions behind
    it, the seconds of a question, the number of chunks and the bytes of the index, as texts."""

    label: str
    recall: Mapping[int, tuple[str, str]]
    within: Mapping[int, tuple[str, str]]
    n: str
    seconds: tuple[str, str]
    chunks: str
    index: str


@dataclass(frozen=True)
class SearchTable:
    """The rows of some runs, the `k` and the tokens of the columns, and notes on how to read them."""

    ks: tuple[int, ...]
    budgets: tuple[int, ...]
    rows: tuple[SearchRow, ...]
    note: str
    token_note: str


def search_table(runs: Sequence[Run]) -> SearchTable | None:
    """Return the table of the runs that have curves of recall; `None` if no run has, or none only searched
    and no two can be compared."""
    shown = [(run, label) for run, label in zip(runs, row_labels(runs), strict=True) if _curves(run)]
    if not any(run.summary.retrieval_only for run, _ in shown) and len(shown) < 2:
        return None
    rows = tuple(_row(run, label) for run, label in shown)
    ks = tuple(k for k in SHOWN if any(k in row.recall for row in rows))
    levels = dict.fromkeys(curves.level for run, _ in shown if (curves := _curves(run)))
    budgets = tuple(tokens for tokens in BUDGETS if any(tokens in row.within for row in rows))
    own = [label for run, label in shown if (curves := _curves(run)) and not curves.estimated]
    return SearchTable(ks, budgets, rows, NOTE.format(level=" or ".join(levels)), _token_note(own, len(rows)))


def _token_note(own: Sequence[str], runs: int) -> str:
    """Say what the second table shows, and where its tokens come from; `own` are the runs with prompts."""
    what = "within N: recall in the first hits that together have at most N tokens of text"
    if not own:
        return f"{what}, of 4 characters each (an estimate)"
    rest = f" (of {', '.join(own)}; an estimate of 4 characters for the others)" if len(own) < runs else ""
    return f"{what}, with as many characters as in the prompts of the run{rest}"


def row_labels(runs: Sequence[Run]) -> list[str]:
    """Return the labels of runs: of those of one sweep, the settings in which they differ."""
    sweeps = {run.manifest.sweep.id for run in runs}
    cells = [run.manifest.sweep.cell for run in runs]
    axes = list(dict.fromkeys(key for cell in cells for key in cell))
    axes = [key for key in axes if len({str(cell.get(key)) for cell in cells}) > 1]
    if len(runs) < 2 or len(sweeps) > 1 or None in sweeps or not axes:
        return run_labels(runs)
    return [", ".join(_setting(key, cell.get(key)) for key in axes) for cell in cells]


def _setting(key: str, value: object) -> str:
    """Format a setting: `bm25` for a kind, else `size 96`."""
    name = key.rpartition(".")[2]
    text = describe(value)
    return text if name in ("kind", "config") or isinstance(value, dict) else f"{name} {text}"


def _curves(run: Run) -> RecallCurves | None:
    """The curves of a run."""
    return run.summary.retrieval.curves


def _row(run: Run, label: str) -> SearchRow:
    """Build the row of one run."""
    curves, seconds = _curves(run) or RecallCurves(), run.summary.retrieval.seconds
    took, bounds = seconds.value, seconds.bounds
    if took is None:  # a run of answers
        took = run.summary.seconds.retrieve
    ingest = run.manifest.ingest
    return SearchRow(
        label=label,
        recall={point.k: _point(point) for point in curves.by_rank if point.k is not None},
        within={point.tokens: _point(point) for point in curves.by_tokens or () if point.tokens is not None},
        n=str(max((point.n for point in curves.by_rank), default=0)),
        seconds=(
            "n/a" if took is None else _seconds(took),
            f"[{', '.join(map(_seconds, bounds))}]" if bounds else "",
        ),
        chunks="n/a" if ingest.chunks is None else f"{ingest.chunks:,}",
        index="n/a" if ingest.index_bytes is None else _size(ingest.index_bytes),
    )


def _point(point: CurvePoint) -> tuple[str, str]:
    """Format recall and its interval."""
    return figure(point.value), bracket(point.bounds).strip()


def _seconds(value: float) -> str:
    """Format seconds with two significant digits."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}"


def _size(size: int) -> str:
    """Format bytes in kB, MB or GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
