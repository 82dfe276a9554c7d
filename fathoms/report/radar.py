"""Draws radar plots of runs as PNG, SVG and PDF: one plot per metric, with an axis per category and for
Overall.

The plots do not read or change Matplotlib's global state or the user's style, and the same scores give the
same bytes. The colours are Okabe and Ito's palette for colour-blind readers, except that grey replaces its
yellow, which is hardly visible on white; markers and dashes differ as well. With one or two runs the raw
values are written at the vertices. With more they would overlap, so they are listed beside each axis label.

Axes go from 0 to 1. The scale of the paper (FATHOMS-RAG, section IV), on request, divides each axis by the
highest value that any of the runs has on it. A run without a value on an axis has a gap in its outline there,
and the label of the axis says "no value".
"""

from __future__ import annotations

import atexit
import functools
import io
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fathoms.errors import UsageError
from fathoms.paths import write_atomic
from fathoms.report.layout import Box, Point, Values, directions, normalise, place, value_spot
from fathoms.report.leaderboard import Leaderboard, Metric, RunRow, leaderboard
from fathoms.report.text import squeeze, wrap
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale = Literal["plain", "paper"]
"""`plain` draws values from 0 to 1; `paper` divides each axis by its highest value."""
TITLES: dict[Metric, str] = {
    "correctness": "Correctness",
    "hallucination": "Hallucination rate (lower is better)",
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (8, 2, 2, 2)),
    "-",
    (0, (4, 1, 1, 1)),
)
INK, GREY = "#222222", "#707070"
FONT = 9.0
LINE = 0.17
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
ENTRY = 0.62
NO_VALUE = "no value"
LEGEND_LINE = 0.235
MARGIN = 0.3
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fathoms",
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": FONT,
}
MOST_AXES = 60
"""The largest number of categories in one plot. With more, labels overlap and drawing takes minutes."""


@dataclass(frozen=True)
class Chart:
    """The content of one plot. `values` holds one tuple per run, with one raw value per axis."""

    title: str
    subtitle: str
    axes: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    scale: Scale = "plain"

    @property
    def drawn(self) -> Sequence[Values]:
        """The values as shares of the radius."""
        return normalise(self.values) if self.scale == "paper" else self.values

    @property
    def at_vertices(self) -> bool:
        """Whether the raw values are written at the vertices rather than beside the axis labels."""
        return len(self.values) <= 2


def draw_radar(
    runs: Sequence[Run],
    metric: Metric,
    path: Path,
    scores: str | None = None,
    *,
    scale: Scale = "plain",
) -> list[Path]:
    """Draw a metric of some runs under one profile, and return the files written.

    The files are `path` with `.png`, `.svg` and `.pdf` appended. Raises UsageError if `runs` is empty.
    """
    if not runs:
        raise UsageError("a radar plot needs at least one run")
    return save(make_chart(leaderboard(runs, scores), metric, scale), path, tuple(FORMATS))


def remove_radar(path: Path) -> None:
    """Delete the files that `draw_radar` wrote to the same path, if there are any."""
    for suffix in FORMATS:
        path.with_name(f"{path.name}.{suffix}").unlink(missing_ok=True)


def radar_figure(
    runs: Sequence[Run], metric: Metric, scores: str | None = None, *, scale: Scale = "plain"
) -> Figure:
    """Return the same plot as a Matplotlib figure, for example for a notebook."""
    if not runs:
        raise UsageError("a radar plot needs at least one run")
    with plain_style():
        return draw(make_chart(leaderboard(runs, scores), metric, scale))


def make_chart(table: Leaderboard, metric: Metric, scale: Scale = "plain") -> Chart:
    """Build the chart of one metric from a score table. A single run is always drawn from 0 to 1."""
    scale = scale if len(table.rows) > 1 else "plain"
    profiles = " and ".join(sorted({row.profile for row in table.rows}))
    scaling = "axes from 0 to 1"
    if scale == "paper":
        scaling = "each axis relative to the highest of these runs, figures as measured"
    shown = table.categories[:MOST_AXES]
    if len(shown) < len(table.categories):
        scaling += f"; the first {MOST_AXES} of {len(table.categories):,} categories"
    return Chart(
        title=TITLES[metric],
        subtitle=f"profile {profiles}; {scaling}",
        axes=("Overall", *shown),
        labels=tuple(map(legend_label, table.rows)),
        values=tuple(
            tuple(cell.mean(metric) for cell in (row.overall, *map(row.cell, shown))) for row in table.rows
        ),
        scale=scale,
    )


def legend_label(row: RunRow) -> str:
    """Return a run's name in the legend: its label, and its model if the label does not contain it."""
    model = f" ({row.model})" if row.model and row.model not in row.label else ""
    return row.label + model + (" (incomplete)" if row.mark else "")


