"""Computes the layout of a radar plot, in inches from its centre; nothing is drawn here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Values = Sequence[float | None]
Point = tuple[float, float]

SMALLEST_RADIUS = 2.3
GROWTH = 1.08
LARGEST_RADIUS = 20.0
ASIDE = 0.22


def normalise(runs: Sequence[Values]) -> list[list[float | None]]:
    """Scale the values of each run (one per axis) to [0, 1] for drawing.

    This is the scale of the paper. A single run keeps its values. With several runs, each axis is divided by
    the highest value of any run on it; an axis whose highest value is 0 stays 0. `None` (does not apply)
    stays `None`.
    """
    if len(runs) == 1:
        return [list(runs[0])]
    highest = [
        max((value for value in axis if value is not None), default=0.0) for axis in zip(*runs, strict=True)
    ]
    return [[scale(value, top) for value, top in zip(run, highest, strict=True)] for run in runs]


def scale(value: float | None, highest: float) -> float | None:
    """Divide a value by the highest one of its axis."""
    return value if value is None or highest == 0 else value / highest


def directions(axes: int) -> list[Point]:
    """Return the unit vectors of the axes: the first points up, the others follow clockwise."""
    angles = [math.tau * index / axes for index in range(axes)]
    return [(math.sin(angle), math.cos(angle)) for angle in angles]


@dataclass(frozen=True)
class Box:
    """An axis-aligned rectangle, given by its centre and its size."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Box) -> bool:
        """Return whether the two boxes overlap; a shared edge does not count."""
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2
            and abs(self.y - other.y) < (self.height + other.height) / 2
        )


def place(sizes: Sequence[tuple[float, float]], gap: float) -> tuple[float, list[Box]]:
    """Return the radius of the radar, and a box for each axis label, given the labels' widths and heights.

    Every box is at least `gap` outside the circle. The circle grows until no two boxes overlap or it reaches
    its largest radius.
    """
    radius = SMALLEST_RADIUS
    boxes = around(sizes, radius + gap)
    while radius < LARGEST_RADIUS and collide(boxes):
        radius *= GROWTH
        boxes = around(sizes, radius + gap)
    return radius, boxes


def around(sizes: Sequence[tuple[float, float]], radius: float) -> list[Box]:
    """Place each box on its axis so that it touches the circle's tangent from outside."""
    boxes = []
    for (x, y), (width, height) in zip(directions(len(sizes)), sizes, strict=True):
        distance = radius + (abs(x) * width + abs(y) * height) / 2
        boxes.append(Box(x * distance, y * distance, width, height))
    return boxes


def collide(boxes: Sequence[Box]) -> bool:
    """Return whether any two boxes overlap."""
    return any(box.meets(other) for index, box in enumerate(boxes) for other in boxes[:index])


def value_spot(axis: Point, reach: float, side: int, axes: int) -> Point:
    """Return the centre of the value written at a vertex `reach` inches out on its axis.

    `side` is 0 for a single run (beyond the vertex) and -1 or 1 for two runs (left and right of the axis).
    Near the centre, where all axes meet, values are moved outwards until they no longer overlap.
    """
    x, y = axis
    outward = 0 if side else 0.13 + 0.15 * abs(x)
    room = 0.8 if side else 0.4
    # points at a distance r on neighbouring axes are 2 r sin(pi / axes) apart
    reach = max(reach + outward, room / (2 * math.sin(math.pi / max(axes, 3))))
    return (x * reach + side * ASIDE * y, y * reach - side * ASIDE * x)
