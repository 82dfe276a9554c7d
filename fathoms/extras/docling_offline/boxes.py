"""Geometry of rectangles on a page, in points from the top left corner of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle. The y axis points down, so `top` is smaller than `bottom`."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The y coordinate of the centre, in points from the top of the page."""
        return (self.top + self.bottom) / 2

    @property
    def centre(self) -> float:
        """The x coordinate of the centre, in points from the left edge of the page."""
        return (self.left + self.right) / 2

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def shared(self, other: Box) -> float:
        """Return the area of the intersection of two boxes."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def inside(self, other: Box) -> float:
        """Return the share of this box's area that lies in the other box, from 0 to 1."""
        return self.shared(other) / self.area if self.area > 0 else 0.0

    def grown(self, margin: float) -> Box:
        """Return the box enlarged by `margin` on every side."""
        return Box(self.left - margin, self.top - margin, self.right + margin, self.bottom + margin)


def union(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that contains all boxes; there must be at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))
