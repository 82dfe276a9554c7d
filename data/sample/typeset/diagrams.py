"""Vector diagrams: boxes joined by arrows, with text in and beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

from reportlab.graphics.shapes import Drawing, Polygon, PolyLine, Rect
from reportlab.graphics.shapes import Shape as Piece
from reportlab.lib.colors import HexColor, black, white
from reportlab.pdfbase.pdfmetrics import stringWidth

from .charts import FONT, SIZE, word

_FILL = HexColor(0xEEF2F5)
_SIDES = {
    "n": (0.5, 1.0), "s": (0.5, 0.0), "e": (1.0, 0.5), "w": (0.0, 0.5),
    "nw": (0.2, 1.0), "sw": (0.2, 0.0), "se": (0.8, 0.0),
}  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A box by its middle, with its lines of text."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    heavy: bool = False

    def side(self, name: str) -> tuple[float, float]:
        """Where an arrow may end: the middle of a side, or a fifth from a corner."""
        across, up = _SIDES[name]
        return self.x + (across - 0.5) * self.width, self.y + (up - 0.5) * self.height

    def pieces(self) -> Iterator[Piece]:
        """The box and its text, the first line of it in bold."""
        corner = (self.x - self.width / 2, self.y - self.height / 2)
        yield Rect(
            *corner, self.width, self.height, rx=3, ry=3, fillColor=_FILL, strokeColor=black,
            strokeWidth=1.8 if self.heavy else 0.7,
        )  # fmt: skip
        y = self.y + (len(self.lines) - 1) * 4.4 - 2.4
        for number, line in enumerate(self.lines):
            text = word(self.x, y - number * 8.8, line)
            text.fontName = f"{FONT}-Bold" if number == 0 else FONT
            yield text


@dataclass(frozen=True)
class Arrow:
    """An arrow from a side of one box to a side of another; ``via`` are the corners it turns at."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False
    via: tuple[tuple[float, float], ...] = ()
    shift: tuple[float, float] = (0, 3.2)


def diagram(width: float, height: float, boxes: dict[str, Box], arrows: Sequence[Arrow]) -> Drawing:
    """Draw boxes and arrows; an arrow's ends are written ``box.side``."""
    drawing = Drawing(width, height)
    for box in boxes.values():
        for piece in box.pieces():
            drawing.add(piece)
    for arrow in arrows:
        ends = [_end(boxes, where) for where in (arrow.start, arrow.end)]
        for piece in _arrow(arrow, [ends[0], *arrow.via, ends[1]]):
            drawing.add(piece)
    return drawing


def _end(boxes: dict[str, Box], where: str) -> tuple[float, float]:
    name, side = where.split(".")
    return boxes[name].side(side)


def _arrow(arrow: Arrow, points: list[tuple[float, float]]) -> Iterator[Piece]:
    """The line, the head, and the label on the middle of the longest stretch."""
    (x0, y0), (x1, y1) = points[-2:]
    length = hypot(x1 - x0, y1 - y0)
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    back = (x1 - 5 * dx, y1 - 5 * dy)
    dash = [3, 2] if arrow.dashed else None
    yield PolyLine([*points[:-1], back], strokeColor=black, strokeWidth=0.9, strokeDashArray=dash)
    wings = [back[0] - 2.2 * dy, back[1] + 2.2 * dx, back[0] + 2.2 * dy, back[1] - 2.2 * dx]
    yield Polygon([x1, y1, *wings], fillColor=black, strokeColor=None)
    if arrow.label:
        yield from _label(arrow, points)


def _label(arrow: Arrow, points: list[tuple[float, float]]) -> Iterator[Piece]:
    stretches = list(pairwise(points))
    (x0, y0), (x1, y1) = max(
        stretches, key=lambda ends: hypot(ends[1][0] - ends[0][0], ends[1][1] - ends[0][1])
    )
    lines = arrow.label.split("\n")
    x, y = (x0 + x1) / 2 + arrow.shift[0], (y0 + y1) / 2 + arrow.shift[1] + 8.4 * (len(lines) - 1)
    for number, line in enumerate(lines):
        wide = stringWidth(line, FONT, SIZE - 0.4)
        yield Rect(x - wide / 2 - 1, y - number * 8.4 - 1.6, wide + 2, 8, fillColor=white, strokeColor=None)
        yield word(x, y - number * 8.4, line, size=SIZE - 0.4)
