"""The seconds that a question takes at each stage, and how many times the fastest run of a comparison takes.

Time efficiency as in Double-Bench (Shen et al. 2025), which relates the seconds of each framework to those of
the fastest. Reading the documents is not done per question, so it is given per page or text, and in total.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fathoms.report.leaderboard import run_labels
from fathoms.report.section import Section
from fathoms.report.text import plain
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars, duration
from fathoms.types.run.figures import MetricFigure
from fathoms.types.run.manifest import IngestTime
from fathoms.types.run.part import Number

TOTAL = "total"
NOTE = (
    "mean time of a question, without answers from the cache; in brackets: 95 % interval, then the number"
    " of questions; x: how many times the fastest of these runs it takes"
)
_INGEST = {
    "parse": "page",
    "chunk": "page",
    "embed": "text",
    "index": "chunk",
    "embed pages": "page",
    "embed questions": "question",
}


@dataclass(frozen=True)
class StageTime:
    """The seconds of a question at one stage of one run. `times` is how many times the fastest run of the
    comparison takes; `None` without a comparison, or if the fastest takes no measurable time."""

    figure: MetricFigure
    times: float | None = None

    @property
    def ratio(self) -> str:
        """The multiple of the fastest run, such as `2.5x`; empty if there is none."""
        return "" if self.times is None else f"{self.times:.1f}x"

    def text(self, *, interval: bool = False) -> str:
        """Format the seconds, `0.12 s (2.5x)`; with `interval` also their interval and number of
        questions."""
        found = self.figure
        if found.value is None:
            return "n/a"
        bounds = ""
        if interval and found.bounds:
            bounds = f" [{', '.join(map(duration, found.bounds))}]"
        count = f" ({found.n})" if interval and found.n else ""
        return " ".join(filter(None, (f"{duration(found.value)}{bounds}{count}", self.ratio)))


def stage_times(runs: Sequence[Run]) -> tuple[list[str], list[dict[str, StageTime]]]:
    """Return the names of the stages that any run has, and the times of each run by stage."""
    figures = [run.summary.seconds.by_stage for run in runs]
    # the run with most stages has them in their order
    most = sorted(figures, key=len, reverse=True)
    stages = list(dict.fromkeys(name for found in most for name in found if name != TOTAL))
    stages += [TOTAL] if any(TOTAL in found for found in figures) else []
    fastest = {stage: _fastest(stage, figures) for stage in stages}
    return stages, [
        {name: StageTime(figure, _multiple(figure.value, fastest[name])) for name, figure in found.items()}
        for found in figures
    ]


def _fastest(stage: str, figures: Sequence[dict[str, MetricFigure]]) -> float | None:
    """Return the fewest seconds that any of several runs takes; `None` where fewer than two are known."""
    known = [value for found in figures if stage in found and (value := found[stage].value) is not None]
    return min(known) if len(known) > 1 else None


def _multiple(value: float | None, fastest: float | None) -> float | None:
    """Return how many times the fastest a run takes."""
    return None if value is None or not fastest else value / fastest


def times_section(runs: Sequence[Run], *, interval: bool = False) -> Section | None:
    """Return the table of the seconds of a question: a row for each run, and a column for each stage, with
    what reading the documents took below it; `None` where neither is known."""
    stages, times = stage_times(runs)
    rows = [
        [label, *(found[stage].text(interval=interval) if stage in found else "-" for stage in stages)]
        for label, found in zip(run_labels(runs), times, strict=True)
        if any(time.figure.value is not None for time in found.values())
    ]
    notes = [*([NOTE] if rows and (interval or len(runs) > 1) else []), *ingest_lines(runs)]
    header = ("time of a question", *stages)
    title = "Time of a question by stage"
    return Section("seconds", title, header, rows, notes, numbers=len(stages)) if rows or notes else None


def ingest_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each run that measured its ingestion, stage by stage."""
    for label, run in zip(run_labels(runs), runs, strict=True):
        parts = [f"{stage} {_ingest_text(stage, took)}" for stage, took in run.manifest.ingest.times.items()]
        if parts:
            yield plain(f"{label}, documents: {'; '.join(parts)}")


def _ingest_text(stage: str, took: IngestTime) -> str:
    """Format what a stage of the ingestion took: `1.2 s, 0.12 s a page (10; cpu, float32)`."""
    if not took.made:
        return "from the cache"
    unit = _INGEST.get(stage, "item")
    counted = f"{took.made:,}; {took.device}" if took.device else f"{took.made:,}"
    text = f"{duration(took.seconds)}, {duration(took.seconds / took.made)} a {unit} ({counted})"
    return text if not took.calls else f"{text}, {called_text(took.calls, took.tokens, took.cost)}"


def called_text(calls: int, tokens: int | None, cost: float | None) -> str:
    """Format what the replies of an embedding server took: `3 calls, 4,096 tokens, $0.0012`."""
    counted = "tokens not reported" if tokens is None else f"{tokens:,} tokens"
    return f"{calls:,} calls, {counted}, {'cost unknown' if cost is None else dollars(cost)}"


def ingest_json(run: Run) -> dict[str, dict[str, Number | str | None]]:
    """Return what the ingestion of a run took by stage: `seconds` in total, the number of pages or texts
    that were `made`, and the seconds of `each`, `None` where all came from the cache; where a server
    embedded them, also its `calls`, the `tokens` that it reported, and their `cost`; where a local model
    embedded pages, its `device`."""
    return {
        stage: {
            "seconds": took.seconds,
            "made": took.made,
            "each": took.seconds / took.made if took.made else None,
            **({"device": took.device} if took.device else {}),
            **({"calls": took.calls, "tokens": took.tokens, "cost": took.cost} if took.calls else {}),
        }
        for stage, took in run.manifest.ingest.times.items()
    }