def save(chart: Chart, path: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw a chart and write its files. Characters that the font lacks become boxes in PNG and PDF."""
    written = []
    with plain_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        picture = draw(chart)
        for suffix in formats:
            if suffix == "pdf":
                _write_with_plain_fonts(picture)
            buffer = io.BytesIO()
            picture.savefig(buffer, format=suffix, facecolor="white", **FORMATS[suffix])
            written.append(path.with_name(f"{path.name}.{suffix}"))
            write_atomic(written[-1], buffer.getvalue())
    return written


def _write_with_plain_fonts(picture: Figure) -> None:
    """Have all texts of a figure written in copies of their fonts without rules for scripts and ligatures.

    Matplotlib cuts each font down to the characters of a PDF, and for that it reads these rules of some
    thousand characters, which took more than half of the time of a whole report.
    """
    from matplotlib.font_manager import findfont
    from matplotlib.text import Text

    for text in picture.findobj(Text):
        font = text.get_fontproperties()
        if (path := str(findfont(font))).endswith(".ttf"):  # as the one that comes with Matplotlib
            font.set_file(_plain_font(path))


@functools.cache
def _plain_font(path: str) -> str:
    """Write a copy of a font without its rules for layout, which is deleted when the process ends."""
    from fontTools.ttLib import TTFont

    place, process = tempfile.mkdtemp(prefix="fathoms-font-"), os.getpid()

    @atexit.register
    def delete() -> None:
        if os.getpid() == process:  # not a fork of it
            shutil.rmtree(place, ignore_errors=True)

    with TTFont(path) as font:
        for table in {"GDEF", "GPOS", "GSUB"} & set(font.keys()):
            del font[table]
        font.save(copy := str(Path(place, Path(path).name)))
    return copy


def plain_style() -> AbstractContextManager[None]:
    """Return a context that applies our own Matplotlib style, without any of the user's settings."""
    import matplotlib.style

    style: AbstractContextManager[None] = matplotlib.style.context(["default", STYLE])
    return style


def draw(chart: Chart) -> Figure:
    """Draw a chart; its coordinates are inches from the centre of the radar."""
    heads = [wrap(name, 16, 3) for name in chart.axes]
    listed = [listed_runs(chart, axis) for axis in range(len(chart.axes))]
    sizes = [block_size(head, len(runs)) for head, runs in zip(heads, listed, strict=True)]
    radius, boxes = place(sizes, gap=0.42 if chart.at_vertices else 0.18)
    figure, canvas = blank(chart, radius, boxes)
    draw_grid(canvas, radius, len(chart.axes), chart.scale)
    for run, values in enumerate(chart.drawn):
        draw_run(canvas, run, values, radius, filled=chart.at_vertices)
    if chart.at_vertices:
        draw_values(canvas, chart, radius)
    for axis, box in enumerate(boxes):
        draw_block(canvas, box, heads[axis], [(run, chart.values[run][axis]) for run in listed[axis]])
    return figure


def listed_runs(chart: Chart, axis: int) -> list[int]:
    """Return the runs whose value is listed beside an axis label: all runs, or, if values are written at the
    vertices, those without a value on this axis."""
    return [run for run, values in enumerate(chart.values) if not chart.at_vertices or values[axis] is None]


def block_size(head: Sequence[str], entries: int) -> tuple[float, float]:
    """Return the width and height in inches of an axis label with the values listed under it."""
    columns, rows = grid(entries)
    width = max(text_width(head, FONT + 1), columns * ENTRY) + 0.12
    return width, (len(head) + rows) * LINE + 0.12


def grid(entries: int) -> tuple[int, int]:
    """Return the columns and rows needed for a number of entries, with at most four rows."""
    columns = math.ceil(entries / 4)
    return columns, math.ceil(entries / columns) if columns else 0


def text_width(lines: Sequence[str], size: float) -> float:
    """Return the width in inches of the longest line in bold letters of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold")
    return max(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines) / 72


def blank(chart: Chart, radius: float, boxes: Sequence[Box]) -> tuple[Figure, Axes]:
    """Create an empty figure large enough for the boxes, with its title above and its legend below."""
    from matplotlib.figure import Figure

    names = [squeeze(label, 64) for label in chart.labels]  # keeps the ends, where names often differ
    wide = max(radius + MARGIN, text_width(names, FONT) / 2 + 0.5, text_width([chart.subtitle], FONT) / 2)
    wide = max(wide, *(abs(box.x) + box.width / 2 for box in boxes)) + MARGIN
    top = max(radius, *(box.y + box.height / 2 for box in boxes)) + 0.75
    bottom = max(radius, *(box.height / 2 - box.y for box in boxes)) + len(names) * LEGEND_LINE + 2 * MARGIN
    picture = Figure(figsize=(2 * wide, top + bottom))
    canvas = picture.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(-wide, wide), ylim=(-bottom, top))
    canvas.set_axis_off()
    write(canvas, (0, top - 0.3), chart.title, fontsize=14, fontweight="bold")
    write(canvas, (0, top - 0.56), chart.subtitle, color=GREY)
    draw_legend(canvas, names, (len(names) - 1) * LEGEND_LINE + MARGIN - bottom)
    return picture, canvas


def write(canvas: Axes, spot: Point, text: str, **style: Any) -> None:
    """Write text centred on a point, without math mode: a `$` in a name is printed as it is."""
    canvas.text(
        *spot, text, **{"ha": "center", "va": "center", "color": INK, "zorder": 5, **style}, parse_math=False
    )


def line_style(run: int) -> dict[str, Any]:
    """Return the colour, dashes and marker of the nth run."""
    return {
        "color": COLOURS[run % len(COLOURS)],
        "linestyle": DASHES[run % len(DASHES)],
        "linewidth": 1.8,
        **marker_style(run),
    }


def marker_style(run: int) -> dict[str, Any]:
    """Return the marker of the nth run; its dark edge keeps light colours visible on white.

    Runs that share a colour, because there are more runs than colours, have different markers.
    """
    return {
        "marker": MARKERS[(run + run // len(COLOURS)) % len(MARKERS)],
        "markersize": 6.5,
        "markerfacecolor": COLOURS[run % len(COLOURS)],
        "markeredgecolor": INK,
        "markeredgewidth": 0.5,
    }


def draw_legend(canvas: Axes, names: Sequence[str], top: float) -> None:
    """Draw the legend, one line per run, centred under the radar."""
    left = -(text_width(names, FONT) + 0.6) / 2
    for run, name in enumerate(names):
        y = top - run * LEGEND_LINE
        canvas.plot([left, left + 0.25, left + 0.5], [y, y, y], markevery=[1], **line_style(run))
        write(canvas, (left + 0.6, y), name, ha="left")


def draw_grid(canvas: Axes, radius: float, axes: int, scale: Scale) -> None:
    """Draw the axes and four rings; two of the rings are labelled with their value."""
    spokes = directions(axes)
    for x, y in spokes:
        canvas.plot([0, x * radius], [0, y * radius], color="#cccccc", linewidth=0.8, zorder=1)
    for step in range(1, 5):
        reach = radius * step / 4
        ring = [(x * reach, y * reach) for x, y in (*spokes, spokes[0])]
        canvas.plot(*zip(*ring, strict=True), color="#cccccc", linewidth=0.8, zorder=1)
        if step in (2, 4):
            middle = ((ring[0][0] + ring[1][0]) / 2, (ring[0][1] + ring[1][1]) / 2)
            text = figure(step / 4) if scale == "plain" else f"{25 * step} %"
            write(canvas, middle, text, color=GREY, fontsize=7, zorder=4, bbox=halo(alpha=1.0))


def halo(alpha: float = 0.8) -> dict[str, Any]:
    """Return the style of a white background for text that lines pass behind."""
    return {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": alpha}


def draw_run(canvas: Axes, run: int, values: Values, radius: float, filled: bool) -> None:
    """Draw the polygon of a run, interrupted where a value is missing."""
    points = [
        (math.nan, math.nan) if value is None else (x * value * radius, y * value * radius)
        for value, (x, y) in zip(values, directions(len(values)), strict=True)
    ]
    xs, ys = zip(*points, points[0], strict=True)
    canvas.plot(xs, ys, zorder=3, **line_style(run))
    if filled and None not in values:
        canvas.fill(xs, ys, color=COLOURS[run % len(COLOURS)], alpha=0.08, zorder=1)


def draw_values(canvas: Axes, chart: Chart, radius: float) -> None:
    """Write the raw values of one or two runs at their vertices."""
    spokes = directions(len(chart.axes))
    for run, (raw, drawn) in enumerate(zip(chart.values, chart.drawn, strict=True)):
        side = 0 if len(chart.values) == 1 else 2 * run - 1
        for axis, value, reach in zip(spokes, raw, drawn, strict=True):
            if reach is not None:
                spot = value_spot(axis, reach * radius, side, len(spokes))
                colour = INK if side == 0 else darker(COLOURS[run])
                write(canvas, spot, figure(value), color=colour, fontweight="bold", bbox=halo())


def darker(colour: str) -> str:
    """Darken a colour enough for small text on white."""
    channels = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    return "#" + "".join(f"{round(channel * 0.75):02x}" for channel in channels)


def draw_block(
    canvas: Axes, box: Box, head: Sequence[str], entries: Sequence[tuple[int, float | None]]
) -> None:
    """Draw an axis label with the values listed under it, each after its run's marker."""
    y = box.y + box.height / 2 - 0.06 - LINE / 2
    for line in head:
        write(canvas, (box.x, y), line, fontsize=FONT + 1, fontweight="bold")
        y -= LINE
    columns, rows = grid(len(entries))
    for index, (run, value) in enumerate(entries):
        x = box.x + (index // rows - columns / 2) * ENTRY + 0.12
        spot = y - index % rows * LINE
        canvas.plot([x], [spot], linestyle="none", **marker_style(run))
        write(canvas, (x + 0.11, spot), NO_VALUE if value is None else figure(value), ha="left")
