"""The tables of searches: recall at each k and within so many tokens, times and the size of the index.

A row is a run. They have the runs that only searched, and the runs of answers whose
questions have gold pages, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.report.leaderboard import run_labels
from fathoms.report.section import Section
from fathoms.report.text import describe
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, duration, figure
from fathoms.types.run.summary import CurvePoint, RecallCurves

SHOWN = (1, 3, 5, 10, 20, 50, 100)
"""The k of the columns, as far as a run goes so deep."""
BUDGETS = (128, 512, 2048, 8192, 32768)
"""The tokens of the columns of the second table, as far as any run has so many."""
NOTE = (
    "recall@k: the share of the gold {level}s among the first k {level}s, as the mean of the categories;"
    " [low, high]: 95 % intervals; n: questions with gold; time: for one question; index: bytes of the"
    " vectors, and of the word scores of BM25"
)


def search_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of the runs that have curves of recall; `None` if no run has, or none only searched
    and no two can be compared."""
    shown = [(run, label) for run, label in zip(runs, row_labels(runs), strict=True) if _curves(run)]
    if not any(run.summary.retrieval_only for run, _ in shown) and len(shown) < 2:
        return None
    return searched_section(shown, SHOWN)


def searched_section(shown: Sequence[tuple[Run, str]], of: Sequence[int]) -> Section:
    """Return the table of runs with labels: recall at each k that any run reaches, and times."""
    found = [(label, run, _points(run)) for run, label in shown]
    ks = [k for k in of if any(k in points for _, _, points in found)]
    levels = dict.fromkeys(curves.level for run, _ in shown if (curves := _curves(run)))
    rows = [
        [
            label,
            *(_point(points.get(k)) for k in ks),
            str(max((point.n for point in points.values()), default=0)),
            _seconds(run),
            "n/a" if run.manifest.ingest.chunks is None else f"{run.manifest.ingest.chunks:,}",
            "n/a" if run.manifest.ingest.index_bytes is None else _size(run.manifest.ingest.index_bytes),
        ]
        for label, run, points in found
    ]
    header = ("run", *(f"recall@{k}" for k in ks), "n", "time", "chunks", "index")
    figures = {
        "runs": {run.original_id: {str(k): _json(points.get(k)) for k in ks} for _, run, points in found}
    }
    note = NOTE.format(level=" or ".join(levels))
    return Section("search", "Retrieval", header, rows, [note], figures, numbers=len(header) - 1)


def budget_section(runs: Sequence[Run]) -> Section | None:
    """Return recall within so many tokens of the runs that `search_section` shows; `None` without any."""
    shown = [(run, label) for run, label in zip(runs, row_labels(runs), strict=True) if _curves(run)]
    found = [
        (label, run, {point.tokens: point for point in (_curves(run) or RecallCurves()).by_tokens or ()})
        for run, label in shown
    ]
    budgets = [tokens for tokens in BUDGETS if any(tokens in points for _, _, points in found)]
    if not budgets or search_section(runs) is None:
        return None
    rows = [[label, *(_point(points.get(tokens)) for tokens in budgets)] for label, _, points in found]
    own = [label for run, label in shown if (curves := _curves(run)) and not curves.estimated]
    figures = {
        "runs": {run.original_id: {str(n): _json(points.get(n)) for n in budgets} for _, run, points in found}
    }
    return Section(
        "within",
        "Retrieval within a number of tokens",
        ("run", *(f"within {tokens}" for tokens in budgets)),
        rows,
        [_token_note(own, len(rows))],
        figures,
        numbers=len(budgets),
    )


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


def _points(run: Run) -> dict[int, CurvePoint]:
    """The recall of a run by k."""
    return {point.k: point for point in (_curves(run) or RecallCurves()).by_rank if point.k is not None}


def _seconds(run: Run) -> str:
    """Format the time of a search with its interval; of a run of answers, without one."""
    found = run.summary.retrieval.seconds
    took = run.summary.seconds.retrieve if found.value is None else found.value
    ends = f" [{', '.join(map(duration, found.bounds))}]" if found.bounds else ""
    return "n/a" if took is None else duration(took) + ends


def _point(point: CurvePoint | None) -> str:
    """Format recall and its interval."""
    return "n/a" if point is None else figure(point.value) + bracket(point.bounds)


def _json(point: CurvePoint | None) -> dict[str, float | int | None] | None:
    """Recall with its interval as JSON values."""
    return (
        None if point is None else {"value": point.value, "low": point.low, "high": point.high, "n": point.n}
    )


def _size(size: int) -> str:
    """Format bytes in kB, MB or GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
