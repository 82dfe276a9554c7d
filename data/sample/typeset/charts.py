"""Vector charts: lines and bars on plain axes. All labels are text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reportlab.graphics.shapes import Circle, Drawing, Line, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor, black, white
from reportlab.pdfbase.pdfmetrics import stringWidth

FONT = "Helvetica"
SIZE = 7.2
GRID = HexColor(0xCFD4D8)
INKS = (HexColor(0x1F3A5F), HexColor(0xB4532A), HexColor(0x5C8A3A), HexColor(0x8894A0))


@dataclass(frozen=True)
class Series:
    """One line or one set of bars; ``labels`` says which points carry their value (``-1`` in it: all)."""

    name: str
    values: Sequence[float]
    labels: Sequence[int] = ()
    dashed: bool = False

    def labelled(self, at: int) -> bool:
        """Whether the point at this place carries its value."""
        return at in self.labels or -1 in self.labels


@dataclass(frozen=True)
class Axes:
    """The plotting rectangle: its size, the names along x, and the numbers along y."""

    width: float
    height: float
    names: Sequence[str]
    ticks: Sequence[float]
    x_title: str
    y_title: str
    decimals: int = 0
    left: float = 34
    bottom: float = 27
    top: float = 18

    @property
    def step(self) -> float:
        """Distance between two names."""
        return (self.width - self.left - 6) / len(self.names)

    def x(self, at: float) -> float:
        """Middle of the place numbered ``at``."""
        return self.left + (at + 0.5) * self.step

    def y(self, value: float) -> float:
        """Height of a value."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.bottom + (value - low) / (high - low) * (self.height - self.bottom - self.top)

    def frame(self) -> Iterator[Line | String]:
        """Grid, ticks and titles."""
        for tick in self.ticks:
            y = self.y(tick)
            yield Line(self.left, y, self.width - 6, y, strokeColor=GRID, strokeWidth=0.4)
            yield word(self.left - 4, y - 2.4, f"{tick:.{self.decimals}f}", "end")
        yield Line(self.left, self.bottom, self.width - 6, self.bottom, strokeColor=black, strokeWidth=0.7)
        for at, name in enumerate(self.names):
            yield word(self.x(at), self.bottom - 9.5, name)
        yield word((self.left + self.width - 6) / 2, self.bottom - 21, self.x_title)
        yield word(0, self.height - 8, self.y_title, "start")


def word(
    x: float, y: float, text: str, anchor: str = "middle", ink: Color = black, size: float = SIZE
) -> String:
    """A piece of text in a figure."""
    return String(x, y, text, textAnchor=anchor, fontName=FONT, fontSize=size, fillColor=ink)


def lines(axes: Axes, series: Sequence[Series], threshold: float | None = None) -> Drawing:
    """A line chart; a broken rule marks the threshold."""
    drawing = _drawing(axes, series)
    if threshold is not None:
        y = axes.y(threshold)
        drawing.add(
            Line(axes.left, y, axes.width - 6, y, strokeColor=black, strokeWidth=0.7, strokeDashArray=[3, 2])
        )
    for ink, one in zip(INKS, series, strict=False):
        points = [(axes.x(at), axes.y(value)) for at, value in enumerate(one.values)]
        dash = [4, 2] if one.dashed else None
        drawing.add(PolyLine(points, strokeColor=ink, strokeWidth=1.2, strokeDashArray=dash))
        for at, (x, y) in enumerate(points):
            drawing.add(
                Circle(x, y, 1.7, fillColor=white if one.dashed else ink, strokeColor=ink, strokeWidth=0.8)
            )
            if one.labelled(at):
                drawing.add(_value(x, y, one.values, at, ink))
    return drawing


def _value(x: float, y: float, values: Sequence[float], at: int, ink: Color) -> String:
    """The value of a point, set clear of the line: over a peak, under a dip, beside a slope."""
    rises = at > 0 and values[at] > values[at - 1]
    falls = at + 1 < len(values) and values[at + 1] < values[at]
    text = str(values[at])
    if rises == falls and 0 < at < len(values) - 1:
        return word(x, y + 4 if rises else y - 9.5, text, ink=ink)
    if rises or (at == 0 and not falls):
        return word(x - 2, y + 3.5, text, "end", ink)
    return word(x + 2, y + 3.5, text, "start", ink)


def bars(axes: Axes, series: Sequence[Series]) -> Drawing:
    """Bars side by side, each with its value above it where the series says so."""
    drawing = _drawing(axes, series)
    thick = axes.step * 0.62 / len(series)
    for number, (ink, one) in enumerate(zip(INKS, series, strict=False)):
        for at, value in enumerate(one.values):
            x = axes.x(at) + (number - len(series) / 2) * thick
            height = axes.y(value) - axes.bottom
            drawing.add(Rect(x, axes.bottom, thick, height, fillColor=ink, strokeColor=None))
            if one.labelled(at):
                drawing.add(word(x + thick / 2, axes.y(value) + 3, str(value)))
    return drawing


def _drawing(axes: Axes, series: Sequence[Series]) -> Drawing:
    """The empty chart with its legend at the upper right."""
    drawing = Drawing(axes.width, axes.height)
    for shape in axes.frame():
        drawing.add(shape)
    x = axes.width - 6
    for ink, one in reversed(list(zip(INKS, series, strict=False)) if len(series) > 1 else []):
        drawing.add(word(x, axes.height - 8, one.name, "end", ink))
        x -= stringWidth(one.name, FONT, SIZE) + 3
        dash = [4, 2] if one.dashed else None
        drawing.add(
            Line(x - 14, axes.height - 5.5, x, axes.height - 5.5, strokeColor=ink, strokeDashArray=dash)
        )
        x -= 24
    return drawing
