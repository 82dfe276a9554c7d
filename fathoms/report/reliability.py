"""Whether the probabilities of a judge are right, bin by bin: as lines for the terminal and as a diagram."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, UsageError
from fathoms.paths import write_atomic
from fathoms.report.radar import COLOURS, FORMATS, GREY, INK, plain_style
from fathoms.text.amounts import figure

Json = dict[str, Any]


def reliability_rows(found: Json | None) -> list[tuple[str, ...]]:
    """Return a line for each bin: its bounds, the claims in it, their mean probability, and the share that
    people support with its interval."""
    return [
        (
            f"{one['low']:.1f} to {one['high']:.1f}",
            str(one["n"]),
            figure(one["mean"]),
            figure(one["share"]),
            f"{one['interval'][0]:.2f} to {one['interval'][1]:.2f}",
        )
        for one in (found or {}).get("bins", ())
    ]


def reliability_lines(found: Json | None) -> Iterator[str]:
    """Yield the calibration error, what it would be by chance, and how many claims have no probability."""
    if found is None:
        yield "probabilities: this judge gives none, so that nothing says whether they are right"
        return
    yield (
        f"probabilities: expected calibration error {figure(found['ece'], 3)} over {found['n']} claims in"
        f" bins of {figure(found['width'])}; right probabilities would have about"
        f" {figure(found['by_chance'], 3)} with so many claims"
    )
    if found["unknown"]:
        yield f"{found['unknown']} claims have a verdict without a probability and are in no bin"


def write_reliability(found: Json | None, judge: str, path: Path) -> None:
    """Write the diagram: the share that people support over the mean probability of each bin, with intervals
    and numbers of claims, and the line on which right probabilities lie.

    Raises DataError where there is nothing to draw, and UsageError for a form of picture that is not known.
    """
    from matplotlib.figure import Figure

    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise UsageError(f"--plot {path}: expected a name that ends with .svg, .png or .pdf")
    if found is None:
        raise DataError(f"no verdict of {judge} has a probability, so that there is no diagram to draw")
    with plain_style():
        drawn = Figure(figsize=(4.6, 4.6), layout="constrained")
        axes = drawn.add_subplot()
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        for one in found["bins"]:
            axes.plot([one["mean"]] * 2, one["interval"], color=INK, linewidth=1.2)
            axes.plot([one["mean"]], [one["share"]], marker="o", color=COLOURS[0])
            axes.annotate(f" {one['n']}", (one["mean"], one["share"]), color=INK, va="bottom")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="mean probability of the judge")
        axes.set_ylabel("share that people support")
        title = f"{judge}: calibration error {figure(found['ece'], 3)}, {found['n']} claims"
        axes.set_title(title.replace("$", r"\$"), fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=form, facecolor="white", **FORMATS[form])
    write_atomic(path, buffer.getvalue())
