"""Pages: running heads, columns, blocks across both columns, and footnotes at the foot of a column."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph

from .looks import Look
from .source import Source

NOTE_GAP = 7.0
_FLOAT_GAP = 9.0
_GREY = HexColor(0x555555)


Place = tuple[int, tuple[float, float, float, float]]
"""The number of a page from 1, and (x0, y0, x1, y1) in points from its top left corner."""


def noting(flowable: Flowable, name: str) -> Flowable:
    """The same flowable; when it is drawn, its place is noted in the document under this name."""
    draw_on = flowable.drawOn

    def noted(canvas: Any, x: float, y: float, **more: Any) -> None:
        paper = canvas._doctemplate
        x0, y0 = canvas.absolutePosition(x, y)
        width, height = flowable.wrap(paper.look.width, paper.look.height)
        top = paper.look.page[1] - y0
        paper.places[name] = (canvas.getPageNumber(), (x0, top - height, x0 + width, top))
        draw_on(canvas, x, y, **more)

    vars(flowable).update(drawOn=noted, noted_as=name)  # a Drawing refuses to be given attributes
    return flowable


class Footnote(Flowable):
    """Takes no room in the text; reserves room at the foot of the column in which it falls."""

    def __init__(self, note: Paragraph) -> None:
        super().__init__()
        self.note = note
        self.needed = 0.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """Zero height, or more than there is when the note does not fit into this column."""
        self.needed = self.note.wrap(width, height)[1]
        return width, 0 if self.needed + NOTE_GAP <= height else height + 1

    def draw(self) -> None:
        """Hand the note to the column; the page draws it when the column is full."""
        column = self._frame
        if column._atTop:
            raise ValueError(f"footnote parted from its mark: {self.note.text}")
        column._y1p += self.needed + (0 if column.notes else NOTE_GAP)
        column.notes.append(self)


class Prose(Paragraph):
    """A paragraph; one that closes with the mark of a footnote closes where ``room`` is left for the note."""

    room = 0.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """The height of the text, or more than there is when the text would fit and the note would not."""
        needed = super().wrap(width, height)[1]
        return width, height + 1 if needed <= height < needed + self.room else needed

    def split(self, width: float, height: float) -> list[Paragraph]:
        """Carry two lines over to the next column with the note."""
        fits = super().wrap(width, height)[1] <= height
        parts: list[Paragraph] = super().split(
            width, self.height - 2 * self.style.leading if fits else height
        )
        return parts


class Float(Flowable):
    """A figure or table in one piece; where it does not fit it waits for the top of the next column."""

    def __init__(self, parts: Sequence[Flowable]) -> None:
        super().__init__()
        self.parts = parts
        self.heights: list[float] = []
        self.waits = False

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """The height with white space around it, or nothing when it has to wait."""
        self.heights = [part.wrap(width, height)[1] + part.getSpaceAfter() for part in self.parts]
        above = 0 if self._frame._atTop else _FLOAT_GAP
        needed = above + sum(self.heights) + _FLOAT_GAP
        self.waits = needed > height or bool(self.canv._doctemplate.waiting_floats)
        return width, 0 if self.waits else needed

    def draw(self) -> None:
        """Draw the parts downwards, or join the queue."""
        if self.waits:
            self.canv._doctemplate.waiting_floats.append(self)
            return
        y = sum(self.heights) + _FLOAT_GAP
        for part, height in zip(self.parts, self.heights, strict=True):
            y -= height
            part.drawOn(self.canv, 0, y + part.getSpaceAfter())


class Column(Frame):
    """A column without padding that collects footnotes."""

    def __init__(self, x: float, y: float, width: float, height: float) -> None:
        super().__init__(x, y, width, height, 0, 0, 0, 0)
        self.notes: list[Footnote] = []

    def draw_notes(self, canvas: Any) -> None:
        """Draw the collected notes, first note on top, and free their room for the next page."""
        y = self._y1 + sum(note.needed for note in self.notes)
        if self.notes:
            canvas.setLineWidth(0.4)
            canvas.line(self._x1, y + 3, self._x1 + min(self._width, 80), y + 3)
        for note in self.notes:
            y -= note.needed
            note.note.drawOn(canvas, self._x1, y)
        self.notes = []
        self._geom()


class Top:
    """Flowables set across the whole type area at the top of one page."""

    def __init__(self, flowables: Sequence[Flowable], look: Look, gap: float = 12) -> None:
        self.flowables = flowables
        self.heights = [flowable.wrap(look.width, look.height)[1] for flowable in flowables]
        self.look = look
        self.height = (
            sum(self.heights) + sum(f.getSpaceAfter() for f in flowables) + (gap if flowables else 0)
        )

    def draw(self, canvas: Any) -> None:
        """Draw from the top of the type area downwards."""
        y = self.look.page[1] - self.look.top
        for flowable, height in zip(self.flowables, self.heights, strict=True):
            flowable.drawOn(canvas, self.look.left, y - height)
            y -= height + flowable.getSpaceAfter()


class Paper(BaseDocTemplate):
    """A document in one look. ``tops`` stand across the columns: the title first, then wide blocks."""

    def __init__(self, path: Path, source: Source, look: Look, tops: Sequence[Top]) -> None:
        super().__init__(
            str(path), pagesize=look.page, title=source.meta["title"], author=source.meta["author"],
            invariant=1, pageCompression=0,
        )  # fmt: skip
        self.meta = source.meta
        self.look = look
        self.waiting: list[str] = []
        self.waiting_floats: list[Float] = []
        self.places: dict[str, Place] = {}
        names = ["first", *(f"wide-{number}" for number in range(1, len(tops)))]
        self.addPageTemplates([self._template(name, top) for name, top in zip(names, tops, strict=True)])
        self.addPageTemplates([self._template("plain", Top([], look)), PageTemplate("bare", [_whole(look)])])

    def _template(self, name: str, top: Top) -> PageTemplate:
        look = self.look
        xs = [look.left + number * (look.column + look.gap) for number in range(look.columns)]
        columns = [Column(x, look.bottom, look.column, look.height - top.height) for x in xs]

        def furnish(canvas: Any, _: BaseDocTemplate) -> None:
            self._running_head(canvas)
            top.draw(canvas)
            self.waiting = [wide for wide in self.waiting if wide != name]
            self._choose_next()

        return PageTemplate(name, columns, onPage=furnish)

    def handle_wide(self, number: int) -> None:
        """Set the wide block of this number at the top of the next page that has none yet."""
        self.waiting.append(f"wide-{number}")
        self._choose_next()

    def _choose_next(self) -> None:
        self.handle_nextPageTemplate(self.waiting[0] if self.waiting else "plain")

    def handle_frameBegin(self, *arguments: Any, **options: Any) -> None:  # noqa: N802
        """Set the figures and tables that wait at the top of the new column."""
        super().handle_frameBegin(*arguments, **options)
        self._hanging.extend(self.waiting_floats)
        self.waiting_floats = []

    def handle_frameEnd(self, resume: int = 0) -> None:  # noqa: N802
        """Draw the footnotes of the column before the next one begins."""
        self._draw_notes()
        super().handle_frameEnd(resume)

    def handle_pageEnd(self) -> None:  # noqa: N802
        """Draw the footnotes of the last column of the page."""
        self._draw_notes()
        super().handle_pageEnd()

    def _draw_notes(self) -> None:
        if isinstance(self.frame, Column):
            self.frame.draw_notes(self.canv)

    def _running_head(self, canvas: Any) -> None:
        look, number = self.look, int(self.meta["first-page"]) + self.page - 1
        left, right, y = look.left, look.page[0] - look.right, look.page[1] - look.top + 20
        canvas.saveState()
        canvas.setFillColor(_GREY)
        canvas.setFont(look.head, 8)
        if self.page == 1:
            canvas.drawCentredString(look.page[0] / 2, look.bottom - 24, str(number))
        elif look.columns == 2:
            canvas.drawString(left, y, self.meta["left"] if number % 2 == 0 else str(number))
            canvas.drawRightString(right, y, str(number) if number % 2 == 0 else self.meta["right"])
        else:
            canvas.drawString(left, y, self.meta["left"])
            canvas.drawRightString(right, y, self.meta["right"])
            canvas.drawRightString(right, look.bottom - 24, f"{number}")
        if self.page > 1:
            canvas.setStrokeColor(look.accent)
            canvas.setLineWidth(0.5)
            canvas.line(left, y - 5, right, y - 5)
        canvas.restoreState()


def _whole(look: Look) -> Frame:
    """A frame that covers the page, for scans."""
    return Frame(0, 0, *look.page, 0, 0, 0, 0)
