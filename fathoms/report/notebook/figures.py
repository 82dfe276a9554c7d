"""Draws the figures of one run by name, for notebooks and scripts."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.errors import DataError, UsageError, suggest
from fathoms.report.funnel import HEADS as FUNNEL_HEADS
from fathoms.report.funnel import funnel_of, stages_of
from fathoms.report.gold_pages import HEADS as PAGE_HEADS
from fathoms.report.gold_pages import PAGE_STAGES, page_figures
from fathoms.report.modalities import modality_hits
from fathoms.report.radar import COLOURS, GREY, INK, plain_style, radar_figure
from fathoms.report.stage_times import stage_times
from fathoms.report.text import plain, squeeze
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110
_WIDTH = 6.4
_LABEL = 28


@dataclass(frozen=True)
class Drawn:
    """A figure of a run. Jupyter shows it, `figure` is the Matplotlib figure, and `savefig` writes it."""

    name: str
    figure: Figure

    def savefig(self, path: Any, **options: Any) -> None:
        """Write the figure to a file, as Matplotlib does."""
        self.figure.savefig(path, **options)

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook, on white in a dark theme too."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
        return buffer.getvalue()


class Bar(NamedTuple):
    """A value with its label, and its 95 % interval where that is known."""

    label: str
    value: float | None
    bounds: tuple[float, float] | None = None
    n: int | None = None


def figure_of(run: Run, name: str, profile: str | None = None) -> Drawn:
    """Draw a figure of a run; `name` is one of `figure_names`.

    Raises UsageError with the names there are for another name, and DataError where the run has no values
    for a figure of `FIGURES`.
    """
    if name in FIGURES:
        drawn = FIGURES[name](run, profile)
        if drawn is None:
            raise DataError(
                f"{run.original_id} has no values for the figure '{name}'; {_listed(run, profile)}"
            )
        return Drawn(name, drawn)
    figures = run.metrics(profile).get(name)
    if figures is None or figures.overall.value is None:
        known = figure_names(run, profile)
        raise UsageError(f"no figure is called '{name}'{suggest(name, known)}; {_listed(run, profile)}")
    unit = "" if figures.unit == "share" else f" ({figures.unit})"
    better = "lower" if figures.direction == "lower" else "higher"
    cells = [("Overall", figures.overall), *figures.categories.items()]
    top = 1.0 if figures.unit == "share" else None
    return Drawn(name, bars(f"{name}{unit}, {better} is better", [_bar(*cell) for cell in cells], top))


def figure_names(run: Run, profile: str | None = None) -> tuple[str, ...]:
    """Return the names of the figures that a run has: those of `FIGURES`, and every metric with a value."""
    drawn = [name for name, draw in FIGURES.items() if draw(run, profile) is not None]
    metrics = [name for name, found in run.metrics(profile).items() if found.overall.value is not None]
    return tuple(dict.fromkeys([*drawn, *metrics]))


def _listed(run: Run, profile: str | None) -> str:
    """Say which figures there are."""
    return f"this run has: {', '.join(figure_names(run, profile))}"


def _bar(label: str, found: MetricFigure) -> Bar:
    """A bar for a figure of a metric."""
    return Bar(label, found.value, found.bounds, found.n)


def _radar(run: Run, profile: str | None) -> Figure | None:
    return None if run.summary.retrieval_only else radar_figure([run], "correctness", profile)


def _radar_of_hallucination(run: Run, profile: str | None) -> Figure | None:
    return None if run.summary.retrieval_only else radar_figure([run], "hallucination", profile)


def _funnel(run: Run, profile: str | None) -> Figure | None:
    funnel = None if run.summary.retrieval_only else funnel_of(run, run.profile(profile))
    if funnel is None:
        return None
    found = zip(stages_of(run), FUNNEL_HEADS, strict=False)
    stages = [(head, funnel.overall.at(stage)) for stage, head in found]
    title = "phrase recall at each stage: where answers were lost"
    return bars(title, [Bar(head, stage.recall, n=stage.n) for head, stage in stages], 1.0)


def _gold_pages(run: Run, profile: str | None) -> Figure | None:
    figures = page_figures(run, profile)
    stages = [(head, figures.get(name)) for name, head in zip(PAGE_STAGES, PAGE_HEADS, strict=True)]
    rows = [_bar(head, found.overall) for head, found in stages if found is not None]
    return bars("share of the gold pages that reach each stage", rows, 1.0) if rows else None


def _modalities(run: Run, profile: str | None) -> Figure | None:
    hits = modality_hits(run)
    rows = [_bar(f"{name}, hit@{k}", found) for name, ks in hits.items() for k, found in ks.items()]
    return bars("hits by modality of the gold", rows, 1.0) if rows else None


def _seconds(run: Run, profile: str | None) -> Figure | None:
    names, (times,) = stage_times([run])
    rows = [_bar(name, times[name].figure) for name in names if name in times]
    return bars("mean seconds of a question by stage", rows) if rows else None


FIGURES: dict[str, Callable[[Run, str | None], Figure | None]] = {
    "radar": _radar,
    "radar-hallucination": _radar_of_hallucination,
    "funnel": _funnel,
    "gold-pages": _gold_pages,
    "modalities": _modalities,
    "seconds": _seconds,
}
"""The figures that are no single metric; each draws nothing where a run has no values for it."""


def bars(title: str, rows: Sequence[Bar], top: float | None = None) -> Figure:
    """Draw values as horizontal bars from the top down, with their 95 % intervals and figures. `top` is the
    end of the axis, by default that of the largest value."""
    from matplotlib.figure import Figure

    with plain_style():
        figure = Figure(figsize=(_WIDTH, 0.9 + 0.34 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for place, row in enumerate(rows):
            if row.value is not None:
                axes.barh(place, row.value, height=0.6, color=COLOURS[0])
            if row.bounds is not None:
                axes.plot(row.bounds, [place, place], color=INK, linewidth=1.4, solid_capstyle="butt")
            axes.annotate(
                _said(row, ".2f" if top == 1 else ".3g"),
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                color=INK,
            )
        names = [squeeze(plain(row.label), _LABEL).replace("$", r"\$") for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.invert_yaxis()
        axes.set_xlim(*((0, top) if top is not None else (None, None)))
        axes.set_title(plain(title).replace("$", r"\$"), fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        axes.grid(axis="x", color=GREY, alpha=0.25)
        axes.set_axisbelow(True)
    return figure


def _said(row: Bar, style: str) -> str:
    """Format the figure beside a bar: `0.25 [0.01, 0.88] (3)`."""
    if row.value is None:
        return "n/a"
    bounds = f" [{row.bounds[0]:{style}}, {row.bounds[1]:{style}}]" if row.bounds else ""
    return f"{row.value:{style}}{bounds}{f' ({row.n})' if row.n else ''}"
