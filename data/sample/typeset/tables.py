"""Tables from pipe-separated rows: ruled or booktabs, with joined heads, repeated on the next page."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reportlab.lib.colors import HexColor, black, grey
from reportlab.lib.enums import TA_CENTER, TA_LEFT, TA_RIGHT
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph, Spacer, Table

from .looks import Look
from .pages import noting
from .source import Block

_ALIGN = {"l": TA_LEFT, "r": TA_RIGHT, "c": TA_CENTER}
Rows = list[list[str]]


class _LongTable(Table):
    """A table that says so where it goes on. ``again`` stands above every part but the first."""

    again: Sequence[Flowable] = ()

    def split(self, width: float, height: float) -> list[Flowable]:
        """The parts of the table, with ``again`` before the second one."""
        parts = super().split(width, height)
        if parts[1:] and hasattr(self, "noted_as"):
            noting(parts[0], self.noted_as)
        for part in parts[1:]:
            part.again = self.again
        return [*parts[:1], *(self.again if parts[1:] else ()), *parts[1:]]


def table(block: Block, look: Look, width: float) -> list[Flowable]:
    """The caption, the table and its note. ``<`` in a head joins a cell to the one on its left."""
    rules, align, shares = block.arguments
    title, *lines = block.lines
    note = lines.pop() if lines[-1].startswith("note:") else ""
    cut = lines.index("---")
    heads = [line.split("|") for line in lines[:cut]]
    rows = [line.split("|") for line in lines[cut + 1 :]]
    grid = _LongTable(
        [*_cells(heads, look, align, True), *_cells(rows, look, align, False)],
        colWidths=_widths(shares, width),
        repeatRows=cut,
        style=[*_frame(rules, heads), *_spans(heads)],
        spaceAfter=3 if note else 0,
    )
    label = re.match(r"\S+ \w+\.", title)
    grid.again = [caption(f"{label[0]} (continued)", look), Spacer(1, 4)] if label else []
    return [
        caption(title, look),
        Spacer(1, 4),
        noting(grid, _name(title)),
        *([Paragraph(note[5:].strip(), look.style("note"))] if note else []),
    ]


def _name(title: str) -> str:
    """The name of a table by the label of its title, such as ``table 2``."""
    return " ".join(title.split(".")[0].split()).casefold()


def caption(text: str, look: Look) -> Paragraph:
    """``Table 2. Text`` or ``Fig. 2. Text`` with the label in bold."""
    return Paragraph(re.sub(r"^(\S+ \w+\.)", r"<b>\1</b>", text), look.style("caption"))


def _widths(shares: str, width: float) -> list[float]:
    parts = [float(share) for share in shares.split(",")]
    return [width * part / sum(parts) for part in parts]


def _cells(rows: Rows, look: Look, align: str, head: bool) -> Iterator[list[Flowable]]:
    for row in rows:
        yield [_cell(text.strip(), look, align[at], head, _spanned(row, at)) for at, text in enumerate(row)]


def _spanned(row: Sequence[str], at: int) -> bool:
    return at + 1 < len(row) and row[at + 1].strip() == "<"


def _cell(text: str, look: Look, side: str, head: bool, spanned: bool) -> Paragraph:
    style = ParagraphStyle("cell", look.style("cell"), alignment=TA_CENTER if spanned else _ALIGN[side])
    shown = "" if text == "<" else text
    return Paragraph(f"<b>{shown}</b>" if head and shown else shown, style)


def _groups(row: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First and last column of every run of joined cells."""
    at = 0
    while at < len(row):
        last = at
        while _spanned(row, last):
            last += 1
        if last > at:
            yield at, last
        at = last + 1


def _spans(heads: Rows) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(heads):
        for first, last in _groups(row):
            yield ("SPAN", (first, number), (last, number))
            if number + 1 < len(heads):
                yield ("LINEBELOW", (first, number), (last, number), 0.4, black)


def _frame(rules: str, heads: Rows) -> list[tuple[Any, ...]]:
    """Rules and padding of the two kinds of table."""
    below, pad = len(heads) - 1, 2 if rules == "booktabs" else 3
    common = [
        ("VALIGN", (0, 0), (-1, below), "BOTTOM"),
        ("VALIGN", (0, len(heads)), (-1, -1), "TOP"),
        ("TOPPADDING", (0, 0), (-1, -1), 1.8),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.6),
        ("LEFTPADDING", (0, 0), (-1, -1), pad),
        ("RIGHTPADDING", (0, 0), (-1, -1), pad),
    ]
    if rules == "booktabs":
        lines = [("LINEABOVE", (0, 0), (-1, 0), 0.9), ("LINEBELOW", (0, below), (-1, below), 0.5)]
        return [*common, *((*line, black) for line in lines), ("LINEBELOW", (0, -1), (-1, -1), 0.9, black)]
    shade = ("BACKGROUND", (0, 0), (-1, below), HexColor(0xE8ECEF))
    inner = ("INNERGRID", (0, len(heads)), (-1, -1), 0.3, grey)
    return [*common, shade, inner, ("BOX", (0, 0), (-1, -1), 0.7, black), *_head_grid(heads)]


def _head_grid(heads: Rows) -> Iterator[tuple[Any, ...]]:
    """Column rules through the head, left out inside joined cells."""
    joined = {(at, number) for number, row in enumerate(heads) for a, b in _groups(row) for at in range(a, b)}
    for number, row in enumerate(heads):
        for at in range(len(row) - 1):
            if (at, number) not in joined:
                yield ("LINEAFTER", (at, number), (at, number), 0.3, grey)
    yield ("LINEBELOW", (0, len(heads) - 1), (-1, len(heads) - 1), 0.7, black)
