"""Rectangles on a page: plain geometry, in points from the top left corner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle; `top` is smaller than `bottom`."""

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
        """Half way down."""
        return (self.top + self.bottom) / 2

    @property
    def centre(self) -> float:
        """Half way across."""
        return (self.left + self.right) / 2

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def shared(self, other: Box) -> float:
        """The area that two boxes have in common."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def inside(self, other: Box) -> float:
        """The part of this box that lies in the other, 0 to 1."""
        return self.shared(other) / self.area if self.area > 0 else 0.0

    def grown(self, margin: float) -> Box:
        """The box with that much more on every side."""
        return Box(self.left - margin, self.top - margin, self.right + margin, self.bottom + margin)


def union(boxes: Iterable[Box]) -> Box:
    """The smallest box around all of them; there must be one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))
